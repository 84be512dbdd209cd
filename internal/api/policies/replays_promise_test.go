package policies_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"writ/client"
	"writ/internal/database"
	"writ/internal/decision"
	"writ/internal/testserver"
)

// promising is an organization in which calls are made twice: under the policy of
// today, and under the draft that was replayed.
type promising struct {
	*testserver.Server
	owner, member *testserver.Person
	org           string
	keys          []string // of the owner, and of the member in the sandbox
	keyIDs        []string
	policy        string
	random        *rand.Rand
}

// madeCall is a call as a client sends it.
type madeCall struct {
	key  int
	body m
}

const todayRules = `
  - {id: t1, effect: deny, tools: ["*.drop"]}
  - {id: t2, effect: hold, tools: ["*.pay"], when: amount(args) > 50.0}
  - {id: t3, effect: ask, tools: ["*.mail"]}
`

// draftRules are what drafts are made of: each kind of subject, condition, effect
// and failure. Effects are drawn.
var draftRules = []string{
	`tools: ["*.pay"], limit: {calls: 2, per: 24h, by: agent}`,
	`tools: ["*"], limit: {calls: 4, per: 24h, by: session}`,
	`tools: ["*.pay", "*.mail"], limit: {calls: 3, per: 24h, by: user}`,
	`tools: ["*"], limit: {calls: 9, per: 24h, by: org}`,
	`tools: ["*"], when: 'has(args.password)', limit: {calls: 1, per: 24h, by: org}`,
	`tools: ["*"], limit: {tokens: 100, per: 24h, by: agent}`,
	`tools: ["*.pay"], when: 'amount(args) > 10.0'`,
	`tools: ["*.pay"], when: 'args.amount > 10'`,
	`tools: ["*"], when: 'args.missing > 3'`,
	`tools: ["*"], when: 'args.password == "hunter2hunter2"'`,
	`tools: ["*"], when: 'has(args.password)'`,
	`tools: ["*"], when: '!has(args.password) && size(args) > 1'`,
	`tools: ["*"], when: 'args.exists(k, v, k == "command")'`,
	`tools: ["*.run"], when: 'shell(args.command).programs.exists(p, p == "rm")'`,
	`tools: ["*.run"], when: '!shell(args.command).dynamic'`,
	`tools: ["*"], when: '"pii" in labels'`,
	`tools: ["*"], when: 'labels.size() == 0'`,
	`tools: ["*"], when: 'environment == "sandbox"'`,
	`tools: ["*"], when: 'user.role == "owner"'`,
	`tools: ["*"], when: 'user.role == "member"'`,
	`tools: ["*"], when: 'user.email.endsWith("@customer.example")'`,
	`tools: ["*"], when: 'user.id == ""'`,
	`tools: ["*"], when: 'agent.id == "one"'`,
	`tools: ["*"], when: 'session.calls > 2'`,
	`tools: ["*"], when: 'session.costUsd > 0.0 || session.id == "s1"'`,
	`tools: ["*"], when: 'intent.declared'`,
	`tools: ["*"], when: 'intent.step == "0"'`,
	`tools: ["*"], when: 'intent.goal == "" && org.name != ""'`,
	`tools: ["*.read"], when: 'path(args.path).within("/srv")'`,
	`tools: ["*.read"], when: 'args.path.startsWith("/srv")'`,
	`tools: ["*"], when: 'now > timestamp("2020-01-01T00:00:00Z")'`,
	`tools: ["files.*"]`,
	`tools: ["files.drop"]`,
	`tools: ["local.*", "gemini-cli.*"]`,
	`tools: ["*.files__drop"]`,
}

func (p *promising) draft() string {
	var b strings.Builder
	fmt.Fprintf(&b, "version: v1\nname: promised\ndefault: %s\nrules:\n", p.one("allow", "deny", "hold", "ask"))
	for i := range 1 + p.random.IntN(4) {
		fmt.Fprintf(&b, "  - {id: d%d, effect: %s, %s}\n", i, p.one("allow", "allow", "deny", "hold", "ask"),
			draftRules[p.random.IntN(len(draftRules))])
	}
	return b.String()
}

func (p *promising) one(of ...string) string { return of[p.random.IntN(len(of))] }

