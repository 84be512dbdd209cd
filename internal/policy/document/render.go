package document

import (
	"regexp"
	"strconv"
	"strings"

	"writ/internal/node"
)

// Render writes a document as YAML in one fixed layout. Comments are not part of a
// document.
func Render(doc *Document) []byte {
	w := &yamlWriter{}
	w.text(0, "version", doc.Version)
	w.text(0, "name", doc.Name)
	w.optional(0, "description", doc.Description)
	w.text(0, "default", doc.Default.String())
	if len(doc.Rules) == 0 {
		w.raw(0, "rules", "[]")
		return []byte(w.b.String())
	}
	w.b.WriteString("rules:\n")
	for i := range doc.Rules {
		w.rule(&doc.Rules[i])
	}
	return []byte(w.b.String())
}

// RenderRule writes a rule as an item of a document's list.
func RenderRule(rule *Rule) string {
	w := &yamlWriter{}
	w.rule(rule)
	return w.b.String()
}

// wide is the length beyond which text gets lines of its own.
const wide = 80

// yamlWriter writes members of maps, each indented by some columns.
type yamlWriter struct{ b strings.Builder }

func (w *yamlWriter) rule(rule *Rule) {
	const in = 4
	w.b.WriteString("  - id: " + scalar(rule.ID) + "\n")
	w.optional(in, "description", rule.Description)
	w.text(in, "effect", rule.Effect.String())
	w.tools(in, rule.Tools)
	w.optional(in, "when", rule.When)
	if rule.Limit != nil {
		w.raw(in, "limit", "{"+rule.Limit.String()+"}")
	}
	if rule.Confine != nil {
		w.raw(in, "confine", "{"+confineText(rule.Confine)+"}")
		w.raw(in, "otherwise", rule.Otherwise.String())
	}
	if rule.Oblige != nil {
		w.raw(in, "oblige", "{"+ObligeText(rule.Oblige)+"}")
	}
	if a := rule.Approvers; a != nil {
		w.raw(in, "approvers", "{"+a.String()+"}")
	}
	w.optional(in, "message", rule.Message)
}

// String is the limit as a document writes it between braces.
func (l Limit) String() string {
	unit := "calls: " + strconv.FormatInt(l.Calls, 10)
	switch {
	case l.Cost != 0:
		unit = "cost: " + FormatCost(l.Cost)
	case l.Tokens != 0:
		unit = "tokens: " + strconv.FormatInt(l.Tokens, 10)
	}
	return unit + ", per: " + FormatPer(l.Per) + ", by: " + string(l.By)
}

// String is the approvers as a document writes them between braces.
func (a Approvers) String() string {
	return "role: " + a.Role + ", count: " + strconv.Itoa(a.Count)
}

func (w *yamlWriter) tools(in int, tools []Pattern) {
	items, length := make([]string, len(tools)), 0
	for i, tool := range tools {
		items[i] = quoted(string(tool))
		length += len(items[i]) + 2
	}
	if length <= wide {
		w.raw(in, "tools", "["+strings.Join(items, ", ")+"]")
		return
	}
	w.raw(in, "tools", "")
	for _, item := range items {
		w.b.WriteString(strings.Repeat(" ", in+2) + "- " + item + "\n")
	}
}

func (w *yamlWriter) raw(in int, key, value string) {
	w.b.WriteString(strings.Repeat(" ", in) + key + ":")
	if value != "" {
		w.b.WriteString(" " + value)
	}
	w.b.WriteString("\n")
}

func (w *yamlWriter) optional(in int, key, text string) {
	if text != "" {
		w.text(in, key, text)
	}
}

// text writes a member, as a block if it is long or has several lines.
func (w *yamlWriter) text(in int, key, text string) {
	mark, ok := blockMark(text)
	if !ok || len(text) <= wide && !strings.Contains(text, "\n") {
		w.raw(in, key, scalar(text))
		return
	}
	w.raw(in, key, mark)
	for line := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
		if line != "" {
			w.b.WriteString(strings.Repeat(" ", in+2) + line)
		}
		w.b.WriteString("\n")
	}
}

// blockMark is the mark before a block that holds exactly this text, if that is
// possible.
func blockMark(text string) (mark string, ok bool) {
	body, ended := strings.CutSuffix(text, "\n")
	if body == "" || body[0] == ' ' || body[0] == '\n' || strings.HasSuffix(body, "\n") {
		return "", false
	}
	for line := range strings.SplitSeq(body, "\n") {
		if strings.HasSuffix(line, " ") || strings.ContainsFunc(line, node.Hidden) {
			return "", false
		}
	}
	if ended {
		return "|", true
	}
	return "|-", true
}

// scalar is text on one line, in quotes unless YAML reads it as text without them.
func scalar(text string) string {
	read, problems := node.ReadYAML([]byte("k: " + text + "\n"))
	if problems == nil && len(read.Members) == 1 && !strings.ContainsAny(text, "\n#") {
		if v := read.Members[0].Value; v.Kind == node.String && v.Text == text && !oldForm.MatchString(text) {
			return text
		}
	}
	return quoted(text)
}

// oldForm is text that begins with a quote, or that older YAML parsers read as a
// date, time or boolean.
var oldForm = regexp.MustCompile(`^['"0-9]|^(?i:y|n|yes|no|on|off)$`)

func quoted(text string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range text {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case node.Hidden(r):
			b.WriteString(`\u` + strconv.FormatInt(0x10000+int64(r), 16)[1:])
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}
