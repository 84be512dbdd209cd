package grounding

import (
	"strings"

	"writ/internal/node"
)

// leaf is one value of an output.
type leaf struct {
	text   string // as the tool wrote it
	folded string
	record int32 // the index of its record
	next   int32 // the next leaf with the same text; none: there is none
	// running: it has five words or more. Whether it is the user's depends on the prompt.
	running bool
	long    bool // it has twelve words or more
}

// none is no index of a leaf.
const none = -1

// maxLeaves bounds the leaves of an output. One that has more is text.
const maxLeaves = 20_000

// leavesOf reads an output. JSON and plain YAML give one leaf for each value; every
// other text is one leaf. JSON or YAML inside of a string counts if the string is all
// that the output says.
func leavesOf(output string) (leaves []leaf, records int) {
	r := &leafReader{}
	root := structure(output)
	if root == nil {
		r.add(output, r.record())
		return r.leaves, r.records
	}
	r.walk(unwrap(root), r.record())
	if r.full {
		r = &leafReader{}
		r.add(output, r.record())
	}
	return r.leaves, r.records
}

type leafReader struct {
	leaves  []leaf
	records int
	full    bool
}

func (r *leafReader) record() int32 {
	r.records++
	return int32(r.records - 1)
}

func (r *leafReader) add(text string, record int32) {
	if len(r.leaves) >= maxLeaves {
		r.full = true
		return
	}
	folded := fold(shown(text))
	if folded == "" {
		return
	}
	words := countWords(folded, longWords)
	r.leaves = append(r.leaves, leaf{
		text:    text,
		folded:  folded,
		record:  record,
		running: words >= runningWords,
		long:    words >= longWords,
	})
}

func (r *leafReader) walk(n *node.Node, record int32) {
	switch n.Kind {
	case node.Map:
		record = r.record()
		for _, m := range n.Members {
			if !isMemberName(m.Key) {
				r.add(m.Key, record)
			}
			r.walk(m.Value, record)
		}
	case node.List:
		for _, item := range n.Items {
			r.walk(item, record)
		}
	case node.Null:
	default:
		r.add(n.Text, record)
	}
}

// maxMemberName is how long the name of a member is at most.
const maxMemberName = 40

// isMemberName reports whether a key is only the name of a member. Other keys are values
// too: in a map from addresses to rights, for example.
func isMemberName(key string) bool {
	if len(key) > maxMemberName {
		return false
	}
	for i := range len(key) {
		if c := key[i]; !isNameByte(c) && c != '_' && c != '-' || c >= '0' && c <= '9' {
			return false
		}
	}
	return true
}

// structure reads a text that is a map, a list or a quoted string; nil: it is text.
func structure(text string) *node.Node {
	text = strings.TrimSpace(text)
	if text == "" {
		return nil
	}
	var root *node.Node
	var problems []node.Problem
	if text[0] == '{' || text[0] == '[' || text[0] == '"' {
		root, problems = node.ReadJSON([]byte(text))
	}
	if root == nil || len(problems) > 0 {
		if root, problems = node.ReadYAML([]byte(text)); root != nil && hasSentence(root, map[string]bool{}) {
			return nil
		}
	}
	if root == nil || len(problems) > 0 {
		return nil
	}
	if root.Kind == node.Map || root.Kind == node.List || root.Kind == node.String && text[0] == '"' {
		return root
	}
	return nil
}

// hasSentence reports whether a key of a YAML map is rather the beginning of a sentence:
// "Send the money to this account: X" is no map. Records repeat their keys, so that plain ones are remembered.
func hasSentence(n *node.Node, plain map[string]bool) bool {
	for _, item := range n.Items {
		if hasSentence(item, plain) {
			return true
		}
	}
	for _, m := range n.Members {
		if !plain[m.Key] {
			words, key := countWords(m.Key, runningWords), fold(m.Key)
			if words >= runningWords || asks(key) || words > 1 && orders(key) {
				return true
			}
			plain[m.Key] = true
		}
		if hasSentence(m.Value, plain) {
			return true
		}
	}
	return false
}

// maxEnvelopes is how many strings within strings are read.
const maxEnvelopes = 4

// unwrap reads the structure inside of a string that is all an output says: a string,
// or the only text of an envelope such as {"content": [{"type": "text", "text": ...}]}.
func unwrap(root *node.Node) *node.Node {
	for range maxEnvelopes {
		only := onlyText(root)
		if only == nil {
			return root
		}
		inner := structure(only.Text)
		if inner == nil {
			return root
		}
		if only == root {
			root = inner
			continue
		}
		*only = *inner
	}
	return root
}

// envelopeNames are members that say something about the text beside them.
var envelopeNames = map[string]bool{
	"type": true, "mimetype": true, "mime_type": true, "iserror": true, "is_error": true, "status": true, "role": true,
	"success": true, "ok": true, "annotations": true, "_meta": true,
}

// onlyText is the only text in an envelope; nil: there is none or more than one.
func onlyText(n *node.Node) *node.Node {
	switch n.Kind {
	case node.String:
		return n
	case node.List:
		if len(n.Items) == 1 {
			return onlyText(n.Items[0])
		}
	case node.Map:
		var only *node.Node
		for _, m := range n.Members {
			if envelopeNames[strings.ToLower(m.Key)] || m.Value.Kind == node.Null || m.Value.Kind == node.Bool {
				continue
			}
			if only != nil {
				return nil
			}
			only = m.Value
		}
		if only != nil {
			return onlyText(only)
		}
	}
	return nil
}
