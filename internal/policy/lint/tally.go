package lint

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"writ/internal/policy/document"
	"writ/internal/policy/engine"
	"writ/internal/toolcall"
	"writ/internal/verdict"
)

const (
	// enough is how many calls it takes to report a condition that was always true, or a
	// star that few tools needed.
	enough = 20
	// fewTools is the number of tools up to which names are better than a star.
	fewTools = 10
)

// Tally counts the results of a policy's conditions for calls that were made.
type Tally struct {
	policy   *engine.Policy
	attempts *engine.Attempts
	rules    map[*document.Rule]*counts
	calls    int64
	work     uint64 // of evaluating conditions so far
}

type counts struct {
	held, not, failed, unknown int64
	reason                     string // of the first failure
	// seen are the tools whose calls it held for, by pattern, until they are too many.
	seen map[document.Pattern]map[string]bool
}

// NewTally makes a tally without calls.
func NewTally(p *engine.Policy) *Tally {
	return &Tally{policy: p, attempts: engine.NewAttempts(p), rules: map[*document.Rule]*counts{}}
}

// Calls is how many calls were counted.
func (t *Tally) Calls() int64 { return t.calls }

// Add counts a call with gaps. Conditions that depend on the gaps count as unknown.
func (t *Tally) Add(call *toolcall.Call, gaps toolcall.Gaps) {
	if t.Spent() {
		return
	}
	t.calls++
	for a := range t.attempts.On(call, gaps) {
		t.work += a.Work
		c := t.rules[a.Rule]
		if c == nil {
			c = &counts{seen: map[document.Pattern]map[string]bool{}}
			t.rules[a.Rule] = c
		}
		switch {
		case !a.Known:
			c.unknown++
		case a.Err != nil:
			c.failed++
			if c.reason == "" {
				c.reason = a.Err.Error()
			}
		case a.Holds:
			c.held++
		default:
			c.not++
		}
		if a.Rule.Effect == verdict.Allow && (a.Holds || !a.Known) {
			c.see(a.Rule, call)
		}
		if t.Spent() {
			return
		}
	}
}

// Spent reports whether the conditions took all the work that they may. Further calls
// are not counted, and the report is incomplete.
func (t *Tally) Spent() bool { return t.work >= maxTallyWork }

// see records which tool a star was needed for.
func (c *counts) see(rule *document.Rule, call *toolcall.Call) {
	server, tool := call.Name()
	for _, pattern := range rule.Tools {
		if !strings.Contains(string(pattern), "*") || !pattern.Matches(server, tool) {
			continue
		}
		tools := c.seen[pattern]
		if tools == nil {
			tools = map[string]bool{}
			c.seen[pattern] = tools
		}
		if len(tools) <= fewTools {
			tools[server+"."+tool] = true
		}
	}
}

func (c *counts) total() int64 { return c.held + c.not + c.failed + c.unknown }

// Report reports what the calls show.
func (t *Tally) Report() Report {
	var r Report
	doc := t.policy.Document()
	for i := range doc.Rules {
		rule := &doc.Rules[i]
		c := t.rules[rule]
		if c == nil {
			continue
		}
		if f, ok := ofCondition(doc, i, c); ok {
			r.Findings = append(r.Findings, f)
		}
		if rule.Effect == verdict.Allow {
			r.Findings = append(r.Findings, ofStars(doc, i, c)...)
		}
	}
	r.Incomplete = t.Spent()
	return r.sorted()
}

// ofCondition finds a condition that had the same result for all calls.
func ofCondition(doc *document.Document, i int, c *counts) (Finding, bool) {
	rule := &doc.Rules[i]
	if rule.When == "" {
		return Finding{}, false
	}
	f := Finding{Problem: doc.ProblemIn(i, "when", ""), Calls: c.total()}
	switch {
	case c.failed > 0 && c.failed == c.total():
		f.Kind = AlwaysFails
		f.Message = fmt.Sprintf("failed for all %d recorded calls that the rule names (%s), so the rule %s", c.failed,
			c.reason, failing(rule.Effect))
		f.Fix = "check the names and types of the arguments, and use has(args.x) && … or args.?x"
	case c.held >= enough && c.held == c.total():
		f.Kind = AlwaysTrue
		f.Message = fmt.Sprintf("was true for all %d recorded calls that the rule names", c.held)
		f.Fix = "remove the condition if nothing else is expected, or narrow it"
	default:
		return Finding{}, false
	}
	return f, true
}

// failing is the effect of a condition that fails on its rule.
func failing(effect verdict.Verdict) string {
	if effect == verdict.Allow {
		return "never matched"
	}
	return "matched all of them"
}

// ofStars finds stars that a few names could replace.
func ofStars(doc *document.Document, i int, c *counts) (found []Finding) {
	for j, pattern := range doc.Rules[i].Tools {
		tools := c.seen[pattern]
		if c.held+c.unknown < enough || len(tools) == 0 || len(tools) > fewTools {
			continue
		}
		names := slices.Sorted(maps.Keys(tools))
		message := fmt.Sprintf("%s allows any number of tools, but the recorded calls that the rule allows were only of %s",
			pattern, listed(names))
		found = append(found, Finding{
			Kind:    OverBroad,
			Problem: doc.ProblemIn(i, fmt.Sprintf("tools[%d]", j), message),
			Fix:     "name these tools instead of using a star",
			Calls:   c.held + c.unknown,
		})
	}
	return found
}

// listed is some names, and how many more there are.
func listed(names []string) string {
	if len(names) <= maxNamed {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:maxNamed], ", "), len(names)-maxNamed)
}
