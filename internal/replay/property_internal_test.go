package replay

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"writ/internal/decision"
	"writ/internal/policy"
	"writ/internal/policy/document"
	"writ/internal/policy/engine"
	"writ/internal/redaction"
	"writ/internal/toolcall"
	"writ/internal/toolname"
	"writ/internal/verdict"
)

var (
	patterns = []document.Pattern{
		"*", "files.*", "local.*", "*.delete", "files.delete", "local.files__delete", "*.read",
		"files.mcp__files__delete", "*.mcp*",
	}
	conditions = []string{
		"", "", "args.n > 5", "args.n <= 5", `args.password == "hunter2"`, `has(args.password)`, `args.missing == 1`,
		`args.n > 5 || args.password == "x"`, `user.role == "admin"`, `user.id == "u1"`, `"l" in labels`,
		`environment == "sandbox"`,
		`!(args.password.startsWith("h"))`, `size(args) > 2`, `args.exists(k, v, k == "password")`,
		`args.n > 2 && has(args.deep) && args.deep.token == "t"`,
	}
	verdicts = []verdict.Verdict{verdict.Deny, verdict.Hold, verdict.Ask, verdict.Allow, verdict.Allow}
)

func drawSet(t *rapid.T) *engine.Set {
	var active []engine.Active
	for i := range rapid.IntRange(0, 3).Draw(t, "policies") {
		doc := &document.Document{
			Version: document.Version,
			Name:    fmt.Sprintf("p%d", i),
			Default: rapid.SampledFrom(verdicts).Draw(t, "default"),
		}
		for j := range rapid.IntRange(0, 4).Draw(t, "rules") {
			rule := document.Rule{
				ID: fmt.Sprintf("r%d", j), Effect: rapid.SampledFrom(verdicts).Draw(t, "effect"),
				Tools: []document.Pattern{rapid.SampledFrom(patterns).Draw(t, "pattern")},
				When:  rapid.SampledFrom(conditions).Draw(t, "when"),
			}
			if rapid.IntRange(0, 2).Draw(t, "limited") == 0 {
				rule.Limit = &document.Limit{
					Calls: rapid.Int64Range(1, 3).Draw(t, "calls"), Per: time.Minute,
					By: rapid.SampledFrom([]document.Subject{
						document.Agent, document.User, document.Organization,
					}).Draw(t, "by"),
				}
			}
			doc.Rules = append(doc.Rules, rule)
		}
		compiled, problems := engine.Compile(doc)
		if len(problems) > 0 {
			t.Fatalf("compile: %v", problems)
		}
		a := engine.Active{ID: doc.Name, Version: 1, Policy: compiled}
		switch rapid.IntRange(0, 5).Draw(t, "bound") {
		case 0:
			a.Bindings.Users = []string{"u1"}
		case 1:
			a.Bindings.Roles = []string{"admin"}
		case 2:
			a.Bindings.Agents = []string{"a1"}
		}
		active = append(active, a)
	}
	return engine.NewSet(active)
}

// made is a call as it was made.
type made struct {
	name   string // as it was called
	server string // as the client stated it
	call   toolcall.Call
}

func drawMade(t *rapid.T, at time.Time) made {
	m := made{
		name:   rapid.SampledFrom([]string{"read", "delete", "files__delete", "mcp__files__delete"}).Draw(t, "name"),
		server: rapid.SampledFrom([]string{"", "", "files", "local"}).Draw(t, "server"),
	}
	args := map[string]any{"n": rapid.Int64Range(0, 10).Draw(t, "n")}
	if rapid.Bool().Draw(t, "has password") {
		args["password"] = rapid.SampledFrom([]string{"hunter2", "x"}).Draw(t, "password")
	}
	if rapid.Bool().Draw(t, "has more") {
		args["deep"] = map[string]any{"token": "t", "plain": "p"}
	}
	owner := rapid.SampledFrom([]string{"", "admin"}).Draw(t, "owner's role")
	m.call = toolcall.Call{
		Args: args, Agent: toolcall.Agent{ID: rapid.SampledFrom([]string{"a1", "a2"}).Draw(t, "agent")},
		Org: toolcall.Org{ID: "o"},
		User: toolcall.User{
			ID:   rapid.SampledFrom([]string{"u1", "u2"}).Draw(t, "user"),
			Role: rapid.SampledFrom([]string{"", "admin"}).Draw(t, "role"),
		},
		Key: toolcall.Key{
			ID: "k", OwnerID: rapid.SampledFrom([]string{"u1", "u3"}).Draw(t, "owner"), OwnerRole: owner,
		}, Now: at,
		Environment: "production",
	}
	if rapid.Bool().Draw(t, "labelled") {
		m.call.Labels = []string{"l"}
	}
	m.call.Server, m.call.Tool = toolname.Resolve(m.name, m.server, "")
	return m
}

