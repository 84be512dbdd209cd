package node

import (
	"encoding/json"
	"fmt"
	"iter"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Value is a node being read by code that knows what should be there. Whatever is
// not as expected is reported, with its position and path, and reads as the zero
// value, so that one reading finds all problems.
//
// A nil Value is a member that is absent. It reads as the zero value too, and
// reports nothing.
type Value struct {
	node   *Node
	parent *Value
	step   string // from the parent to here: ".name" or "[2]"
	report Report
}

// Report receives a problem with its position in the text and its path, such as
// rules[2].tools[0].
type Report func(at Position, path, message string)

// Read begins reading at the top of a tree.
func Read(root *Node, report Report) *Value { return &Value{node: root, report: report} }

// Node is the value itself. It must not be changed.
func (v *Value) Node() *Node {
	if v == nil {
		return &Node{}
	}
	return v.node
}

// Problem reports something wrong with the value.
func (v *Value) Problem(format string, a ...any) {
	if v != nil {
		v.report(v.node.At, v.path(""), fmt.Sprintf(format, a...))
	}
}

// Path is the path to the value, such as rules[2].tools[0].
func (v *Value) Path() string { return v.path("") }

// path is the path to the value, and from there on by a last step.
func (v *Value) path(last string) string {
	steps := []string{last}
	for ; v.parent != nil; v = v.parent {
		steps = append(steps, v.step)
	}
	slices.Reverse(steps)
	return strings.TrimPrefix(strings.Join(steps, ""), ".")
}

// Members are the members of a map.
type Members struct {
	of     *Value
	byName map[string]*Value
}

func (v *Value) child(n *Node, step string) *Value {
	return &Value{node: n, parent: v, step: step, report: v.report}
}

// Entries reads a map with any keys.
func (v *Value) Entries() iter.Seq2[string, *Value] {
	return func(yield func(string, *Value) bool) {
		if !v.Is(Map) {
			return
		}
		for _, member := range v.node.Members {
			if !yield(member.Key, v.child(member.Value, "."+Shown(member.Key))) {
				return
			}
		}
	}
}

// Members reads a map that has no members but the known ones. Any other value has
// no members.
func (v *Value) Members(known ...string) *Members {
	m := &Members{of: v, byName: map[string]*Value{}}
	if !v.Is(Map) {
		return m
	}
	for _, member := range v.node.Members {
		step := "." + Shown(member.Key)
		if slices.Contains(known, member.Key) {
			m.byName[member.Key] = v.child(member.Value, step)
		} else {
			v.report(member.At, v.path(step), "is not known here: "+expected(member.Key, known))
		}
	}
	return m
}

// Get is a member, or nil if it is absent.
func (m *Members) Get(name string) *Value { return m.byName[name] }

// Need is Get for a member that must be there. It reports one that is absent.
func (m *Members) Need(name string) *Value {
	v := m.byName[name]
	if v == nil && m.of.Node().Kind == Map {
		m.of.report(m.of.node.At, m.of.path("."+name), "is missing")
	}
	return v
}

// Items reads a list of at most max values.
func (v *Value) Items(max int) []*Value {
	if !v.Is(List) {
		return nil
	}
	if len(v.node.Items) > max {
		v.Problem("must be a list of at most %d", max)
		return nil
	}
	items := make([]*Value, len(v.node.Items))
	for i, item := range v.node.Items {
		items[i] = v.child(item, "["+strconv.Itoa(i)+"]")
	}
	return items
}

// NeedItems is Items for a list that must not be empty. The message says what an
// empty list lacks.
func (v *Value) NeedItems(max int, message string) []*Value {
	items := v.Items(max)
	if n := v.Node(); n.Kind == List && len(n.Items) == 0 {
		v.Problem("%s", message)
	}
	return items
}

// Is reports whether the value is of a kind. If it is not, that is a problem.
func (v *Value) Is(want Kind) bool {
	if v == nil {
		return false
	}
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

// Prose reads text of several lines and at most max characters.
func (v *Value) Prose(max int) string {
	text, ok := v.Text()
	switch {
	case !ok:
	case utf8.RuneCountInString(text) > max:
		v.Problem("must be at most %d characters", max)
	case HasHidden(text):
		v.Problem("must not hold control characters other than line breaks and tabs")
	}
	return text
}

// Bool reads true or false.
func (v *Value) Bool() bool { return v.Is(Bool) && v.node.Text == "true" }

// Int reads a whole number within bounds.
func (v *Value) Int(least, most int64) int64 {
	n, err := strconv.ParseInt(v.Node().Text, 10, 64)
	if v.Node().Kind != Number || err != nil || n < least || n > most {
		v.Problem("must be a whole number from %d to %d", least, most)
		return 0
	}
	return n
}

// OneOf reads one of some words.
func (v *Value) OneOf(words ...string) string {
	if n := v.Node(); n.Kind == String && slices.Contains(words, n.Text) {
		return n.Text
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
		return append(b, `""`...) // cannot happen with a string
	}
	return append(b, quoted...)
}

// Decimal is a number, or a number written as text, in units of ten to the power
// of minus places. It is not ok if the number has more decimals.
func (v *Value) Decimal(places int) (amount *big.Int, ok bool) {
	n := v.Node()
	whole, fraction, _ := strings.Cut(n.Text, ".")
	plain := n.Kind == Number || n.Kind == String
	if !plain || len(n.Text) > 40 || !decimal().MatchString(n.Text) || len(fraction) > places {
		return nil, false
	}
	return new(big.Int).SetString(whole+fraction+strings.Repeat("0", places-len(fraction)), 10)
}
