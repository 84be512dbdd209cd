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
type world struct {
	t            *testing.T
	db           *database.DB
	options      database.Options
	policies     *policy.Service
	clock        *atomic.Int64 // microseconds
	acme, globex string
	owner        principal.Principal // of acme
}

func each(t *testing.T, body func(t *testing.T, w *world)) {
	t.Helper()
	dbtest.EachOptions(t, func(t *testing.T, o database.Options) {
		clock := new(atomic.Int64)
		clock.Store(database.Micros(time.Date(2030, 5, 1, 12, 20, 0, 0, time.UTC)))
		o.Now = func() time.Time { return database.Time(clock.Load()) }
		db := dbtest.Open(t, o)
		w := &world{
			t:        t,
			db:       db,
			options:  o,
			policies: policy.New(db, audit.Unsigned(db), nil, policy.ProposalNotifier{}),
			clock:    clock,
		}
		w.acme, w.globex = w.organization("Acme"), w.organization("Globex")
		w.owner = person(w.acme, principal.Owner)
		body(t, w)
	})
}

func (w *world) pass(d time.Duration) { w.clock.Add(d.Microseconds()) }

func (w *world) exec(query string, args ...any) {
	w.t.Helper()
	w.write(func(ctx context.Context, tx *database.Tx) error {
		_, err := tx.Exec(ctx, query, args...)
		return err
	})
}

func (w *world) write(do func(ctx context.Context, tx *database.Tx) error, logs ...string) {
	w.t.Helper()
	if err := w.db.Write(w.t.Context(), database.Change{Logs: logs, Do: do}); err != nil {
		w.t.Fatalf("write: %v", err)
	}
}

func (w *world) organization(name string) string {
	id := database.NewID()
	w.exec(`INSERT INTO organization (id, name, created_at, updated_at) VALUES ($1, $2, 1, 1)`, id, name)
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

func (w *world) create(source policy.Source) policy.Full {
	w.t.Helper()
	full, err := w.policies.Create(w.t.Context(), w.owner, source)
	if err != nil {
		w.t.Fatalf("create: %v", err)
	}
	return full
}

// active is a policy whose first version counts.
func (w *world) active(source policy.Source) policy.Full {
	w.t.Helper()
	full, err := w.policies.Activate(w.t.Context(), w.owner, w.create(source).ID, policy.LatestVersion)
	if err != nil {
		w.t.Fatalf("activate: %v", err)
	}
	return full
}

func (w *world) bind(id string, b policy.Bindings) {
	w.t.Helper()
	if _, err := w.policies.SetBindings(w.t.Context(), w.owner, id, b); err != nil {
		w.t.Fatalf("bind: %v", err)
	}
}

// say is what the active policies say about a call of send_money at the bank.
func (w *world) say(call toolcall.Call) engine.Decision {
	w.t.Helper()
	return w.sayBy(w.policies, call)
}

func (w *world) sayBy(s *policy.Service, call toolcall.Call) engine.Decision {
	w.t.Helper()
	if call.Tool == "" {
		call.Server, call.Tool = "bank", "send_money"
	}
	x, err := s.Check(w.t.Context(), w.owner, call)
	if err != nil {
		w.t.Fatalf("check: %v", err)
	}
	return x.Decision
}

func (w *world) wantVerdict(what string, want verdict.Verdict) {
	w.t.Helper()
	if d := w.say(toolcall.Call{}); d.Verdict != want {
		w.t.Errorf("%s: %s (%s), want %s", what, d.Verdict, d.Reason, want)
	}
}

// recorded are the actions about policies in acme's log.
func (w *world) recorded() []string {
	w.t.Helper()
	entries, err := audit.ReadEntries(w.t.Context(), w.db, w.acme, 0, 1000)
	if err != nil {
		w.t.Fatal(err)
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
