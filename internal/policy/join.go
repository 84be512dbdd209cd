package policy

import (
	"writ/internal/obligation"
	"writ/internal/policy/engine"
	"writ/internal/verdict"
)

// JudgeNamed judges a call under all of its names, as Judge does under one. The strictest answer counts; decisive is
// the question that gave it.
func JudgeNamed(
	set *engine.Set, questions []engine.Question, spent engine.Spent,
) (d engine.Decision, decisive engine.Question) {
	for i, q := range set.Weigh(questions) {
		answer := Judge(set, q.Call, spent)
		switch {
		case i == 0:
			d, decisive = answer, q
			continue
		case q.Restricts && !(answer.ByRule() && restricts(&answer, &d)):
			if d.Verdict != verdict.Deny {
				d.Oblige = obligation.Both(d.Oblige, answer.Oblige)
			}
			continue
		case answer.StricterThan(&d):
			decisive = q
		}
		d = Stricter(d, answer)
	}
	return d, decisive
}

// restricts reports whether an answer about a name that the call may have takes something from another answer.
func restricts(answer, from *engine.Decision) bool {
	return answer.StricterThan(from) || answer.Confine != nil && from.Confine != nil
}
