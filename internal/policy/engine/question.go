package engine

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"writ/internal/obligation"
	"writ/internal/toolcall"
	"writ/internal/toolname"
	"writ/internal/verdict"
)

// Question is a call under one of its names, for policies to judge.
type Question struct {
	Call   *toolcall.Call
	Naming toolname.Naming
	// Restricts: a rule can only make the answer stricter, and a default says nothing. Weigh sets it.
	Restricts bool
}

// Weigh says how the set judges the questions, those that count fully first: there is always one. A reading counts
// fully if the set names its server, and then stands in for the joined name; every other reading only restricts. A
// guess restricts if the set names its server, or if it takes the name apart at a dot, as policies write names: a rule
// about *.pay restricts bank.pay although nobody knows the server. Other guesses are left out. A server with a dot in
// its name is judged uncut too.
func (s *Set) Weigh(questions []Question) []Question {
	if len(questions) == 1 && !strings.Contains(questions[0].Call.Server, toolname.Dot) {
		return questions
	}
	weighed := make([]Question, 0, len(questions))
	isRead := false
	for _, q := range questions {
		server, tool := q.Call.Name()
		named := q.Naming != toolname.Certain && s.NamesServer(server)
		switch q.Naming {
		case toolname.Guess:
			if !named && !calls(questions, server+"."+tool) {
				continue
			}
			q.Restricts = true
		case toolname.Reading:
			q.Restricts = !named
			isRead = isRead || named
		case toolname.Claimed:
			q.Restricts = true
		}
		weighed = append(weighed, q)
	}
	for i := range weighed {
		weighed[i].Restricts = weighed[i].Restricts || weighed[i].Naming == toolname.Joined && isRead
	}
	weighed = addUncut(weighed)
	slices.SortStableFunc(weighed, func(a, b Question) int { return cmp.Compare(order(a), order(b)) })
	return weighed
}

// addUncut adds the calls of servers whose names have dots, with the server and the tool as they are: patterns are cut
// at the first dot, and a rule about *.delete must restrict the tool delete of acme.files.
func addUncut(weighed []Question) []Question {
	for _, q := range weighed {
		if strings.Contains(q.Call.Server, toolname.Dot) {
			uncut := *q.Call
			uncut.Uncut = true
			weighed = append(weighed, Question{Call: &uncut, Naming: toolname.Claimed, Restricts: true})
		}
	}
	return weighed
}

// calls reports whether a tool is called by this name.
func calls(questions []Question, name string) bool {
	return slices.ContainsFunc(questions, func(q Question) bool {
		_, tool := q.Call.Name()
		return tool == name
	})
}

// order puts what only restricts behind the rest.
func order(q Question) int {
	if q.Restricts {
		return 1
	}
	return 0
}

// Ask are the questions about a call under some names.
func Ask(call toolcall.Call, names []toolname.Candidate) []Question {
	questions := make([]Question, len(names))
	for i, n := range names {
		named := call
		named.Server, named.Tool = n.Server, n.Tool
		questions[i] = Question{Call: &named, Naming: n.Naming}
	}
	return questions
}

// ForeseeNamed predicts for a call under all of its names: the strictest prediction, which is certain only if it is for
// every name. Its obligations are all that may be demanded under any of them.
func (s *Set) ForeseeNamed(questions []Question) Foresight {
	return s.foreseeNamed(questions, s.Foresee)
}

// ForeseeUnseen predicts for a call that is about to be made, of which only the arguments are unknown, under all of its
// names.
func (s *Set) ForeseeUnseen(questions []Question, spent Spent) Foresight {
	used := func(key LimitKey, _ bool) (least, most int64) {
		read, err := spent(key)
		if err != nil {
			return 0, math.MaxInt64
		}
		return read, read
	}
	return s.foreseeNamed(questions, func(call *toolcall.Call) Foresight { return s.foresee(call, unseen, used) })
}

func (s *Set) foreseeNamed(questions []Question, foresee func(*toolcall.Call) Foresight) Foresight {
	var strictest Foresight
	var obliged *obligation.Set
	certain, mayDeny, doubt := true, false, ""
	for i, q := range s.Weigh(questions) {
		f := foresee(q.Call)
		mayDeny, obliged = mayDeny || f.MayDeny, obligation.Both(obliged, f.Oblige)
		if q.Restricts && f.Certain && !f.ByRule() {
			continue
		}
		if !f.Certain {
			certain, doubt = false, cmp.Or(doubt, f.Doubt)
		}
		if i == 0 || f.Verdict < strictest.Verdict {
			strictest = f
		}
	}
	strictest.MayDeny, strictest.Oblige, strictest.Doubt = mayDeny, obliged, doubt
	strictest.Certain = certain || strictest.Certain && strictest.Verdict == verdict.Deny
	return strictest
}
