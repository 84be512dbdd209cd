package grounding

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"writ/internal/node"
)

// Call is a call to be judged.
type Call struct {
	Tool      string
	Class     Class
	Arguments map[string]any // as toolcall decodes them
	// Kinds are the operator's kinds of arguments, by name.
	Kinds map[string]Kind
}

// argument is one leaf of a call's arguments.
type argument struct {
	path, name string // recipients, and the nearest name
	value      string // as the call has it
	folded     string
	kind       Kind
}

// Limits of the arguments. A call beyond them is in doubt.
const (
	maxArguments = 2_000
	maxNesting   = 64
	maxExact     = 1 << 53 // larger numbers with a fraction or many digits lose some, and two become one
)

// leaves are the leaves of the arguments, sorted by name.
func (c *Call) leaves() []argument {
	r := &argumentReader{call: c}
	r.object("", c.Arguments, 0)
	return r.found
}

type argumentReader struct {
	call  *Call
	found []argument
	over  bool
}

func (r *argumentReader) object(path string, object map[string]any, depth int) {
	for _, name := range slices.Sorted(maps.Keys(object)) {
		full := name
		if path != "" {
			full = path + "." + name
			if !isMemberName(name) {
				full = path
				r.add(path, path, name, Identity)
			}
		}
		r.value(full, name, object[name], depth+1)
	}
}

func (r *argumentReader) value(path, name string, v any, depth int) {
	if depth > maxNesting || len(r.found) >= maxArguments {
		r.over = true
		return
	}
	switch v := v.(type) {
	case map[string]any:
		r.object(path, v, depth)
	case []any:
		for _, item := range v {
			r.value(path, name, item, depth+1)
		}
	case string:
		r.text(path, name, v, depth)
	case int64:
		r.number(path, name, strconv.FormatInt(v, 10))
	case float64:
		r.over = r.over || math.Abs(v) > maxExact
		r.number(path, name, strconv.FormatFloat(v, 'f', -1, 64))
	case bool, nil:
	default:
		r.over = true // not a value of JSON
	}
}

func (r *argumentReader) number(path, name, text string) {
	r.add(path, name, text, kindOfNumber(name, text))
}

// text reads a string: JSON inside of it, a list of addresses, or one value.
func (r *argumentReader) text(path, name, text string, depth int) {
	kind := kindOf(name, text, r.call.Class)
	if inner := jsonInside(text); inner != nil {
		if kind == Prose {
			r.addresses(path, inner, depth)
		} else {
			r.value(path, name, inner, depth+1)
			return
		}
	}
	if kind != Prose {
		if members := addressList(name, text); members != nil {
			for _, member := range members {
				r.add(path, name, member, Identity)
			}
			return
		}
	}
	r.add(path, name, text, kind)
	if kind == Prose && !namesProse(name) {
		r.reached(path, name, text)
	}
}

// reached adds the addresses within a long text: a list of recipients is long, too, and so is one with a long name.
func (r *argumentReader) reached(path, name, text string) {
	for _, mail := range mails(text) {
		r.add(path, name, mail, Identity)
	}
	for _, link := range links(text) {
		r.add(path, name, "https://"+link, Identity)
	}
}

// addresses adds the addresses in JSON that is prose: they reach somebody wherever they stand.
func (r *argumentReader) addresses(path string, inner any, depth int) {
	of := &argumentReader{call: r.call}
	of.value(path, path, inner, depth+1)
	for _, a := range of.found {
		if addressOf(a.name, a.value) != noAddress {
			a.kind = Identity
			r.found = append(r.found, a)
		}
	}
	r.over = r.over || of.over
}

func (r *argumentReader) add(path, name, value string, kind Kind) {
	if set, ok := r.call.Kinds[name]; ok {
		kind = set
	}
	a := argument{
		path:   path,
		name:   name,
		value:  value,
		kind:   kind,
		folded: identity(value),
	}
	if a.folded != "" {
		r.found = append(r.found, a)
	}
}

// jsonInside is the list or object in a string; nil: it holds none.
func jsonInside(text string) any {
	trimmed := strings.TrimSpace(text)
	if trimmed == "" || trimmed[0] != '{' && trimmed[0] != '[' {
		return nil
	}
	root, problems := node.ReadJSON([]byte(trimmed))
	if root == nil || len(problems) > 0 {
		return nil
	}
	return plain(root)
}

func plain(n *node.Node) any {
	switch n.Kind {
	case node.Map:
		object := make(map[string]any, len(n.Members))
		for _, m := range n.Members {
			object[m.Key] = plain(m.Value)
		}
		return object
	case node.List:
		list := make([]any, len(n.Items))
		for i, item := range n.Items {
			list[i] = plain(item)
		}
		return list
	case node.Null, node.Bool:
		return nil
	case node.Number:
		if i, err := strconv.ParseInt(n.Text, 10, 64); err == nil {
			return i
		}
		if f, err := strconv.ParseFloat(n.Text, 64); err == nil {
			return f
		}
	}
	return n.Text
}

// addressList are the members of a list of addresses in one string; nil: it is none.
func addressList(name, text string) []string {
	if !strings.ContainsAny(text, ",;") {
		return nil
	}
	members := strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ';' })
	for i, member := range members {
		members[i] = strings.TrimSpace(member)
		if addressOf(name, members[i]) == noAddress {
			return nil
		}
	}
	return members
}
