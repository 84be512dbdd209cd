package suggest

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"writ/internal/policy/document"
	"writ/internal/toolcall"
	"writ/internal/verdict"
)

func compareNames(a, b toolName) int {
	return cmp.Or(cmp.Compare(a.server, b.server), cmp.Compare(a.tool, b.tool))
}

// keyOf is equal for equal calls.
func keyOf(context string, values map[string]string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%q", context)
	for _, name := range slices.Sorted(maps.Keys(values)) {
		fmt.Fprintf(&b, " %q=%q", name, values[name])
	}
	return b.String()
}

// contextOf is the condition that a call has the environment and labels of this one.
func contextOf(call *toolcall.Call) string {
	labels := make([]string, len(call.Labels))
	for i, label := range call.Labels {
		labels[i] = quoted(label)
	}
	return fmt.Sprintf("environment == %s && labels == [%s]", quoted(call.Environment), strings.Join(labels, ", "))
}

func (c *Collector) addTool(s *Suggestion, name toolName, tool *observedTool, ids map[string]bool) {
	pattern := document.Pattern(name.server + "." + name.tool)
	nameable := pattern.Check() == nil && !strings.Contains(string(pattern), "*") && plainText(name.server) &&
		plainText(name.tool)
	tool.leaveDoubtful(nameable)
	var groups []group
	if nameable {
		groups = c.groupsOf(tool)
		if len(groups) > maxToolRules || len(s.Document.Rules)+len(groups) >= maxRules ||
			s.size+sizeOf(groups) > maxSize {
			for _, g := range groups {
				tool.leave(TooMany).join(g.seen)
			}
			groups = nil
		}
	}
	for _, g := range groups {
		s.add(document.Rule{
			ID: idOf(pattern, ids), Effect: verdict.Allow, Tools: []document.Pattern{pattern}, When: g.when,
		}, g.seen)
	}
	var left Seen
	for _, reason := range slices.Sorted(maps.Keys(tool.left)) {
		s.LeftOut = append(s.LeftOut, LeftOut{
			Server: name.server, Tool: name.tool, Reason: reason, Seen: *tool.left[reason],
		})
		left.join(*tool.left[reason])
	}
	if nameable && len(groups) == 0 && left.Calls > 0 && len(s.Document.Rules) < maxRules {
		s.add(document.Rule{
			ID: idOf(pattern, ids), Effect: verdict.Hold, Tools: []document.Pattern{pattern}, When: c.byAgent(),
		}, left)
	}
}

// leaveDoubtful leaves out the calls that a rule must not allow, each for its reason.
func (t *observedTool) leaveDoubtful(nameable bool) {
	for _, call := range t.calls {
		switch {
		case call.allowed.Calls == 0:
		case !nameable:
			t.leave(OddName).join(call.allowed)
		case call.refused:
			t.leave(Disputed).join(call.allowed)
		case call.doubted:
			t.leave(InShadow).join(call.allowed)
		case call.confined:
			t.leave(OnlyConfined).join(call.allowed)
		}
	}
}

func (s *Suggestion) add(rule document.Rule, seen Seen) {
	rule.Description = fmt.Sprintf("Seen %d times from %s to %s, as in decision %s.",
		seen.Calls, seen.First.UTC().Format(time.RFC3339), seen.Last.UTC().Format(time.RFC3339),
		strings.Join(seen.Decisions, ", "))
	s.size += len(rule.When) + besideWhen
	s.Document.Rules = append(s.Document.Rules, rule)
	s.Evidence = append(s.Evidence, Evidence{rule.ID, seen})
}

// sizeOf is the approximate size of the rules' texts.
func sizeOf(groups []group) (size int) {
	for _, g := range groups {
		size += len(g.when) + besideWhen
	}
	return size
}

func idOf(pattern document.Pattern, taken map[string]bool) string {
	clean := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '.' || r == '_' || r == '-' {
			return r
		}
		return '-'
	}, string(pattern))
	clean = "seen-" + clean[:min(len(clean), document.MaxRuleID-20)]
	id := clean
	for n := 2; taken[id]; n++ {
		id = fmt.Sprintf("%s-%d", clean, n)
	}
	taken[id] = true
	return id
}

// group is calls that one condition covers exactly.
type group struct {
	when string
	seen Seen
}

// groupsOf groups the calls of a tool that were allowed and never refused into as few
// rules as one pass finds.
func (c *Collector) groupsOf(tool *observedTool) (groups []group) {
	alike := map[string][]*observedCall{} // by context and names of arguments
	for _, key := range slices.Sorted(maps.Keys(tool.calls)) {
		if call := tool.calls[key]; call.allowed.Calls > 0 && !call.refused && !call.doubted && !call.confined {
			shape := fmt.Sprintf("%q %q", call.context, slices.Sorted(maps.Keys(call.values)))
			alike[shape] = append(alike[shape], call)
		}
	}
	for _, shape := range slices.Sorted(maps.Keys(alike)) {
		groups = append(groups, c.merged(alike[shape])...)
	}
	return groups
}

// merged groups calls by all but one argument, chosen so that there are the fewest
// groups.
func (c *Collector) merged(calls []*observedCall) []group {
	best, fewest := "", len(calls)+1
	for _, name := range slices.Sorted(maps.Keys(calls[0].values)) {
		if n := len(rests(calls, name)); n < fewest {
			best, fewest = name, n
		}
	}
	var groups []group
	byRest := rests(calls, best)
	for _, rest := range slices.Sorted(maps.Keys(byRest)) {
		groups = append(groups, c.written(byRest[rest], best)...)
	}
	return groups
}

// rests groups calls by everything but one argument.
func rests(calls []*observedCall, name string) map[string][]*observedCall {
	by := map[string][]*observedCall{}
	for _, call := range calls {
		others := maps.Clone(call.values)
		delete(others, name)
		key := keyOf(call.context, others)
		by[key] = append(by[key], call)
	}
	return by
}

// written are the conditions of calls that differ in at most one argument, each within
// the maximum length.
func (c *Collector) written(calls []*observedCall, name string) (groups []group) {
	fixed := c.fixed(calls[0], name)
	_, differs := calls[0].values[name] // false if there are no arguments; the name may be empty
	var values []string
	var seen Seen
	length := 0
	flush := func() {
		if seen.Calls > 0 {
			when := fixed
			if differs {
				when += listOf(name, values)
			}
			groups = append(groups, group{when, seen})
		}
		values, seen, length = nil, Seen{}, 0
	}
	for _, call := range calls {
		value := call.values[name]
		if len(values) >= maxValues || len(fixed)+length+len(value) > maxWhen {
			flush()
		}
		values, length = append(values, value), length+len(value)+2
		seen.join(call.allowed)
	}
	flush()
	return groups
}

func (c *Collector) byAgent() string { return "agent.id == " + quoted(c.agentID) }

// fixed is the condition that the calls of a group share: agent, context, number of
// arguments, and all arguments but one.
func (c *Collector) fixed(call *observedCall, but string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s && %s && size(args) == %d", c.byAgent(), call.context, len(call.values))
	for _, name := range slices.Sorted(maps.Keys(call.values)) {
		if name != but {
			fmt.Fprintf(&b, " && %s == %s", argument(name), call.values[name])
		}
	}
	return b.String()
}

func listOf(name string, values []string) string {
	if len(values) == 1 {
		return fmt.Sprintf(" && %s == %s", argument(name), values[0])
	}
	return fmt.Sprintf(" && %s in [%s]", argument(name), strings.Join(values, ", "))
}
