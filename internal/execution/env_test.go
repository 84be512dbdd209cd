package execution_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"writ/internal/audit"
	"writ/internal/database"
	"writ/internal/decision"
	"writ/internal/execution"
	"writ/internal/fault"
	"writ/internal/intent/plan"
	"writ/internal/intent/scope"
	"writ/internal/principal"
	"writ/internal/testenv"
	"writ/internal/verdict"
)

// env is two organizations, and agents of the first.
type env struct {
	*testenv.Env
	service      *execution.Service
	acme, globex string
	agent, other principal.Principal // keys in acme; other has no product
	foreign      principal.Principal // a key in globex
	owner        principal.Principal // of acme

	plans map[string]string // plan to organization
}

var noon = time.Date(2030, 5, 15, 12, 0, 0, 0, time.UTC)

func each(t *testing.T, body func(t *testing.T, e *env)) {
	t.Helper()
	testenv.Each(t, func(t *testing.T, base *testenv.Env) {
		base.Set(noon)
		e := &env{Env: base, plans: map[string]string{}}
		e.service = execution.New(e.DB, e.Log, plans{e}, keys{e}, scope.New(e.DB, testenv.Sealer(t, 1)), heard,
			nil, names{})
		e.acme, e.globex = e.Organization("Acme"), e.Organization("Globex")
		e.agent, e.other, e.foreign = key(e.acme, "gemini"), key(e.acme, ""), key(e.globex, "gemini")
		e.owner = testenv.Person(database.NewID(), e.acme, principal.Owner)
		body(t, e)
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
type plans struct{ w *env }

func (p plans) Reported(_ context.Context, orgID, _ string, shown plan.Presented) (scope.Under, error) {
	if p.w.plans[shown.PlanID] != orgID {
		return scope.Under{}, nil
	}
	return scope.Under{PlanID: shown.PlanID}, nil
}

// heard stands for an organization that asks.
func heard(context.Context, string, bool) (scope.Heard, error) { return scope.HeardAlways, nil }

func (p plans) Issued(_ context.Context, shown plan.Presented) (plan.Binding, error) {
	if shown.Signature != "good" {
		return plan.Binding{}, fault.New(fault.Unauthenticated, "the token was not issued here")
	}
	return plan.Binding{OrgID: p.w.acme, KeyID: p.w.agent.KeyID}, nil
}

func (plans) Digest(_ context.Context, orgID, canonical string) ([]byte, error) {
	return digest(orgID, canonical), nil
}

// names stands for package enforcement: it knows the server bank.
type names struct{}

func (names) Named(_ context.Context, _ principal.Principal, s execution.Stated) (server, tool string) {
	if tool, ok := strings.CutPrefix(s.Tool, "bank."); ok && s.Server == "" {
		return "bank", tool
	}
	return s.Server, s.Tool
}

// EndIfOther says that every call of the tool "other" has the arguments of step 0, which was not noted.
func (plans) EndIfOther(
	_ context.Context, _ *database.Tx, _ principal.Principal, _ string, call plan.Call,
	decided func([]int) (bool, error),
) (bool, error) {
	if call.Tool != "other" {
		return false, nil
	}
	covered, err := decided([]int{0})
	return !covered, err
}

// keys stands for package apikey.
type keys struct{ w *env }

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

func digest(orgID, canonical string) []byte {
	sum := sha256.Sum256([]byte(orgID + canonical))
	return sum[:]
}

func (e *env) plan(orgID string) string {
	id := database.NewID()
	e.plans[id] = orgID
	return id
}

// decided records a decision about a call of a tool.
func (e *env) decided(by principal.Principal, v verdict.Verdict, planID, server, tool, arguments string) string {
	e.T.Helper()
	d := decision.Record{
		ID:      database.NewID(),
		OrgID:   by.OrgID,
		PlanID:  planID,
		Server:  server,
		Tool:    tool,
		Ruling:  verdict.Ruling{Verdict: v, PolicyID: "policy", Reason: "a rule"},
		Details: decision.Details{Digest: digest(by.OrgID, arguments)},
	}
	e.Write(by.OrgID, func(ctx context.Context, tx *database.Tx) error {
		_, err := decision.Append(ctx, tx, e.Log, by, &d)
		return err
	})
	return d.ID
}

// allowed is decided for an allow of a tool under a plan.
func (e *env) allowed(by principal.Principal, planID, tool, arguments string) string {
	e.T.Helper()
	return e.decided(by, verdict.Allow, planID, "srv", tool, arguments)
}

// report sends rows and wants an answer for each.
func (e *env) report(by principal.Principal, rows ...string) []execution.Reported {
	e.T.Helper()
	var raw []jsontext.Value
	for _, row := range rows {
		raw = append(raw, jsontext.Value(row))
	}
	answers, err := e.service.Report(e.T.Context(), by, raw)
	if err != nil || len(answers) != len(rows) {
		e.T.Fatalf("report: %+v, %v", answers, err)
	}
	return answers
}

// ran reports one execution that must be taken, and gives its id.
func (e *env) ran(by principal.Principal, row string) string {
	e.T.Helper()
	answer := e.report(by, row)[0]
	if answer.Problem != "" {
		e.T.Fatalf("report %s: %s", row, answer.Problem)
	}
	return answer.ID
}

func (e *env) reconcile() {
	e.T.Helper()
	if err := e.service.Reconcile(e.T.Context()); err != nil {
		e.T.Fatalf("reconcile: %v", err)
	}
}

// findings are what acme has, oldest first, in few words.
func (e *env) findings() (words []string) {
	e.T.Helper()
	found, err := e.service.Findings(e.T.Context(), e.owner, execution.FindingFilter{Limit: 200})
	if err != nil {
		e.T.Fatal(err)
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

func (e *env) wantFindings(want ...string) {
	e.T.Helper()
	if got := strings.Join(e.findings(), ", "); got != strings.Join(want, ", ") {
		e.T.Errorf("findings: %s; want %s", got, strings.Join(want, ", "))
	}
}

// decisionOf is the decision an execution was matched to.
func (e *env) decisionOf(executionID string) (id string) {
	e.T.Helper()
	if err := e.DB.QueryRow(e.T.Context(), `SELECT decision_id FROM execution WHERE id = $1`,
		executionID).Scan(&id); err != nil {
		e.T.Fatal(err)
	}
	return id
}

// entries are the reports in a log.
func (e *env) entries(log string) (reports []audit.Stored) {
	e.T.Helper()
	for _, entry := range e.Entries(log) {
		if entry.Action == execution.ActionReported {
			reports = append(reports, entry)
		}
	}
	return reports
}
