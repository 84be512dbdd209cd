package document

import (
	"strconv"
	"strings"

	"writ/internal/node"
	"writ/internal/obligation"
	"writ/internal/verdict"
)

// Obligations are what must be done with the result of a call.
type Obligations = obligation.Set

// readOblige reads what the rule demands of whoever carries a call out.
func (r *Rule) readOblige(v *node.Value) {
	if v == nil {
		return
	}
	r.Oblige = ReadObligations(v)
	if r.Effect == verdict.Deny {
		v.Problem("is not for rules with effect deny: nothing comes of their calls")
	}
}

// ReadObligations reads obligations as a rule or an answer has them.
func ReadObligations(v *node.Value) *obligation.Set {
	m := v.Members("redact", "labels", "max_bytes")
	read := &obligation.Set{
		Redact: readList(m.Get("redact"), obligation.CheckMember),
		Labels: readList(m.Get("labels"), obligation.CheckLabel),
	}
	if most := m.Get("max_bytes"); most != nil {
		read.MaxBytes = most.Int(1, obligation.MaxBytes)
	}
	if read.IsZero() {
		v.Problem("must have redact, labels or max_bytes")
	}
	return read
}

// Obliges reports whether the rule demands something of whoever carries the call out.
func (r *Rule) Obliges() bool { return !r.Oblige.IsZero() && r.Effect != verdict.Deny }

// ObligeText is what a rule demands, as a document writes it between braces.
func ObligeText(s *obligation.Set) string {
	var parts []string
	if len(s.Redact) > 0 {
		parts = append(parts, "redact: "+quotedList(s.Redact))
	}
	if len(s.Labels) > 0 {
		parts = append(parts, "labels: "+quotedList(s.Labels))
	}
	if s.MaxBytes > 0 {
		parts = append(parts, "max_bytes: "+strconv.FormatInt(s.MaxBytes, 10))
	}
	return strings.Join(parts, ", ")
}

func quotedList(items []string) string {
	words := make([]string, len(items))
	for i, item := range items {
		words[i] = quoted(item)
	}
	return "[" + strings.Join(words, ", ") + "]"
}
