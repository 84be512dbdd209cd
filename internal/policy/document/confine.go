package document

import (
	"errors"
	"strings"

	"writ/internal/confine"
	"writ/internal/node"
	"writ/internal/verdict"
)

// readConfine reads what the rule demands of callers that can confine a call, and what the others get.
func (r *Rule) readConfine(demand, otherwise *node.Value) {
	if demand != nil {
		r.Confine = readLimits(demand, "write", "read", "net")
		if r.Effect != verdict.Allow {
			demand.Problem("is only for rules with effect allow")
		}
	}
	if otherwise == nil {
		return
	}
	if demand == nil {
		otherwise.Problem("is only for rules with confine")
	}
	switch otherwise.OneOf(verdict.Deny.String(), verdict.Hold.String(), verdict.Allow.String()) {
	case verdict.Hold.String():
		r.Otherwise = verdict.Hold
	case verdict.Allow.String():
		r.Otherwise = verdict.Allow
	}
}

// ReadAnswered reads limits as an answer has them: protect is of several rules, so that none can write it.
func ReadAnswered(v *node.Value) *confine.Limits {
	return readLimits(v, "write", "read", "net", "protect")
}

func readLimits(v *node.Value, names ...string) *confine.Limits {
	m := v.Members(names...)
	read := &confine.Limits{
		Write:   readList(m.Get("write"), checkDirectory),
		Read:    readList(m.Get("read"), checkDirectory),
		Protect: readList(m.Get("protect"), checkDirectory),
	}
	switch net := m.Get("net"); {
	case net == nil || net.Node().Kind == node.String && net.Node().Text == noNet:
	case net.Node().Kind == node.List:
		read.Net = readList(net, confine.CheckHost)
	default:
		net.Problem("must be %s or a list of HOST:PORT, as example.com:443", noNet)
	}
	return read
}

const noNet = "none"

// checkDirectory refuses what looks like a pattern or a variable, which a kernel would take as a name.
func checkDirectory(text string) error {
	if strings.ContainsAny(text, "*?[]{}$\\") || strings.ContainsFunc(text, node.Invisible) {
		return errors.New("must be one path, without patterns, variables or characters that do not show")
	}
	return confine.CheckPath(text)
}

// readList reads a list of different texts that pass a check.
func readList(v *node.Value, check func(string) error) (list []string) {
	seen := map[string]bool{}
	for _, item := range v.Items(confine.MaxEntries) {
		text, ok := item.Text()
		if !ok {
			continue
		}
		if err := check(text); err != nil {
			item.Problem("%v", err)
		} else if seen[text] {
			item.Problem("is listed twice")
		}
		seen[text] = true
		list = append(list, text)
	}
	return list
}

// Confines reports whether the rule allows calls only confined.
func (r *Rule) Confines() bool { return r.Confine != nil && r.Effect == verdict.Allow }

// confineText is what a rule demands, as a document writes it between braces.
func confineText(l *confine.Limits) string {
	text := "write: " + listText(l.Write)
	if len(l.Read) > 0 {
		text += ", read: " + listText(l.Read)
	}
	if len(l.Net) == 0 {
		return text + ", net: " + noNet
	}
	return text + ", net: " + listText(l.Net)
}

func listText(items []string) string {
	words := make([]string, len(items))
	for i, item := range items {
		if words[i] = item; item != confine.Workspace {
			words[i] = quoted(item)
		}
	}
	return "[" + strings.Join(words, ", ") + "]"
}
