package policytest

import (
	"unicode/utf8"

	"writ/internal/node"
	"writ/internal/policy/document"
	"writ/internal/verdict"
)

func (r *reader) test(v *node.Value) Test {
	m := v.Members("name", "call", "spent", "want")
	return Test{
		Name:  readName(m.Need("name")),
		At:    v.Node().At,
		Call:  readCall(m.Need("call")),
		Spent: r.spent(m.Get("spent")),
		Want:  readWant(m.Need("want")),
	}
}

func readName(v *node.Value) string {
	name, ok := v.Text()
	if ok && (name == "" || utf8.RuneCountInString(name) > maxName) {
		v.Problem("must be 1 to %d characters", maxName)
	}
	return name
}

// spent reads how much of each limit is used up, in the unit of its rule.
func (r *reader) spent(v *node.Value) map[string]Used {
	used := map[string]Used{}
	for id, amount := range v.Entries() {
		if limit := r.limits[id]; limit != nil {
			used[id] = readUsed(amount, limit)
		} else {
			amount.Problem("must be the id of a rule with a limit")
		}
	}
	return used
}

func readUsed(v *node.Value, limit *document.Limit) Used {
	if v.Node().Kind == node.String && v.Node().Text == "unknown" {
		return Used{Unknown: true}
	}
	places, what := 0, "calls or tokens"
	if limit.Cost > 0 {
		places, what = 9, "dollars"
	}
	amount, ok := v.Decimal(places)
	if !ok || !amount.IsInt64() {
		v.Problem("must be a number of %s, or unknown", what)
		return Used{Unknown: true}
	}
	return Used{Amount: amount.Int64()}
}

func readWant(v *node.Value) Want {
	m := v.Members("decision", "policy", "rule", "reason", "confine", "oblige")
	decision, _ := verdict.Parse(m.Need("decision").OneOf("allow", "deny", "hold", "ask")) // OneOf reports it
	want := Want{
		Decision: decision, Policy: text(m.Get("policy")), Rule: text(m.Get("rule")), Reason: text(m.Get("reason")),
	}
	if demand := m.Get("confine"); demand != nil {
		want.Confine = document.ReadAnswered(demand)
		if decision != verdict.Allow {
			demand.Problem("is only for decision allow")
		}
	}
	if demand := m.Get("oblige"); demand != nil {
		want.Oblige = document.ReadObligations(demand)
		if decision == verdict.Deny {
			demand.Problem("is not for decision deny")
		}
	}
	return want
}

func text(v *node.Value) string {
	read, _ := v.Text()
	return read
}
