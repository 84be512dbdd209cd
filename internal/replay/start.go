package replay

import (
	"time"

	"writ/internal/decision"
	"writ/internal/policy/engine"
	"writ/internal/toolcall"
	"writ/internal/verdict"
)

// replay evaluates recorded calls in order with two sets of policies: today's, and the
// same with the draft in place. Each set has its own counters of its limits.
type replay struct {
	today, drafted side
	from           time.Time // calls before it only count for limits
	tally          *tally
}

// side is a set with its counters.
type side struct {
	set      *engine.Set
	counters *counters
}

// newReplay makes a replay of the calls since from. It gets earlier calls too, since
// an earlier instant, to count them for limits.
func newReplay(today, drafted *engine.Set, since, from time.Time) *replay {
	return &replay{
		today: side{today, newCounters(since)}, drafted: side{drafted, newCounters(since)}, from: from,
		tally: newTally(),
	}
}

// add replays one decision.
func (p *replay) add(r *decision.Record, call *toolcall.Call, known Known) {
	reported := !r.At.Before(p.from)
	if reported {
		p.tally.counts.Decisions++
	}
	said, because := recordedAnswer(r)
	if because != judged {
		if reported {
			p.tally.apart(because)
		}
		return // it did not run, whatever policies say
	}
	today, drafted := p.today.ask(r, call, known, said), p.drafted.ask(r, call, known, said)
	if !reported {
		return
	}
	p.tally.missing(known)
	change := Change{
		Agent: r.AgentID, Server: call.Server, Tool: call.Tool,
		Recorded: said, Today: answerOf(&today), Drafted: answerOf(&drafted),
	}
	if change.Drafted != Unknown {
		change.PolicyID, change.PolicyVersion, change.Rule = drafted.PolicyID, drafted.PolicyVersion, drafted.Rule
	}
	p.tally.add(r, change)
}

// ask judges a call, and counts it if it would have run.
func (s *side) ask(r *decision.Record, call *toolcall.Call, known Known, said Answer) engine.Outlook {
	outlook := judge(s.set, r, call, known, s.counters.Range)
	would := wouldRun(outlook.Possible(), said)
	s.counters.take(outlook.Claims, would)
	if known.names.forgotten || placeForgotten(r) {
		s.counters.lose(r.At, would)
	}
	return outlook
}

// wouldRun reports whether a call would have run with an answer. A hold or ask waits
// for a person, whose answer is known only if it was recorded.
func wouldRun(possible engine.Verdicts, said Answer) ran {
	only, ok := possible.Only()
	switch {
	case !ok:
		return perhaps
	case only == verdict.Deny:
		return didNot
	case only == verdict.Allow && said == Approved:
		return perhaps // the call that was held before it would have run instead
	case only == verdict.Allow, said == Approved:
		return did
	case said == "hold", said == "ask", said == Refused:
		return didNot
	}
	return perhaps
}
