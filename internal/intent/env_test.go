package intent_test

import (
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"writ/internal/audit"
	"writ/internal/database"
	"writ/internal/intent"
	"writ/internal/intent/plan"
	"writ/internal/intent/scope"
	"writ/internal/keyring"
	"writ/internal/principal"
	"writ/internal/testenv"
)

// env is two organizations with keys in both.
type env struct {
	*testenv.Env
	plans        *intent.Service
	acme, globex string
	ada, bob     string
	agent        principal.Principal // a key of ada's in acme
	other        principal.Principal // another one
	foreign      principal.Principal // a key of ada's in globex
}

func each(t *testing.T, body func(t *testing.T, e *env)) {
	t.Helper()
	testenv.Each(t, func(t *testing.T, base *testenv.Env) {
		base.Set(time.Date(2030, 5, 1, 12, 0, 0, 700_000_000, time.UTC))
		e := &env{Env: base, plans: newService(t, base.DB, 1)}
		e.acme, e.globex = e.Organization("Acme"), e.Organization("Globex")
		e.ada, e.bob = e.User("ada@example.org"), e.User("bob@example.org")
		e.agent, e.other, e.foreign = e.key(e.ada, e.acme), e.key(e.ada, e.acme), e.key(e.ada, e.globex)
		body(t, e)
	})
}

func (e *env) key(ownerID, orgID string) principal.Principal {
	e.T.Helper()
	return e.Key(ownerID, orgID, principal.Enforce)
}

func newService(t testing.TB, db *database.DB, fill byte) *intent.Service {
	t.Helper()
	sealer, log := testenv.Sealer(t, fill), audit.Unsigned(db)
	return intent.New(db, log, keyring.New(db, log, sealer), sealer, scope.New(db, sealer), intent.Agents{})
}

// request asks for a token for a plan.
func request(raw string) intent.Request {
	return intent.Request{UserID: "u1", AgentID: "agent", ContextID: "default", Plan: []byte(raw)}
}

const twoSteps = `{"goal":"build","steps":[{"action":"Read","mcp":"fs"},{"action":"Bash","mcp":"sh","params":{"command":"make"}}]}`

func (e *env) mint(p principal.Principal, r intent.Request) intent.Minted {
	e.T.Helper()
	minted, err := e.plans.Mint(e.T.Context(), p, r)
	if err != nil {
		e.T.Fatalf("mint: %v", err)
	}
	return minted
}

// shown is what an SDK sends of a token.
func shown(m intent.Minted) plan.Presented {
	return plan.Presented{
		PlanID: m.PlanID, Reference: m.IntentReference, PlanHash: m.PlanHash, Signature: m.Token.Signature,
	}
}

func (e *env) generation(orgID string) int64 {
	e.T.Helper()
	head, err := audit.ReadHead(e.T.Context(), e.DB, orgID)
	if err != nil {
		e.T.Fatal(err)
	}
	return head.Generation
}

// find finds a plan as a decision does, from a fresh snapshot.
func (e *env) find(orgID string, p plan.Presented) *plan.Declared {
	e.T.Helper()
	d, err := e.plans.Find(e.T.Context(), orgID, e.generation(orgID), p)
	if err != nil {
		e.T.Fatalf("find: %v", err)
	}
	return d
}

// everything is every column of the tables of this area, as one text.
func (e *env) everything() string {
	e.T.Helper()
	return e.Text("plan", "plan_anchor", "plan_request", "audit_entry")
}

// actions are those of a log, each after a space.
func (e *env) actions(orgID string) (text string) {
	e.T.Helper()
	for _, action := range e.Actions(orgID) {
		text += " " + action
	}
	return text
}

func toJSON(t *testing.T, v any) []byte {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}