// naive judges calls as enforcement does, one after the other, by the plain
// evaluation of sets.
type naive struct {
	set     *engine.Set
	used    map[engine.LimitKey]int64
	claimed string // the server that the last call's own name claims, where that decided
}

func (n *naive) spent(key engine.LimitKey) (int64, error) { return n.used[key], nil }

func (n *naive) evaluate(call toolcall.Call) engine.Decision {
	d := n.set.Evaluate(&call, n.spent)
	if d.Verdict == verdict.Deny || !n.set.Bound() && call.User.Role == call.Key.OwnerRole {
		return d
	}
	call.Key.Alone, call.User.Role = true, call.Key.OwnerRole
	return strictest(d, n.set.Evaluate(&call, n.spent))
}

func strictest(a, b engine.Decision) engine.Decision {
	claims := append(a.Claims[:len(a.Claims):len(a.Claims)], b.Claims...)
	if b.Verdict < a.Verdict {
		a = b
	}
	a.Claims = claims
	return a
}

// decide judges a call, and counts it if it runs: with a hold or ask, if a person
// agrees.
func (n *naive) decide(m made, agreed bool) engine.Decision {
	d := n.evaluate(m.call)
	n.claimed = ""
	for _, counts := range []bool{true, false} { // those whose server a policy names count fully, and first
		for _, other := range toolname.Readings(m.name) {
			if other.Server == m.call.Server && other.Tool == m.call.Tool || n.set.NamesServer(other.Server) != counts {
				continue
			}
			own := m.call
			own.Server, own.Tool = other.Server, other.Tool
			claimed := n.evaluate(own)
			isStricter := claimed.Verdict < d.Verdict && (counts || claimed.ByRule())
			if counts || isStricter {
				d = strictest(d, claimed)
			}
			if isStricter {
				n.claimed = other.Server
			}
		}
	}
	if d.Verdict == verdict.Allow || d.Verdict != verdict.Deny && agreed {
		counted := map[engine.LimitKey]bool{}
		for _, claim := range d.Claims {
			if !counted[claim.LimitKey] {
				n.used[claim.LimitKey]++
			}
			counted[claim.LimitKey] = true
		}
	}
	return d
}