// call draws one of few calls, so that limits are met.
func (p *promising) call() madeCall {
	name := p.one("pay", "mail", "drop", "run", "read", "files__drop", "mcp__files__drop")
	args := m{}
	switch name {
	case "pay":
		args[p.one("amount", "total")] = []any{5, 20, 100, "x"}[p.random.IntN(4)]
	case "run":
		args["command"] = p.one("ls", "rm -rf x", "echo $(x)", "curl -H 'Authorization: Bearer abc123def456ghi789'")
	case "read":
		args["path"] = p.one("/srv/a", "/etc/passwd", "link")
	}
	if p.random.IntN(4) == 0 {
		args["password"] = p.one("hunter2hunter2", "other-secret-1")
	}
	body := m{
		"tool_name": name, "tool_input": args, "session_id": p.one("s1", "s2", ""), "agent_id": p.one("one", "two", ""),
	}
	if p.random.IntN(2) == 0 {
		body["source"] = p.one("armorgemini", "armorclaude")
	}
	if p.random.IntN(3) == 0 {
		body["mcp_context"] = m{"server_name": p.one("files", "bank"), "tool_name": name}
	}
	switch p.random.IntN(5) {
	case 0:
		body["user_email"] = "ada@customer.example"
	case 1:
		body["user_email"] = p.member.Email
	case 2:
		body["user_id"] = p.one("someone", p.owner.ID, p.member.ID)
	}
	if p.random.IntN(3) == 0 {
		body["labels"] = []string{p.one("pii", "public")}
	}
	if args["path"] == "link" {
		body["resolvedPaths"] = m{"link": p.one("/srv/b", "/etc/shadow")}
	}
	return madeCall{p.random.IntN(len(p.keys)), body}
}

// make sends a call and gives the answer and the decision's id.
func (p *promising) make(c madeCall) (answered, id string) {
	p.T.Helper()
	var answer struct {
		Decision   string `json:"decision"`
		DecisionID string `json:"decisionId"`
	}
	if err := p.Public.WithKey(p.keys[c.key]).Call(p.T.Context(), http.MethodPost, "/iap/enforce", nil, c.body,
		&answer); err != nil {
		p.T.Fatalf("ask about %v: %v", c.body, err)
	}
	return answer.Decision, answer.DecisionID
}

// bindings are drawn: mostly a policy counts for all.
func (p *promising) bindings() client.Bindings {
	switch p.random.IntN(6) {
	case 0:
		return client.Bindings{Clients: []string{p.one("one", "two")}}
	case 1:
		return client.Bindings{Clients: []string{p.keyIDs[p.random.IntN(2)]}}
	case 2:
		return client.Bindings{Members: []string{p.one(p.owner.ID, p.member.ID)}}
	case 3:
		return client.Bindings{Roles: []string{p.one("owner", "member")}}
	}
	return client.Bindings{}
}

// begin makes an organization with a policy in force, and one beside it.
func (p *promising) begin() {
	p.T.Helper()
	ctx := p.T.Context()
	p.org = p.Organization(p.owner, "Promises")
	p.member = p.Join(p.owner, p.org, "member")
	p.keys, p.keyIDs = nil, nil
	for i, of := range []*testserver.Person{p.owner, p.member} {
		key, err := of.CreateKey(ctx, client.NewKey{
			Name:           "k",
			OrganizationID: p.org,
			Environment:    []string{"production", "sandbox"}[i],
			Scopes:         []string{"enforce"},
		})
		if err != nil {
			p.T.Fatal(err)
		}
		p.keys, p.keyIDs = append(p.keys, key.APIKey), append(p.keyIDs, key.ID)
	}
	p.policy = p.ActivePolicy(p.owner, p.org, "version: v1\nname: promised\ndefault: allow\nrules:"+todayRules)
	p.ActivePolicy(p.owner, p.org,
		"version: v1\nname: beside\ndefault: allow\nrules:\n  - {id: b, effect: deny, tools: [\"bank.run\"]}\n")
	if b := p.bindings(); len(b.Clients)+len(b.Members)+len(b.Roles) > 0 {
		if _, err := p.owner.SetBindings(ctx, p.policy, b); err != nil {
			p.T.Fatal(err)
		}
	}
}

// erase takes the details out of some decisions.
func (p *promising) erase(ids []string) {
	p.T.Helper()
	records, err := decision.Read(p.T.Context(), p.Database, p.org, 0, 1000)
	if err != nil {
		p.T.Fatal(err)
	}
	for _, r := range records {
		if slices.Contains(ids, r.ID) {
			if err := p.owner.ErasePayload(p.T.Context(), p.org, r.Index, "wanted"); err != nil {
				p.T.Fatal(err)
			}
		}
	}
}

// promised is what a replay says of each decision that it names, and of the rest
// how many may change: those it does not know, and those beyond the examples.
func promised(r client.ReplayReport) (answers map[string]string, others int64) {
	answers, others = map[string]string{}, r.Counts.Drafted["unknown"]
	for _, c := range r.Changes {
		for _, e := range c.Examples {
			answers[e.DecisionID] = c.Drafted
		}
		if c.Drafted == "unknown" {
			others -= int64(len(c.Examples))
		} else {
			others += c.Count - int64(len(c.Examples))
		}
	}
	return answers, others
}

