package execution_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"writ/internal/audit"
	"writ/internal/database"
	"writ/internal/database/dbtest"
	"writ/internal/decision"
	"writ/internal/execution"
	"writ/internal/fault"
	"writ/internal/intent/plan"
	"writ/internal/principal"
	"writ/internal/verdict"
)

// world is a database with two organizations, agents of the first, and a clock
// that stands still until it is moved.
type world struct {
	t            *testing.T
	db           *database.DB
	log          *audit.Log
	service      *execution.Service
	clock        *atomic.Int64 // microseconds
	acme, globex string
	agent, other principal.Principal // keys in acme; other has no product
	foreign      principal.Principal // a key in globex
	owner        principal.Principal // of acme

	plans map[string]string // plan to organization
}

var noon = time.Date(2030, 5, 15, 12, 0, 0, 0, time.UTC)

func each(t *testing.T, body func(t *testing.T, w *world)) {
	t.Helper()
	dbtest.EachOptions(t, func(t *testing.T, o database.Options) {
		w := &world{t: t, clock: new(atomic.Int64), plans: map[string]string{}}
		w.clock.Store(database.Micros(noon))
		o.Now = func() time.Time { return database.Time(w.clock.Load()) }
		w.db = dbtest.Open(t, o)
		w.log = audit.Unsigned(w.db)
		w.service = execution.New(w.db, w.log, plans{w}, keys{w})
		w.acme, w.globex = w.organization("Acme"), w.organization("Globex")
		w.agent, w.other, w.foreign = key(w.acme, "gemini"), key(w.acme, ""), key(w.globex, "gemini")
		w.owner = principal.Principal{
			Kind: principal.User, UserID: database.NewID(), OrgID: w.acme, Role: principal.Owner,
		}
		body(t, w)
	})
}

func key(orgID, product string) principal.Principal {
	return principal.Principal{
		Kind:    principal.Key,
		KeyID:   database.NewID(),
		OrgID:   orgID,
		Product: product,
		Scopes:  principal.DefaultScopes(),
	}
}

// plans stands for package intent.
type plans struct{ w *world }

func (p plans) IDOf(_ context.Context, orgID string, shown plan.Presented) (string, error) {
	if p.w.plans[shown.PlanID] != orgID {
		return "", nil
	}
	return shown.PlanID, nil
}

func (p plans) Issued(_ context.Context, shown plan.Presented) (plan.Binding, error) {
	if shown.Signature != "good" {
		return plan.Binding{}, fault.New(fault.Unauthenticated, "the token was not issued here")
	}
	return plan.Binding{OrgID: p.w.acme, KeyID: p.w.agent.KeyID}, nil
}

func (plans) Digest(_ context.Context, orgID, canonical string) ([]byte, error) {
	return digest(orgID, canonical), nil
}

// keys stands for package apikey.
type keys struct{ w *world }

func (k keys) find(keyID string) principal.Principal {
	for _, p := range []principal.Principal{k.w.agent, k.w.other, k.w.foreign} {
		if p.KeyID == keyID {
			return p
		}
	}
	return principal.Principal{}
}

func (k keys) Holder(_ context.Context, keyID string) (principal.Principal, error) {
	return k.find(keyID), nil
}

func (k keys) ProductOf(_ context.Context, _ database.Reader, keyID string) (string, error) {
	return k.find(keyID).Product, nil
}

func digest(orgID, canonical string) []byte {
	sum := sha256.Sum256([]byte(orgID + canonical))
	return sum[:]
}

func (w *world) pass(d time.Duration) { w.clock.Add(d.Microseconds()) }

func (w *world) write(logs []string, do func(ctx context.Context, tx *database.Tx) error) {
	w.t.Helper()
	if err := w.db.Write(w.t.Context(), database.Change{Logs: logs, Do: do}); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) organization(name string) string {
	id := database.NewID()
	w.write(nil, func(ctx context.Context, tx *database.Tx) error {
		_, err := tx.Exec(ctx, `INSERT INTO organization (id, name, created_at, updated_at) VALUES ($1, $2, 1, 1)`, id,
			name)
		return err
	})
	return id
}

