package replay

import (
	"cmp"
	"slices"

	"writ/internal/decision"
	"writ/internal/policy"
	"writ/internal/policy/engine"
	"writ/internal/toolcall"
	"writ/internal/toolname"
	"writ/internal/verdict"
)

// Answer is what policies say about a call.
type Answer string

// The answers beside those of verdicts.
const (
	Unknown  Answer = "unknown"  // it depends on what is unknown about the call
	Approved Answer = "approved" // recorded: a person approved it
	Refused  Answer = "refused"  // recorded: a person rejected it, or none could be asked
	Confined Answer = "confined" // allowed, but only confined
)

// answerOf is the verdict, if there is only one that is possible.
func answerOf(o *engine.Outlook) Answer {
	only, ok := o.Possible().Only()
	switch {
	case !ok || only == verdict.Allow && o.MayConfine && o.Confine == nil:
		return Unknown
	case only == verdict.Allow && o.Confine != nil:
		return Confined
	}
	return Answer(only.String())
}

// why says why policies did not decide.
type why int

const (
	judged    why = iota
	byIntent      // the call was not in its plan
	byAgent       // the agent or its key was not valid
	byServer      // the MCP server was refused, or nobody had accepted the tool
	byFailure     // it could not be judged at all
)

// recordedAnswer is the recorded answer of the policies, and why they did not decide,
// if they did not.
func recordedAnswer(r *decision.Record) (Answer, why) {
	switch r.PolicyID {
	case policy.ByIntent:
		return Unknown, byIntent
	case policy.ByAgent:
		return Unknown, byAgent
	case policy.ByMCP:
		return Unknown, byServer
	case policy.ByDefault:
		if r.Rule != "" {
			return Unknown, byFailure
		}
	case policy.ByApproval:
		if r.Verdict == verdict.Allow {
			return Approved, judged
		}
		return Refused, judged
	}
	if r.Confine != nil {
		return Confined, judged
	}
	return Answer(r.Verdict.String()), judged
}

// judge evaluates a recorded call as enforcement evaluates a real one: by its name, by
// the server that its name claims, by the names that its plan has for it, and for the
// key alone. If the record can mean one of two calls, both are possible.
func judge(set *engine.Set, r *decision.Record, call *toolcall.Call, known Known, used engine.Range) engine.Outlook {
	gaps := known.Gaps()
	return known.names.join(judgeRead(set, r, call, gaps, used), call, func(other *toolcall.Call) engine.Outlook {
		return judgeCaller(set, other, gaps, used)
	})
}

// judgeRead evaluates one reading of a record.
func judgeRead(
	set *engine.Set, r *decision.Record, call *toolcall.Call, gaps toolcall.Gaps, used engine.Range,
) engine.Outlook {
	outlook := judgeNamed(set, r, call, gaps, used)
	outlook = doubtNames(r, call, outlook, func(other *toolcall.Call) engine.Outlook {
		return judgeCaller(set, other, gaps, used)
	})
	if placeForgotten(r) && !deniesByRule(outlook) {
		outlook.Claims, outlook.ByRules = inDoubt(outlook.Claims), anyVerdict
		return outlook
	}
	server, tool, ok := otherName(*r)
	if !ok {
		return outlook
	}
	other := *call
	other.Server, other.Tool = server, tool
	second := judgeNamed(set, r, &other, gaps, used)
	outlook.Claims = append(inDoubt(outlook.Claims), inDoubt(second.Claims)...)
	outlook.ByRules |= second.ByRules
	outlook.ByDefault |= second.ByDefault
	if outlook.MayConfine = outlook.MayConfine || second.MayConfine; second.Confine == nil {
		outlook.Confine = nil // in doubt
	}
	return outlook
}

// anyVerdict is the answer for a call about which nothing is known.
const anyVerdict = engine.Verdicts(1<<verdict.Deny | 1<<verdict.Hold | 1<<verdict.Ask | 1<<verdict.Allow)

