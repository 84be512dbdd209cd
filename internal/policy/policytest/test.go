package policytest

import (
	"unicode/utf8"

	"writ/internal/policy/document"
	"writ/internal/policy/document/node"
	"writ/internal/verdict"
)

func (r *reader) test(v *node.Value) Test {
	m := v.Members("name", "call", "spent", "want")
	test := Test{At: v.At()}
	if name := m.Need("name"); name != nil {
		text, ok := name.Text()
		if ok && (text == "" || utf8.RuneCountInString(text) > maxName) {
			name.Problem("must be 1 to %d characters", maxName)
		}
		test.Name = text
	}
	if call := m.Need("call"); call != nil {
		test.Call = readCall(call)
	}
	if spent := m.Get("spent"); spent != nil {
		test.Spent = r.spent(spent)
	}
	if want := m.Need("want"); want != nil {
		test.Want = readWant(want)
	}
	return test
}

// spent reads how much of limits is used up, each in the unit of its rule.
func (r *reader) spent(v *node.Value) map[string]Used {
	if !v.Is(node.Map) {
		return nil
	}
	used := map[string]Used{}
	keys := keysOf(v.Node())
	m := v.Members(keys...)
	for _, id := range keys {
		if limit := r.limits[id]; limit != nil {
			used[id] = readUsed(m.Get(id), limit)
		} else {
			m.Get(id).Problem("must be the id of a rule with a limit")
		}
	}
	return used
}

func keysOf(n *node.Node) []string {
	keys := make([]string, len(n.Members))
	for i, member := range n.Members {
		keys[i] = member.Key
	}
	return keys
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
	m := v.Members("decision", "policy", "rule", "reason")
	var want Want
	if word := m.Need("decision"); word != nil {
		read, err := verdict.Parse(word.OneOf("allow", "deny", "hold", "ask"))
		if err == nil {
			want.Decision = read
		}
	}
	want.Policy, want.Rule, want.Reason = text(m.Get("policy")), text(m.Get("rule")), text(m.Get("reason"))
	return want
}

// text is the text of a member that may be absent.
func text(v *node.Value) string {
	if v == nil {
		return ""
	}
	read, _ := v.Text()
	return read
}