func (w *world) plan(orgID string) string {
	id := database.NewID()
	w.plans[id] = orgID
	return id
}

// decided records a decision about a call of a tool.
func (w *world) decided(by principal.Principal, v verdict.Verdict, planID, server, tool, arguments string) string {
	w.t.Helper()
	d := decision.Record{
		ID:      database.NewID(),
		OrgID:   by.OrgID,
		PlanID:  planID,
		Server:  server,
		Tool:    tool,
		Ruling:  verdict.Ruling{Verdict: v, PolicyID: "policy", Reason: "a rule"},
		Details: decision.Details{Digest: digest(by.OrgID, arguments)},
	}
	w.write([]string{by.OrgID}, func(ctx context.Context, tx *database.Tx) error {
		_, err := decision.Append(ctx, tx, w.log, by, &d)
		return err
	})
	return d.ID
}

// allowed is decided for an allow of a tool under a plan.
func (w *world) allowed(by principal.Principal, planID, tool, arguments string) string {
	w.t.Helper()
	return w.decided(by, verdict.Allow, planID, "srv", tool, arguments)
}

// report sends rows and wants an answer for each.
func (w *world) report(by principal.Principal, rows ...string) []execution.Reported {
	w.t.Helper()
	var raw []jsontext.Value
	for _, row := range rows {
		raw = append(raw, jsontext.Value(row))
	}
	answers, err := w.service.Report(w.t.Context(), by, raw)
	if err != nil || len(answers) != len(rows) {
		w.t.Fatalf("report: %+v, %v", answers, err)
	}
	return answers
}

// ran reports one execution that must be taken, and gives its id.
func (w *world) ran(by principal.Principal, row string) string {
	w.t.Helper()
	answer := w.report(by, row)[0]
	if answer.Problem != "" {
		w.t.Fatalf("report %s: %s", row, answer.Problem)
	}
	return answer.ID
}

func (w *world) reconcile() {
	w.t.Helper()
	if err := w.service.Reconcile(w.t.Context()); err != nil {
		w.t.Fatalf("reconcile: %v", err)
	}
}

// findings are what acme has, oldest first, in few words.
func (w *world) findings() (words []string) {
	w.t.Helper()
	found, err := w.service.Findings(w.t.Context(), w.owner, execution.FindingFilter{Limit: 200})
	if err != nil {
		w.t.Fatal(err)
	}
	for _, f := range found.Items {
		word := fmt.Sprintf("%s %s", f.Kind, f.Tool)
		if f.Kind == execution.SequenceGap {
			word = fmt.Sprintf("%s %d-%d lacks %d", f.Kind, f.FirstSeq, f.LastSeq, f.Missing)
		}
		if f.ResolvedAt != nil {
			word += " resolved"
		}
		words = append([]string{word}, words...)
	}
	return words
}

func (w *world) wantFindings(want ...string) {
	w.t.Helper()
	if got := strings.Join(w.findings(), ", "); got != strings.Join(want, ", ") {
		w.t.Errorf("findings: %s; want %s", got, strings.Join(want, ", "))
	}
}

// decisionOf is the decision an execution was matched to.
func (w *world) decisionOf(executionID string) (id string) {
	w.t.Helper()
	if err := w.db.QueryRow(w.t.Context(), `SELECT decision_id FROM execution WHERE id = $1`,
		executionID).Scan(&id); err != nil {
		w.t.Fatal(err)
	}
	return id
}

// entries are the reports in a log.
func (w *world) entries(log string) (reports []audit.Stored) {
	w.t.Helper()
	all, err := audit.ReadEntries(w.t.Context(), w.db, log, 0, 10_000)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, e := range all {
		if e.Action == execution.ActionReported {
			reports = append(reports, e)
		}
	}
	return reports
}
