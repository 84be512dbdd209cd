package policy_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"writ/internal/audit"
	"writ/internal/database"
	"writ/internal/database/dbtest"
	"writ/internal/fault"
	"writ/internal/policy"
	"writ/internal/policy/document"
	"writ/internal/policy/engine"
	"writ/internal/principal"
	"writ/internal/toolcall"
	"writ/internal/verdict"
)

// world is a database with two organizations and a clock that stands still until
// it is moved.
type env struct {
	T            *testing.T
	DB           *database.DB
	Options      database.Options
	policies     *policy.Service
	clock        *atomic.Int64 // microseconds
	acme, globex string
	owner        principal.Principal // of acme
}

func each(t *testing.T, body func(t *testing.T, e *env)) {
	t.Helper()
	dbtest.EachOptions(t, func(t *testing.T, o database.Options) {
		clock := new(atomic.Int64)
		clock.Store(database.Micros(time.Date(2030, 5, 1, 12, 20, 0, 0, time.UTC)))
		o.Now = func() time.Time { return database.Time(clock.Load()) }
		db := dbtest.Open(t, o)
		e := &env{
			T:        t,
			DB:       db,
			Options:  o,
			policies: policy.New(db, audit.Unsigned(db), nil, policy.ProposalNotifier{}),
			clock:    clock,
		}
		e.acme, e.globex = e.Organization("Acme"), e.Organization("Globex")
		e.owner = person(e.acme, principal.Owner)
		body(t, e)
	})
}

func (e *env) Pass(d time.Duration) { e.clock.Add(d.Microseconds()) }

func (e *env) Exec(query string, args ...any) {
	e.T.Helper()
	e.Write(func(ctx context.Context, tx *database.Tx) error {
		_, err := tx.Exec(ctx, query, args...)
		return err
	})
}

func (e *env) Write(do func(ctx context.Context, tx *database.Tx) error, logs ...string) {
	e.T.Helper()
	if err := e.DB.Write(e.T.Context(), database.Change{Logs: logs, Do: do}); err != nil {
		e.T.Fatalf("write: %v", err)
	}
}

func (e *env) Organization(name string) string {
	id := database.NewID()
	e.Exec(`INSERT INTO organization (id, name, created_at, updated_at) VALUES ($1, $2, 1, 1)`, id, name)
	return id
}

func person(orgID string, role principal.Role) principal.Principal {
	return principal.Principal{Kind: principal.User, UserID: database.NewID(), OrgID: orgID, Role: role}
}

func key(orgID string, scopes ...principal.Scope) principal.Principal {
	return principal.Principal{
		Kind:   principal.Key,
		KeyID:  database.NewID(),
		UserID: database.NewID(),
		OrgID:  orgID,
		Scopes: scopes,
	}
}

// yaml is a policy of a name with rules like "allow bank.*".
func yaml(name string, rules ...string) policy.Source {
	var text strings.Builder
	fmt.Fprintf(&text, "version: v1\nname: %s\nrules:\n", name)
	if len(rules) == 0 {
		text.Reset()
		fmt.Fprintf(&text, "version: v1\nname: %s\nrules: []\n", name)
	}
	for i, rule := range rules {
		effect, tools, _ := strings.Cut(rule, " ")
		fmt.Fprintf(&text, "  - id: r%d\n    effect: %s\n    tools: [%q]\n", i, effect, tools)
	}
	return policy.Source{Text: text.String(), Format: document.YAML}
}

func (e *env) create(source policy.Source) policy.Full {
	e.T.Helper()
	full, err := e.policies.Create(e.T.Context(), e.owner, source)
	if err != nil {
		e.T.Fatalf("create: %v", err)
	}
	return full
}

// active is a policy whose first version counts.
func (e *env) active(source policy.Source) policy.Full {
	e.T.Helper()
	full, err := e.policies.Activate(e.T.Context(), e.owner, e.create(source).ID, policy.LatestVersion)
	if err != nil {
		e.T.Fatalf("activate: %v", err)
	}
	return full
}

func (e *env) bind(id string, b policy.Bindings) {
	e.T.Helper()
	if _, err := e.policies.SetBindings(e.T.Context(), e.owner, id, b); err != nil {
		e.T.Fatalf("bind: %v", err)
	}
}

// say is what the active policies say about a call of send_money at the bank.
func (e *env) say(call toolcall.Call) engine.Decision {
	e.T.Helper()
	return e.sayBy(e.policies, call)
}

func (e *env) sayBy(s *policy.Service, call toolcall.Call) engine.Decision {
	e.T.Helper()
	if call.Tool == "" {
		call.Server, call.Tool = "bank", "send_money"
	}
	x, err := s.Check(e.T.Context(), e.owner, call)
	if err != nil {
		e.T.Fatalf("check: %v", err)
	}
	return x.Decision
}

func (e *env) wantVerdict(what string, want verdict.Verdict) {
	e.T.Helper()
	if d := e.say(toolcall.Call{}); d.Verdict != want {
		e.T.Errorf("%s: %s (%s), want %s", what, d.Verdict, d.Reason, want)
	}
}

// recorded are the actions about policies in acme's log.
func (e *env) recorded() []string {
	e.T.Helper()
	entries, err := audit.ReadEntries(e.T.Context(), e.DB, e.acme, 0, 1000)
	if err != nil {
		e.T.Fatal(err)
	}
	var actions []string
	for _, e := range entries {
		actions = append(actions, e.Action)
	}
	return actions
}

func wantKind(t *testing.T, what string, err error, kind fault.Kind) {
	t.Helper()
	if !fault.Is(err, kind) {
		t.Errorf("%s: %v, want %s", what, err, kind)
	}
}