// TestReplaysKeepTheirPromises makes calls over HTTP, replays them under a draft,
// puts the draft in force and makes the same calls again: where the replay named
// an answer it is the one that is given.
func TestReplaysKeepTheirPromises(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		p := &promising{Server: s, owner: s.Person("owner")}
		known, kept := 0, 0
		for seed := range uint64(12) {
			p.random = rand.New(rand.NewPCG(seed, 4))
			p.begin()
			p.keepsPromise(seed, &known, &kept)
		}
		if known < 100 || kept < 50 {
			t.Errorf("%d answers were known, %d of them changes: too few to say", known, kept)
		}
	})
}

func (p *promising) keepsPromise(seed uint64, known, changed *int) {
	t, ctx := p.T, p.T.Context()
	var calls []madeCall
	var was, ids, gone []string
	for range 24 {
		c := p.call()
		answered, id := p.make(c)
		calls, was, ids = append(calls, c), append(was, answered), append(ids, id)
		if p.random.IntN(8) == 0 {
			gone = append(gone, id)
		}
	}
	p.erase(gone)
	text := p.draft()
	draft, err := p.owner.UpdatePolicy(ctx, p.policy, client.YAMLDocument, text, 1)
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	report := replay(p.Server, p.owner.Client, p.org, client.NewReplay{PolicyID: p.policy})
	answers, others := promised(report)
	if _, err := p.owner.ActivatePolicy(ctx, p.policy, draft.PolicyVersion); err != nil {
		t.Fatal(err)
	}
	for i, c := range calls {
		now, _ := p.make(c)
		said, named := answers[ids[i]]
		switch {
		case named && said == "unknown":
		case named && said != now:
			t.Errorf("seed %d: call %d %v was %s, is %s, and the replay said %s under\n%s", seed, i, c, was[i], now,
				said, text)
		case named:
			*known, *changed = *known+1, *changed+1
		case now != was[i]:
			others--
		default:
			*known++
		}
	}
	if others < 0 {
		t.Errorf("seed %d: %d answers changed of which the replay said nothing, under\n%s", seed, -others, text)
	}
}

// TestReplaysStayInTheirOrganization: neither the policies nor the decisions of
// another are looked at, and a policy that is deleted before its turn is said to be
// gone.
func TestReplaysStayInTheirOrganization(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		p := &promising{Server: s, owner: s.Person("owner"), random: rand.New(rand.NewPCG(1, 4))}
		p.begin()
		p.make(madeCall{body: m{"tool_name": "pay", "tool_input": m{"amount": 5}}})
		stranger := s.Person("stranger")
		elsewhere := s.Organization(stranger, "Elsewhere")
		for what, r := range map[string]client.NewReplay{
			"the latest":     {PolicyID: p.policy},
			"a version":      {PolicyID: p.policy, PolicyVersion: 1},
			"in their place": {PolicyID: p.policy, YAML: testserver.PolicyText("x", "deny")},
		} {
			_, err := stranger.StartReplay(t.Context(), elsewhere, r)
			testserver.WantStatus(t, "replay another organization's policy, "+what, err, http.StatusNotFound)
			_, err = stranger.StartReplay(t.Context(), p.org, r)
			testserver.WantStatus(t, "replay in another organization, "+what, err, http.StatusForbidden)
		}
		if report := replay(s, stranger.Client, elsewhere, client.NewReplay{
			YAML: testserver.PolicyText("x", "deny"),
		}); report.Counts.Decisions != 0 {
			t.Errorf("decisions of another organization: %+v", report.Counts)
		}
		if report := replay(s, p.owner.Client, p.org, client.NewReplay{
			YAML: testserver.PolicyText("x", "deny"),
		}); report.Counts.Decisions != 1 {
			t.Errorf("its own: %+v", report.Counts)
		}
		draft, err := p.owner.CreatePolicy(t.Context(), p.org, client.YAMLDocument,
			testserver.PolicyText("short-lived", "deny"))
		if err != nil {
			t.Fatal(err)
		}
		p.keepsWaiting(draft.ID)
	})
}

// keepsWaiting deletes a policy whose replay another server has begun, and is gone.
func (p *promising) keepsWaiting(policyID string) {
	t := p.T
	t.Helper()
	id := p.HeldReplay(p.org, 1, time.Hour)
	set := func(what string, args ...any) {
		t.Helper()
		err := p.Database.Write(t.Context(), database.Change{Do: func(ctx context.Context, tx *database.Tx) error {
			_, err := tx.Exec(ctx, `UPDATE policy_replay SET `+what+` WHERE id = $1`, append([]any{id}, args...)...)
			return err
		}})
		if err != nil {
			t.Fatal(err)
		}
	}
	set(`policy_id = $2, version = 1, format = '', source = ''`, policyID)
	if err := p.owner.DeletePolicy(t.Context(), policyID); err != nil {
		t.Fatal(err)
	}
	set(`lease_until = 0`)
	if job := replayed(p.Server, p.owner.Client, p.org, id); job.State != "broken" ||
		!strings.Contains(job.Problem, "policy") || job.Report != nil {
		t.Errorf("a replay of what was deleted: %+v", job)
	}
}
