package grounding

import "strings"

// Sentence says why a call is held, for the model and for the person who is asked. It shows no value.
func (r Result) Sentence() string {
	switch r.Rule {
	case NotPlanned:
		return "the tool is not in the plan, neither as a step nor among the tools that may be needed: a person must agree"
	case Ungrounded:
		var parts []string
		for _, d := range r.Doubts[:min(len(r.Doubts), shownDoubts)] {
			parts = append(parts, d.phrase())
		}
		return strings.Join(parts, "; ") + ": a person must agree"
	}
	return ""
}

// shownDoubts is how many arguments a sentence names.
const shownDoubts = 3

func (d Reason) phrase() string {
	text := "the text that " + d.Of + " returned"
	if d.Of == "" {
		text = "a text that a tool returned"
	}
	switch d.Origin {
	case FromText, FromField:
		text = d.Argument + " stands only in " + text
	case FromEcho:
		text = d.Argument + " only comes back from " + d.Of + ", which was asked with it"
	case FromCopy:
		text = d.Argument + " is a part of " + text
	case FromLink:
		text = d.Argument + " holds a link from " + text
	default:
		return d.Argument + " is not from the user, nor from a field of a reported output"
	}
	if d.Ordered {
		text += ", which orders it"
	}
	return text
}
