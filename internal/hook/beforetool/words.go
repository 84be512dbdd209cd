package beforetool

import (
	"strings"
	"unicode"

	"writ/internal/hook/gemini"
)

// Limits of texts in an answer.
const (
	maxReason = 4 << 10
	maxLine   = 400
	maxShown  = 160 // of a reason in a line
)

// denied is the answer that stops a tool. The model reads the whole reason, the person one line.
func denied(tool, reason string) gemini.Answer {
	if tool == "" {
		tool = "the call"
	}
	answer := gemini.Denied(cut(reason, maxReason))
	if short, found := strings.CutPrefix(reason, "Writ "); found {
		_, reason, _ = strings.Cut(short, ": ") // the line says who and what
	}
	answer.SystemMessage = line("Writ denied "+tool, reason)
	return answer
}

// refused is the answer of a ruling that does not allow.
func (c *call) refused(r ruling) gemini.Answer {
	answer := gemini.Denied(cut(c.explain(r), maxReason))
	answer.SystemMessage = c.tell(r)
	return answer
}

// tell is a ruling in one short line for the person: the reason, the rule, and what to do next.
func (c *call) tell(r ruling) string {
	what, next := "Writ denied ", ""
	switch {
	case r.waits():
		what = "Writ holds "
		next = ". Answer it: writ approvals approve " + r.ApprovalID + ", or " + c.approvalPage(r)
	case r.DecidedBy == intent: // the rest of the reason is for the model
		r.Reason, _, _ = strings.Cut(r.Reason, ": ")
		next = ". The model may amend its plan"
		if r.Rule == noPlan {
			next = ". The model is told to declare one"
		}
		r.Rule = ""
	case r.Rule != "":
		next = ". What is allowed: /writ:list"
	case r.DecidedBy == hookItself:
		next = ". Find out: writ doctor"
	}
	reason := cut(strings.TrimRight(r.Reason, ". "), maxShown)
	if r.Rule != "" && !strings.Contains(reason, r.Rule) {
		reason += " (rule " + r.Rule + ")"
	}
	return line(what+c.ToolName, reason+next)
}

// approvalPage is where a person answers in the browser.
func (c *call) approvalPage(r ruling) string {
	return strings.TrimRight(c.Guard.Server, "/") + "/ui/approvals/" + escape(r.ApprovalID)
}

// explain is the reason of a ruling, and what to do next.
func (c *call) explain(r ruling) string {
	reason := strings.TrimRight(r.Reason, ". ")
	if reason == "" {
		reason = "no reason was given"
	}
	switch {
	case r.waits():
		return "Writ holds this call: " + reason + ". A person can approve it: writ approvals approve " + r.ApprovalID +
			", or " + c.approvalPage(r) + ". Then make exactly the same call again."
	case r.DecidedBy == intent:
		return "Writ denies this call: " + reason + ". Declare what you are going to do with register_intent_plan; " +
			"to add to a plan of this turn, say why in amends."
	}
	return "Writ denies this call: " + reason + "."
}

// line is a text for a person, on one line and without what steers a terminal.
func line(text, reason string) string {
	if reason != "" {
		text += ": " + reason
	}
	text = strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return ' '
		}
		if !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, text)
	return cut(text, maxLine)
}

func cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit], "") + "…"
}
