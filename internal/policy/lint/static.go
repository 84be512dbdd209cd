package lint

import (
	"fmt"
	"strings"

	"writ/internal/policy/document"
	"writ/internal/policy/engine"
	"writ/internal/verdict"
)

// Beside is a policy that is active together with the one under examination. What it
// denies no other policy allows, and of the defaults the strictest decides.
type Beside struct {
	Name   string
	Policy *engine.Policy
	Bound  bool // it applies to some callers only
}

// Of reports what the text of a policy shows, alone and beside others.
func Of(p *engine.Policy, beside ...Beside) Report {
	r := &reader{policy: p, doc: p.Document(), left: maxCompared}
	r.settled = r.gather("", p)
	r.defaultForAll, r.defaultForSome = r.doc.Default, r.doc.Default
	for _, b := range beside {
		fallback := b.Policy.Document().Default
		r.defaultForSome = min(r.defaultForSome, fallback)
		if !b.Bound {
			r.defaultForAll = min(r.defaultForAll, fallback)
			r.gather(b.Name, b.Policy)
		}
	}
	r.findBroadDefault()
	for i := range r.doc.Rules {
		r.findMarks(i)
		if r.findNever(i) || r.findUnreachable(i) {
			continue
		}
		r.findBroad(i)
		r.findLimits(i)
	}
	r.report.Incomplete = r.left <= 0 || r.work >= maxWork
	return r.report.sorted()
}

type reader struct {
	policy  *engine.Policy
	doc     *document.Document
	settled []settled // of each rule
	steady  cover     // rules that match every call of their tools
	left    int       // pairs of patterns that may still be compared
	work    uint64    // of evaluating conditions so far
	report  Report
	// The default that decides for callers without bound policies, and the strictest one.
	defaultForAll, defaultForSome verdict.Verdict
}

// settled is the value of a condition for every call, if it is the same for all.
type settled int

const (
	depends settled = iota
	never
	always
)

// cover finds the rules whose patterns cover another pattern. Most have no star and
// cover only themselves.
type cover struct {
	exact map[document.Pattern][]source
	stars []starred
}

type source struct {
	policy string // its name; empty for the one under examination
	rule   *document.Rule
}

type starred struct {
	pattern document.Pattern
	source
}

func (c *cover) add(s source) {
	if c.exact == nil {
		c.exact = map[document.Pattern][]source{}
	}
	for _, pattern := range s.rule.Tools {
		if strings.Contains(string(pattern), "*") {
			c.stars = append(c.stars, starred{pattern, s})
		} else {
			c.exact[pattern] = append(c.exact[pattern], s)
		}
	}
}

// gather evaluates each condition for all calls, and collects the rules that match
// every call of their tools.
func (r *reader) gather(name string, p *engine.Policy) []settled {
	doc := p.Document()
	all := make([]settled, len(doc.Rules))
	for i := range doc.Rules {
		if r.work >= maxWork {
			break
		}
		holds, known, work := p.Settled(i)
		r.work += work
		switch {
		case !known:
		case !holds:
			all[i] = never
		default:
			all[i] = always
			if doc.Rules[i].Limit == nil {
				r.steady.add(source{name, &doc.Rules[i]})
			}
		}
	}
	return all
}

// covering is the first wanted rule that has a pattern which covers this one.
func (r *reader) covering(pattern document.Pattern, wanted func(source) bool) (found source, ok bool) {
	for _, s := range r.steady.exact[pattern] {
		r.left--
		if wanted(s) {
			return s, true
		}
	}
	for i := range r.steady.stars {
		if r.left <= 0 {
			return source{}, false
		}
		r.left--
		if s := &r.steady.stars[i]; s.pattern.Matches(pattern.Split()) && wanted(s.source) {
			return s.source, true
		}
	}
	return source{}, false
}

// findNever finds a condition that is false for every call, and reports whether that
// is so for all the rule's tools.
func (r *reader) findNever(i int) bool {
	rule := &r.doc.Rules[i]
	switch r.settled[i] {
	case never:
		r.add(Unreachable, r.doc.ProblemIn(i, "when", "is false for every call, so the rule never matches"),
			"correct the condition, or remove the rule")
		return true
	case always:
		return false
	}
	for j, pattern := range rule.Tools {
		if strings.Contains(string(pattern), "*") {
			continue
		}
		if r.work >= maxWork {
			return false
		}
		server, tool := pattern.Split()
		holds, settled, work := r.policy.SettledFor(i, server, tool)
		r.work += work
		if settled && !holds {
			r.add(Unreachable, r.inTool(i, j, fmt.Sprintf("the condition is false for every call of %s", pattern)),
				"remove the tool here, or what the condition says about server and tool")
		}
	}
	return false
}

