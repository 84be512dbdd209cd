package enforcement_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"writ/internal/approval"
	"writ/internal/policy"
	"writ/internal/verdict"
)

// TestAYesWithChanges permits the changed call, once, and tells the agent what to
// call instead.
func TestAYesWithChanges(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.approver()
		e.active("rules", holdPay, `id: big; effect: deny; tools: ["bank.pay"]; when: args.amount > 9000`, allowAll)
		asked, changed := call("bank", "pay", `{"to":"x","amount":900}`),
			call("bank", "pay", `{"amount":500.0,"to":"x"}`)
		held := e.decide(asked)
		waiting := e.decide(changed) // somebody asked for that before, too
		e.say(held, approval.Approval{Note: "less", Arguments: []byte(`{"to":"x","amount":5e2}`)})
		for range 2 {
			got := e.decide(asked)
			want(t, got, verdict.Deny, policy.ByApproval,
				`approved with changes: call again with {"amount":500,"to":"x"}`)
			if got.ApprovalID != held.ApprovalID {
				t.Errorf("the call as it was: %+v", got)
			}
		}
		if n := e.count(`audit_entry WHERE action = 'call.decided' AND payload LIKE '%call again%'`); n != 0 {
			t.Errorf("%d entries tell the arguments a second time", n)
		}
		want(t, e.decide(call("bank", "pay", `{"to":"x","amount":501}`)), verdict.Hold, "rules", "")
		got := e.decide(changed)
		if want(t, got, verdict.Allow, policy.ByApproval, "approved, once"); got.ApprovalID != held.ApprovalID {
			t.Errorf("the changed call: %+v", got)
		}
		if again := e.decide(changed); again.Verdict != verdict.Hold || again.ApprovalID != waiting.ApprovalID {
			t.Errorf("the changed call again: %+v", again)
		}
		if again := e.decide(asked); again.Verdict != verdict.Hold || again.ApprovalID == held.ApprovalID {
			t.Errorf("the call as it was, again: %+v", again)
		}

		over := e.decide(call("bank", "pay", `{"amount":1}`))
		e.say(over, approval.Approval{Arguments: []byte(`{"amount":9001}`)})
		want(t, e.decide(call("bank", "pay", `{"amount":9001}`)), verdict.Deny, "rules", "")
	})
}

// TestChangesThatLeaveThePlan are denied by the plan, as any call is.
func TestChangesThatLeaveThePlan(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.approver()
		e.active("rules", holdPay)
		shown := e.mint(e.agent, `{"steps":[{"action":"pay","mcp":"bank","params":{"to":"landlord"}}]}`)
		e.say(e.decide(planned(shown, "pay", `{"to":"landlord"}`)), approval.Approval{
			Arguments: []byte(`{"to":"mallory"}`),
		})
		want(t, e.decide(planned(shown, "pay", `{"to":"mallory"}`)), verdict.Deny, policy.ByIntent, "")
		want(t, e.decide(planned(shown, "pay", `{"to":"landlord"}`)), verdict.Deny, policy.ByApproval,
			"approved with changes")
	})
}

// TestWhatIsTheSameCall: whatever changes the meaning of an argument, however
// deep, needs a new approval; another spelling of the same call does not.
func TestWhatIsTheSameCall(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.approver()
		e.active("rules", holdPay)
		random := rand.New(rand.NewPCG(6, 2026))
		for i := range 40 {
			args := randomObject(random, 3)
			args["n"] = i // one call each
			held := e.decide(call("bank", "pay", spell(random, args)))
			if again := e.decide(call("bank", "pay", spell(random, args))); again.ApprovalID != held.ApprovalID {
				t.Fatalf("another spelling of %v waits for another approval", args)
			}
			e.say(held, approval.Approval{})
			before := spell(random, args)
			alter(random, args)
			if got := e.decide(call("bank", "pay", spell(random, args))); got.Verdict != verdict.Hold ||
				got.ApprovalID == held.ApprovalID {
				t.Fatalf("%s was approved, and %s is %s", before, spell(random, args), got.Verdict)
			}
			if got := e.decide(call("bank", "pay", before)); got.Verdict != verdict.Allow {
				t.Fatalf("%s was approved, and is %s: %s", before, got.Verdict, got.Reason)
			}
		}
	})
}

// randomObject has members of every kind, some within others.
func randomObject(random *rand.Rand, depth int) map[string]any {
	object := map[string]any{}
	for i := range 1 + random.IntN(4) {
		object[fmt.Sprintf("k%d", i)] = randomValue(random, depth)
	}
	return object
}