// kept is the record of a call, and what is known of who made it.
func kept(
	t *rapid.T, m made, d engine.Decision, claimed string, agreed, lossless bool,
) (decision.Record, toolcall.Call, Known) {
	r := decision.Record{
		ID:      "d",
		OrgID:   "o",
		KeyID:   "k",
		AgentID: m.call.Agent.ID,
		At:      m.call.Now,
		Server:  m.call.Server,
		Tool:    m.name,
		Ruling:  verdict.Ruling{Verdict: d.Verdict, PolicyID: d.PolicyID, Rule: d.Rule},
		Details: decision.Details{Labels: m.call.Labels, Environment: m.call.Environment},
	}
	if claimed != "" {
		r.Server, r.PlacedOn = claimed, m.call.Server
	}
	if d.PolicyID == "" {
		r.PolicyID = policy.ByDefault
	}
	if agreed && (d.Verdict == verdict.Hold || d.Verdict == verdict.Ask) {
		r.PolicyID, r.Verdict = policy.ByApproval, verdict.Allow
	}
	text, err := json.Marshal(m.call.Args)
	if err != nil {
		t.Fatalf("%v", err)
	}
	r.Arguments = text
	loss := 0
	if !lossless {
		loss = rapid.IntRange(0, 4).Draw(t, "loss")
		if r.Arguments, err = redaction.JSON(text); err != nil {
			t.Fatalf("%v", err)
		}
		r.Incomplete = string(r.Arguments) != string(text)
	}
	switch loss {
	case 1:
		r.Erased, r.Details = true, decision.Details{}
	case 2:
		r.Arguments, r.Incomplete = nil, true
	}
	call, known := CallOf(r)
	if loss != 3 {
		call.Key, known.gaps = m.call.Key, known.gaps.Without("key").Without("org", "name")
	}
	if !r.Erased && loss != 4 {
		call.User, known.gaps = m.call.User, known.gaps.Without("user")
	}
	return r, call, known
}

// TestReplayEqualsANaiveEvaluation makes calls under one set, records them, and
// replays them under that set and another. Of what was lost in the record nothing
// is made up: an answer that is known is the very answer that the plain evaluation
// of the whole calls comes to. And where nothing was lost, all answers are known.
func TestReplayEqualsANaiveEvaluation(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		start := time.Unix(6000, 0).UTC()
		today, drafted := &naive{set: drawSet(t), used: map[engine.LimitKey]int64{}},
			&naive{set: drawSet(t), used: map[engine.LimitKey]int64{}}
		replayed := newReplay(today.set, drafted.set, start, start)
		lossless := rapid.Bool().Draw(t, "lossless")
		exact := lossless // of the drafted set: until somebody would have been asked who was not
		for i := range rapid.IntRange(1, 12).Draw(t, "calls") {
			m := drawMade(t, start.Add(time.Duration(i)*10*time.Second))
			agreed := rapid.Bool().Draw(t, "agreed")
			was, would := today.decide(m, agreed), drafted.decide(m, agreed)
			r, call, known := kept(t, m, was, today.claimed, agreed, lossless)
			said, _ := recordedAnswer(&r)
			gotToday, gotDrafted := replayed.today.ask(&r, &call, known, said),
				replayed.drafted.ask(&r, &call, known, said)
			compare(t, "today", m, gotToday, was, lossless && !twoReadings(r))
			compare(t, "drafted", m, gotDrafted, would, exact && !twoReadings(r))
			exact = exact && !twoReadings(r) && asked(was) == asked(would) && (!agreed || !asked(was))
			lossless = lossless && !twoReadings(r)
		}
	})
}

func asked(d engine.Decision) bool { return d.Verdict == verdict.Hold || d.Verdict == verdict.Ask }

func twoReadings(r decision.Record) bool {
	_, _, ok := otherName(r)
	return ok
}

func compare(t *rapid.T, which string, m made, got engine.Outlook, want engine.Decision, exact bool) {
	t.Helper()
	answer := answerOf(&got)
	if !got.Possible().Has(want.Verdict) {
		t.Fatalf("%s: %s %+v is %s, possible were %b", which, m.name, m.call, want.Verdict, got.Possible())
	}
	if exact && answer == Unknown {
		t.Fatalf("%s: %s %+v is unknown, and nothing was lost", which, m.name, m.call)
	}
}