// findUnreachable finds a rule, or a pattern of it, that another rule always comes
// before. It reports whether that is so for the whole rule.
func (r *reader) findUnreachable(i int) bool {
	rule := &r.doc.Rules[i]
	before := func(s source) bool { return s.comesBefore(rule) }
	found := map[int]source{}
	for j, pattern := range rule.Tools {
		if s, ok := r.covering(pattern, before); ok {
			found[j] = s
		}
	}
	if len(found) == len(rule.Tools) {
		r.unreachable(r.doc.ProblemIn(i, "", "the rule never decides"), rule, found[0])
		return true
	}
	for j, pattern := range rule.Tools {
		if s, ok := found[j]; ok {
			r.unreachable(r.inTool(i, j, fmt.Sprintf("the rule never decides about %s", pattern)), rule, s)
		}
	}
	return false
}

// comesBefore reports whether a rule that always matches decides before another one about the same calls,
// whoever calls.
func (s source) comesBefore(rule *document.Rule) bool {
	first := s.policy == "" && s.rule.ID < rule.ID && rule.Limit == nil
	switch {
	case rule.Obliges() && s.rule.Effect != verdict.Deny:
		return false // its obligations count whichever rule decides
	case s.rule.Confines() && rule.Confines():
		return false // each narrows what the other permits
	case s.rule.Confines() && rule.Effect == verdict.Allow:
		return true
	case s.rule.Confines():
		return false // it decides before this rule for some callers only
	case rule.Confines(): // also before what the rule says otherwise
		return s.rule.Effect < rule.Otherwise ||
			s.rule.Effect == rule.Otherwise && s.rule.Effect != verdict.Allow && first
	case s.rule.Effect != rule.Effect:
		return s.rule.Effect < rule.Effect
	}
	return first
}

func (r *reader) inTool(i, j int, message string) document.Problem {
	return r.doc.ProblemIn(i, fmt.Sprintf("tools[%d]", j), message)
}

func (r *reader) unreachable(p document.Problem, rule *document.Rule, by source) {
	kind := Unreachable
	fix := "remove it, or give the other rule a condition"
	switch {
	case by.rule.Effect == verdict.Deny && rule.Effect == verdict.Allow:
		kind = ShadowedAllow
		fix = "remove the allow, or give the deny a condition or fewer tools so that it leaves out what you want to allow"
	case by.rule.Confines():
		fix = "remove it, or give the rule that confines a condition, so that it leaves out what may run unconfined"
	case by.rule.Effect == rule.Effect:
		fix = "remove it: the other rule says the same"
	}
	p.Message += fmt.Sprintf(": %s, which always matches, comes first with %s", by, by.effect())
	r.add(kind, p, fix)
}

// String names the rule in a message.
func (s source) String() string {
	if s.policy == "" {
		return "rule " + s.rule.ID
	}
	return fmt.Sprintf("rule %s of policy %s", s.rule.ID, s.policy)
}

// effect is the effect of the rule in a message.
func (s source) effect() string {
	if s.rule.Confines() {
		return "a confined allow"
	}
	return s.rule.Effect.String()
}

func (r *reader) findBroadDefault() {
	if r.defaultForAll == verdict.Allow {
		r.add(OverBroad,
			document.Problem{
				Field:   "default",
				Message: "allow lets every tool run that no rule names, including tools that are added later",
			},
			"make it ask, hold or deny, and allow by name what is needed")
	}
}

// findBroad finds an allow for all tools of all servers.
func (r *reader) findBroad(i int) {
	rule := &r.doc.Rules[i]
	if rule.Effect != verdict.Allow || r.settled[i] != always {
		return
	}
	for j, pattern := range rule.Tools {
		server, tool := pattern.Split()
		if strings.Trim(server, "*") == "" && strings.Trim(tool, "*") == "" {
			message := fmt.Sprintf("%s allows every tool of every server, including those that are added later",
				pattern)
			r.add(OverBroad, r.inTool(i, j, message), "name the servers or tools that are needed, or add a condition")
		}
	}
}

// marks are special in patterns of shells and in regular expressions. Here they are characters of a tool's name, which
// hardly any tool has: a deny with them restricts nothing, and says so nowhere.
const marks = `?[]{}()|^$\`

func (r *reader) findMarks(i int) {
	for j, pattern := range r.doc.Rules[i].Tools {
		if at := strings.IndexAny(string(pattern), marks); at >= 0 {
			message := fmt.Sprintf("%s names a tool that has %c in its name: * alone is special in a pattern",
				pattern, pattern[at])
			r.add(LiteralMarks, r.inTool(i, j, message), "list the tools one by one, or use *")
		}
	}
}

func (r *reader) add(kind Kind, p document.Problem, fix string) {
	r.report.Findings = append(r.report.Findings, Finding{Kind: kind, Problem: p, Fix: fix})
}