// deniesByRule reports whether a rule certainly denies the call. No other name of the
// call changes that.
func deniesByRule(o engine.Outlook) bool {
	only, ok := o.Possible().Only()
	return ok && only == verdict.Deny && o.ByDefault == 0
}

// judgeNamed judges the call under one certain name and under the others that the called name may stand for.
func judgeNamed(
	set *engine.Set, r *decision.Record, call *toolcall.Call, gaps toolcall.Gaps, used engine.Range,
) (outlook engine.Outlook) {
	for i, q := range set.Weigh(engine.Ask(*call, candidates(r, call))) {
		answer := judgeCaller(set, q.Call, gaps, used)
		switch {
		case i == 0:
			outlook = answer
		case !q.Restricts:
			outlook = stricter(outlook, answer)
		default:
			outlook = restrict(outlook, answer)
		}
	}
	return outlook
}

// candidates are the names that the call was judged under, where no plan says.
func candidates(r *decision.Record, call *toolcall.Call) []toolname.Candidate {
	first := toolname.Candidate{Name: toolname.Name{Server: call.Server, Tool: call.Tool}}
	if call.Server == toolname.Unknown && toolname.IsGemini(call.Tool) {
		first.Naming = toolname.Joined
	}
	names := []toolname.Candidate{first}
	// With a dot it may be of a tool without a server; where it is placed there, a rule about such a tool has decided.
	isDotted := r.SpelledAs != "" && toolname.IsBare(r.SpelledAs)
	if isDotted || r.PlacedOn != "" && r.Server == toolname.Local && r.CalledAs == "" {
		whole := toolname.Name{Server: toolname.Local, Tool: r.Called()}
		names = append(names, toolname.Candidate{Name: whole, Naming: toolname.Claimed})
	}
	names = toolname.Others(names, r.Called())
	if r.CalledAs == "" {
		return names
	}
	for _, n := range calledFor(r) {
		if !slices.ContainsFunc(names, func(other toolname.Candidate) bool { return other.Name == n.Name }) {
			names = append(names, n)
		}
	}
	return names
}

// calledFor are the names that the called name adds to what the host said.
func calledFor(r *decision.Record) []toolname.Candidate {
	server := cmp.Or(r.PlacedOn, r.Server)
	names, _ := toolname.CalledFor(toolname.Name{Server: server, Tool: r.Tool}, r.CalledAs, r.Source)
	return names
}

// doubtNames adds the answers that a rule about a name may have given of which nobody knows whether it was judged.
func doubtNames(
	r *decision.Record, call *toolcall.Call, outlook engine.Outlook, under func(*toolcall.Call) engine.Outlook,
) engine.Outlook {
	if slices.Contains(toolname.Hosts(), call.Server) || call.Server == toolname.Unknown {
		return outlook
	}
	for _, q := range engine.Ask(*call, doubtfulNames(r, call)) {
		answer := under(q.Call)
		if !stricterThan(answer.ByRules, outlook.Possible(), false) {
			continue
		}
		restricted := restrict(outlook, answer)
		outlook.Claims = inDoubt(restricted.Claims)
		outlook.ByRules |= restricted.ByRules
		outlook.ByDefault |= restricted.ByDefault
	}
	return outlook
}

// doubtfulNames are the further names under which the call may have been judged. An erased record does not say what was
// called, nor by which harness, where the host said which tool it is. And no record says whether the client has stated
// the server, or the plan the harness: without either, a name that the Gemini CLI may have joined is a mere tool's too.
func doubtfulNames(r *decision.Record, call *toolcall.Call) []toolname.Candidate {
	if r.Erased {
		return forgottenNames(toolname.Name{Server: call.Server, Tool: call.Tool})
	}
	if r.CalledAs != "" || !toolname.IsGemini(r.Called()) || toolname.Harness(r.Source) != toolname.Local {
		return nil
	}
	whole := toolname.Name{Server: toolname.Local, Tool: r.Called()}
	return []toolname.Candidate{{Name: whole, Naming: toolname.Claimed}}
}