// TestRedactedIsNeverAllowed: a rule that allows by what was redacted allows
// nothing in a replay, nor does the lack of a deny.
func TestRedactedIsNeverAllowed(t *testing.T) {
	t.Parallel()
	for _, when := range []string{
		`args.password == "[redacted]"`, `args.password != "hunter2"`, `!args.password.contains("x")`,
		`has(args.password)`,
	} {
		for _, effect := range []verdict.Verdict{verdict.Allow, verdict.Deny} {
			doc := &document.Document{Version: document.Version, Name: "p", Default: verdict.Allow - effect,
				Rules: []document.Rule{
					{ID: "r", Effect: effect, Tools: []document.Pattern{"*"}, When: when},
				}}
			compiled, problems := engine.Compile(doc)
			if len(problems) > 0 {
				t.Fatal(problems)
			}
			set := engine.NewSet([]engine.Active{{ID: "p", Policy: compiled}})
			r := decision.Record{
				Server:  "s",
				Tool:    "t",
				Details: decision.Details{Arguments: []byte(`{"password":"[redacted]"}`), Incomplete: true},
			}
			call, known := CallOf(r)
			got := judge(set, &r, &call, known, newCounters(time.Time{}).Range)
			if answerOf(&got) != Unknown {
				t.Errorf("%s %s: %b", effect, strings.TrimSpace(when), got.Possible())
			}
		}
	}
}

// TestWhatCountsForLimits: what would have run, by an answer and what was recorded.
func TestWhatCountsForLimits(t *testing.T) {
	t.Parallel()
	set := func(all ...verdict.Verdict) (v engine.Verdicts) {
		for _, one := range all {
			v.Add(one)
		}
		return v
	}
	for _, c := range []struct {
		possible engine.Verdicts
		said     Answer
		want     ran
	}{
		{set(verdict.Allow), "allow", did}, {set(verdict.Allow), "deny", did}, {set(verdict.Allow), "hold", did},
		{set(verdict.Allow), Approved, perhaps},
		{set(verdict.Deny), "allow", didNot}, {set(verdict.Deny), Approved, didNot},
		{set(verdict.Hold), "hold", didNot}, {set(verdict.Ask), "hold", didNot}, {set(verdict.Hold), Refused, didNot},
		{set(verdict.Hold), Approved, did}, {set(verdict.Hold), "allow", perhaps}, {set(verdict.Ask), "deny", perhaps},
		{set(verdict.Deny, verdict.Allow), "allow", perhaps}, {set(), "allow", perhaps},
	} {
		if got := wouldRun(c.possible, c.said); got != c.want {
			t.Errorf("%b, recorded %s: %d, want %d", c.possible, c.said, got, c.want)
		}
	}
}

// TestCountersKnowWhatTheyDoNotKnow: windows that began before the first call, and
// cost and tokens, are open to the top.
func TestCountersKnowWhatTheyDoNotKnow(t *testing.T) {
	t.Parallel()
	c := newCounters(time.Unix(1000, 0))
	key := engine.LimitKey{
		PolicyID: "p",
		RuleID:   "r",
		Unit:     engine.Calls,
		Subject:  "a",
		Window:   1000,
		Per:      60,
	}
	claim := engine.DoubtfulClaim{Claim: engine.Claim{LimitKey: key, Max: 5}, Certain: true}
	doubtful, anyone := claim, claim
	doubtful.Certain, anyone.AnySubject = false, true
	c.take([]engine.DoubtfulClaim{claim, claim}, did)
	c.take([]engine.DoubtfulClaim{claim}, didNot)
	c.take([]engine.DoubtfulClaim{claim}, perhaps)
	c.take([]engine.DoubtfulClaim{doubtful}, did)
	c.take([]engine.DoubtfulClaim{anyone}, did)
	if least, most := c.Range(key, false); least != 1 || most != 4 {
		t.Errorf("from %d to %d, want 1 to 4", least, most)
	}
	other := claim
	other.Subject = "b"
	c.take([]engine.DoubtfulClaim{other}, did)
	if least, most := c.Range(key, true); least != 0 || most != 5 {
		t.Errorf("of somebody from %d to %d, want 0 to 5: all calls", least, most)
	}
	early, cost := key, key
	early.Window, cost.Unit = 940, engine.Cost
	for name, k := range map[string]engine.LimitKey{"an early window": early, "cost": cost} {
		for _, anySubject := range []bool{false, true} {
			if least, most := c.Range(k, anySubject); least != 0 || most < 1<<60 {
				t.Errorf("%s: from %d to %d", name, least, most)
			}
		}
	}
}