func randomValue(random *rand.Rand, depth int) any {
	kind := random.IntN(7)
	if depth == 0 {
		kind %= 5
	}
	switch kind {
	case 0:
		return random.IntN(2000) - 1000
	case 1:
		return float64(random.IntN(4000)) / 8
	case 2:
		return strings.Repeat("é", random.IntN(3)) + fmt.Sprint(random.IntN(10))
	case 3:
		return random.IntN(2) == 0
	case 4:
		return nil
	case 5:
		return randomObject(random, depth-1)
	}
	list := []any{randomValue(random, depth-1)}
	for range random.IntN(3) {
		list = append(list, randomValue(random, depth-1))
	}
	return list
}

// alter changes one value somewhere within.
func alter(random *rand.Rand, object map[string]any) {
	names := make([]string, 0, len(object))
	for i := range 4 {
		if name := fmt.Sprintf("k%d", i); object[name] != nil {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		object["more"] = nil
		return
	}
	name := names[random.IntN(len(names))]
	object[name] = altered(random, object[name])
}

func altered(random *rand.Rand, value any) any {
	switch value := value.(type) {
	case map[string]any:
		alter(random, value)
		return value
	case []any:
		if len(value) > 1 && random.IntN(2) == 0 && fmt.Sprint(value[0]) != fmt.Sprint(value[1]) {
			value[0], value[1] = value[1], value[0] // the order of a list has a meaning
			return value
		}
		value[len(value)-1] = altered(random, value[len(value)-1])
		return value
	case int:
		return fmt.Sprint(value) // the same digits as text
	case float64:
		return value + 0.125
	case string:
		return value + " "
	case bool:
		return !value
	}
	return "null"
}

// spell writes an object with its members in any order and its numbers in any of
// their forms.
func spell(random *rand.Rand, value any) string {
	switch value := value.(type) {
	case map[string]any:
		members := make([]string, 0, len(value))
		for name, member := range value { // in Go's order, which is none
			members = append(members, fmt.Sprintf("%q: %s", name, spell(random, member)))
		}
		random.Shuffle(len(members), func(i, j int) { members[i], members[j] = members[j], members[i] })
		return "{" + strings.Join(members, " , ") + "}"
	case []any:
		items := make([]string, len(value))
		for i, item := range value {
			items[i] = spell(random, item)
		}
		return "[" + strings.Join(items, ",") + "]"
	case int:
		return []string{fmt.Sprint(value), fmt.Sprintf("%d.0", value), fmt.Sprintf("%de0", value)}[random.IntN(3)]
	case string:
		return `"` + strings.ReplaceAll(value, "é", []string{"é", `\u00e9`, `\u00E9`}[random.IntN(3)]) + `"`
	}
	text, err := json.Marshal(value)
	if err != nil {
		panic(err) // there are no other kinds
	}
	return string(text)
}

// TestErasedPayloadsAreNotKeptInRequests: what an entry's payload told, and was
// erased, its request does not tell either; the answer still holds.
func TestErasedPayloadsAreNotKeptInRequests(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.approver()
		e.active("rules", holdPay)
		pay := call("bank", "pay", `{"to":"x"}`)
		held, other := e.decide(pay), e.decide(call("bank", "pay", `{"to":"z"}`))
		e.say(held, approval.Approval{Note: "not so", Arguments: []byte(`{"to":"y"}`)})
		var answered int64
		if err := e.DB.QueryRow(t.Context(),
			`SELECT position FROM audit_entry WHERE action = 'approval.approved'`).Scan(&answered); err != nil {
			t.Fatal(err)
		}
		for _, index := range []int64{held.Receipt.Index, answered} {
			if err := e.audit.ErasePayload(t.Context(), e.owner, e.acme, index, "asked to"); err != nil {
				t.Fatal(err)
			}
		}
		got, err := e.approvals.Get(t.Context(), e.owner, held.ApprovalID)
		if err != nil || got.Arguments+got.Edited+got.Note != "" || got.Status != approval.Approved {
			t.Errorf("erased: %+v, %v", got, err)
		}
		if kept, err := e.approvals.Get(t.Context(), e.owner, other.ApprovalID); err != nil ||
			kept.Arguments != `{"to":"z"}` {
			t.Errorf("the other: %+v, %v", kept, err)
		}
		want(t, e.decide(pay), verdict.Deny, policy.ByApproval, "approved with changes, and these were erased")
		want(t, e.decide(call("bank", "pay", `{"to":"y"}`)), verdict.Allow, policy.ByApproval, "")
	})
}