// forgottenNames are those that a harness's name for a tool, or the tool's own, may have stood for.
func forgottenNames(n toolname.Name) (names []toolname.Candidate) {
	for _, source := range toolname.Hosts() {
		for _, called := range []string{
			n.Tool, toolname.Claude(n), toolname.Gemini(n), n.Server + toolname.Dot + n.Tool,
		} {
			candidates, _ := toolname.CalledFor(n, called, source)
			for _, c := range candidates {
				if c.Name != n && !slices.Contains(names, c) {
					names = append(names, c)
				}
			}
		}
	}
	return names
}

// restrict takes up the answer about a name that the call only may have: a rule about it can only restrict.
func restrict(outlook, claimed engine.Outlook) engine.Outlook {
	if !stricterThan(claimed.ByRules, outlook.Possible(), false) {
		outlook.MayConfine = outlook.MayConfine || claimed.MayConfine
		return outlook
	}
	if claimed.ByDefault != 0 || !stricterThan(claimed.ByRules, outlook.Possible(), true) {
		claimed.Claims = inDoubt(claimed.Claims) // they are taken only where it decides
	}
	if claimed.ByDefault != 0 {
		claimed.ByDefault = 0
		claimed.ByDefault.Add(verdict.Allow) // says nothing about a name that is only claimed
	}
	return stricter(outlook, claimed)
}

// stricterThan reports whether a verdict of one set is stricter than one of
// another, or with always whether each is stricter than all of them.
func stricterThan(a, b engine.Verdicts, always bool) bool {
	for v := verdict.Deny; v <= verdict.Allow; v++ {
		for w := verdict.Deny; w <= verdict.Allow; w++ {
			if a.Has(v) && b.Has(w) && (v < w) != always {
				return !always
			}
		}
	}
	return always
}

// judgeCaller evaluates the call for the user with the key, and for the key alone.
func judgeCaller(set *engine.Set, call *toolcall.Call, gaps toolcall.Gaps, used engine.Range) engine.Outlook {
	outlook := set.Outlook(call, gaps, used)
	if only, ok := outlook.Possible().Only(); ok && only == verdict.Deny {
		return outlook
	}
	alone := policy.ForKeyAlone(set, call, gaps)
	if alone == nil {
		return outlook
	}
	return stricter(outlook, set.Outlook(alone, gaps.ForKeyAlone(), used))
}

// stricter is the stricter of two answers, with the claims on limits of both.
func stricter(a, b engine.Outlook) engine.Outlook {
	both := engine.Outlook{
		Decision:   a.Decision,
		MayConfine: a.MayConfine || b.MayConfine,
		Claims:     append(a.Claims[:len(a.Claims):len(a.Claims)], b.Claims...),
	}
	if b.StricterThan(&a.Decision) {
		both.Decision = b.Decision
	}
	eachVerdict(a, func(first verdict.Verdict, byRule bool) {
		eachVerdict(b, func(second verdict.Verdict, secondByRule bool) {
			decided, ruled := first, byRule
			if second < first {
				decided, ruled = second, secondByRule
			}
			if ruled {
				both.ByRules.Add(decided)
			} else {
				both.ByDefault.Add(decided)
			}
		})
	})
	return both
}

// eachVerdict calls do for each possible verdict.
func eachVerdict(o engine.Outlook, do func(v verdict.Verdict, byRule bool)) {
	for v := verdict.Deny; v <= verdict.Allow; v++ {
		if o.ByRules.Has(v) {
			do(v, true)
		}
		if o.ByDefault.Has(v) {
			do(v, false)
		}
	}
}

// inDoubt marks claims as uncertain.
func inDoubt(claims []engine.DoubtfulClaim) []engine.DoubtfulClaim {
	doubtful := make([]engine.DoubtfulClaim, len(claims))
	for i, claim := range claims {
		claim.Certain = false
		doubtful[i] = claim
	}
	return doubtful
}
