package node

import (
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"
)

// Value is a node being read by somebody who knows what should be there. Every
// question that the node does not answer is reported, with its place and the
// path to it, and answered with a zero value: so that one reading finds all that
// is wrong.
type Value struct {
	node   *Node
	above  *Value
	step   string // from above to here: ".name" or "[2]"
	report Report
}

// Report takes what is wrong at a place of the text; path is as rules[2].tools[0].
type Report func(at Position, path, message string)

// Read begins reading at the top of a tree.
func Read(root *Node, report Report) *Value { return &Value{node: root, report: report} }

// At is where the value is.
func (v *Value) At() Position { return v.node.At }

// Node is the value itself.
func (v *Value) Node() *Node { return v.node }

// Problem reports something wrong with the value.
func (v *Value) Problem(format string, a ...any) {
	v.report(v.node.At, v.path(), fmt.Sprintf(format, a...))
}

func (v *Value) path() string {
	var steps []string
	for ; v.above != nil; v = v.above {
		steps = append(steps, v.step)
	}
	slices.Reverse(steps)
	return strings.TrimPrefix(strings.Join(steps, ""), ".")
}

// Members are the members of a map.
type Members struct {
	of    *Value
	known []string
	named map[string]*Value
}

// Members reads a map that has none but the known members. What is no map has
// none.
func (v *Value) Members(known ...string) *Members {
	m := &Members{of: v, known: known, named: map[string]*Value{}}
	if !v.Is(Map) {
		return m
	}
	for _, member := range v.node.Members {
		below := &Value{node: member.Value, above: v, step: "." + Shown(member.Key), report: v.report}
		if !slices.Contains(known, member.Key) {
			v.report(member.At, strings.TrimPrefix(v.path()+"."+Shown(member.Key), "."),
				"is not known here: expected "+Words(known))
			continue
		}
		m.named[member.Key] = below
	}
	return m
}

// Get is a member, and nil where it is absent.
func (m *Members) Get(name string) *Value { return m.named[name] }

// Need is a member that must be there; it is reported, and nil, where it is not.
func (m *Members) Need(name string) *Value {
	v := m.named[name]
	if v == nil && m.of.node.Kind == Map {
		m.of.report(m.of.node.At, strings.TrimPrefix(m.of.path()+"."+name, "."), "is missing")
	}
	return v
}

// Items reads a list of at most so many values.
func (v *Value) Items(most int) []*Value {
	if !v.Is(List) {
		return nil
	}
	if len(v.node.Items) > most {
		v.Problem("must be a list of at most %d", most)
		return nil
	}
	items := make([]*Value, len(v.node.Items))
	for i, item := range v.node.Items {
		items[i] = &Value{node: item, above: v, step: "[" + strconv.Itoa(i) + "]", report: v.report}
	}
	return items
}

// Is reports whether the value is of a kind; if not, that is a problem.
func (v *Value) Is(want Kind) bool {
	got := v.node.Kind
	switch {
	case got == want:
		return true
	case want == String && (got == Bool || got == Number):
		v.Problem("must be text, not %s: put it in quotes", got)
	default:
		v.Problem("must be %s, not %s", want, got)
	}
	return false
}

// Text reads text.
func (v *Value) Text() (string, bool) {
	if !v.Is(String) {
		return "", false
	}
	return v.node.Text, true
}

// Bool reads true or false.
func (v *Value) Bool() bool { return v.Is(Bool) && v.node.Text == "true" }

// Int reads a whole number within bounds.
func (v *Value) Int(least, most int64) int64 {
	n, err := strconv.ParseInt(v.node.Text, 10, 64)
	if v.node.Kind != Number || err != nil || n < least || n > most {
		v.Problem("must be a whole number from %d to %d", least, most)
		return 0
	}
	return n
}

// OneOf reads one of some words.
func (v *Value) OneOf(words ...string) string {
	if v.node.Kind == String && slices.Contains(words, v.node.Text) {
		return v.node.Text
	}
	v.Problem("must be %s", Words(words))
	return ""
}

// JSON is the value as JSON text.
func (v *Value) JSON() []byte { return appendJSON(nil, v.node) }

func appendJSON(b []byte, n *Node) []byte {
	switch n.Kind {
	case Bool, Number:
		return append(b, n.Text...)
	case String:
		return appendString(b, n.Text)
	case List:
		b = append(b, '[')
		for i, item := range n.Items {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendJSON(b, item)
		}
		return append(b, ']')
	case Map:
		b = append(b, '{')
		for i, member := range n.Members {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(appendString(b, member.Key), ':')
			b = appendJSON(b, member.Value)
		}
		return append(b, '}')
	default:
		return append(b, "null"...)
	}
}

func appendString(b []byte, text string) []byte {
	quoted, err := json.Marshal(text)
	if err != nil {
		return append(b, `""`...) // cannot be: text has no error
	}
	return append(b, quoted...)
}

// Decimal is the number, or the number written as text, in units of ten to the
// power of minus places; exact, or not at all.
func (v *Value) Decimal(places int) (*big.Int, bool) {
	text := v.node.Text
	whole, fraction, _ := strings.Cut(text, ".")
	plain := v.node.Kind == Number || v.node.Kind == String
	if !plain || len(text) > 40 || !decimal.MatchString(text) || len(fraction) > places {
		return nil, false
	}
	return new(big.Int).SetString(whole+fraction+strings.Repeat("0", places-len(fraction)), 10)
}
