package enforcement_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"writ/internal/agent"
	"writ/internal/apikey"
	"writ/internal/approval"
	"writ/internal/audit"
	"writ/internal/audit/ledger"
	"writ/internal/certificate"
	"writ/internal/database"
	"writ/internal/decision"
	"writ/internal/enforcement"
	"writ/internal/intent"
	"writ/internal/intent/plan"
	"writ/internal/intent/scope"
	"writ/internal/keyring"
	"writ/internal/mcp"
	"writ/internal/organization"
	"writ/internal/policy"
	"writ/internal/policy/document"
	"writ/internal/principal"
	"writ/internal/secret"
	"writ/internal/testenv"
	"writ/internal/verdict"
)

// env is two organizations, and the services of one process.
type env struct {
	*testenv.Env
	*areas
	acme, globex string
	ada, bob     string              // ada owns the keys, bob approves
	owner        principal.Principal // ada, in acme
	agent        principal.Principal // a key of ada's in acme
	other        principal.Principal // another one
	foreign      principal.Principal // a key of ada's in globex
}

// areas are the services of one process.
type areas struct {
	db        *database.DB
	sealer    *secret.Sealer
	ring      *keyring.Ring
	audit     *audit.Service
	policies  *policy.Service
	scopes    *scope.Service
	plans     *intent.Service
	keys      *apikey.Service
	approvals *approval.Service
	agents    *agent.Service
	certs     *certificate.Service
	decisions *enforcement.Service
	mcp       *mcp.Service
	offered   offered // by the MCP servers
	meanwhile meanwhile
	found     []foundAt
	brokenOrg string                 // whose spending cannot be read
	trips     atomic.Int64           // that people were notified of
	awayIn    atomic.Pointer[string] // the organization in which nothing can be stopped
}

func each(t *testing.T, body func(t *testing.T, e *env)) {
	t.Helper()
	testenv.Each(t, func(t *testing.T, base *testenv.Env) { body(t, newEnvOn(t, base)) })
}

func newEnv(t testing.TB, o database.Options) *env {
	t.Helper()
	return newEnvOn(t, testenv.New(t, o))
}

func newEnvOn(t testing.TB, base *testenv.Env) *env {
	t.Helper()
	e := &env{Env: base, areas: open(t, base.DB)}
	e.acme, e.globex = e.Organization("Acme"), e.Organization("Globex")
	e.ada, e.bob = e.User("ada@example.org"), e.User("bob@example.org")
	for _, org := range []string{e.acme, e.globex} {
		e.Member(org, e.ada, principal.Owner)
	}
	e.owner = testenv.Person(e.ada, e.acme, principal.Owner)
	e.agent, e.other, e.foreign = e.key(e.ada, e.acme), e.key(e.ada, e.acme), e.key(e.ada, e.globex)
	return e
}

// open makes the services of one more process on the database.
func open(t testing.TB, db *database.DB) *areas {
	t.Helper()
	a, err := assemble(t.Context(), db)
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	return a
}

func assemble(ctx context.Context, db *database.DB) (*areas, error) {
	sealer, err := secret.NewSealer(bytes.Repeat([]byte{1}, secret.MasterKeySize))
	if err != nil {
		return nil, err
	}
	log, err := audit.Open(ctx, db, func(ctx context.Context, log *audit.Log) (ed25519.PrivateKey, error) {
		key, err := keyring.New(db, log, sealer).Current(ctx, keyring.Checkpoint)
		return key.Private, err
	}, nil)
	if err != nil {
		return nil, err
	}
	return assembleOn(db, log, sealer), nil
}

// assembleOn makes the services anew: they have cached nothing yet.
func assembleOn(db *database.DB, log *audit.Log, sealer *secret.Sealer) *areas {
	a := &areas{db: db, sealer: sealer, audit: audit.New(log, approval.EraseArguments)}
	a.scopes = scope.New(db, sealer)
	a.ring, a.keys = keyring.New(db, log, sealer),
		apikey.New(db, log, slog.New(slog.DiscardHandler), agent.CarryBindings)
	a.plans, a.policies = intent.New(db, log, a.ring, sealer, a.scopes, intent.Agents{Ended: agent.PlanEnded}),
		policy.New(db, log, &a.meanwhile, policy.ProposalNotifier{})
	a.approvals = approval.New(db, log, approval.Sources{
		Approvers:  organization.CountApprovers,
		Role:       organization.RoleOf,
		Address:    organization.Address,
		Digest:     a.digest,
		Ended:      agent.EndedBefore,
		Delegators: intent.OwnersOf,
		Answered:   a.answered,
	})
	a.certs = certificate.New(certificate.Options{
		Database: db, Log: log, Sealer: sealer, Sources: certificate.Sources{Agent: agent.RequireActive},
	})
	a.agents = agent.New(db, log, agent.Sources{
		Certified:    a.certs.StandsFor,
		Role:         organization.RoleOf,
		MissingKey:   apikey.Missing,
		MadeFrom:     apikey.MadeFrom,
		FindingKinds: []string{"sequence_gap"},
		Findings:     a.findings,
		Spent:        a.spent,
		LeaseKey:     a.plans.LeaseKey,
		Tripped:      a.noteTrip,
	})
	a.decisions = decisionsOn(a, a.approvals)
	return a
}

func decisionsOn(a *areas, approvals *approval.Service) *enforcement.Service {
	log := a.audit.Log
	return enforcement.New(enforcement.Options{
		Database:  a.db,
		Log:       log,
		Policies:  a.policies,
		Plans:     a.plans,
		Scopes:    a.scopes,
		Approvals: approvals,
		People:    organization.New(a.db, log, nil, "", nil),
		Keys:      a.keys,
		Agents:    a.agents,
		Servers:   a.servers(),
		Logger:    slog.New(slog.DiscardHandler),
	})
}

func (a *areas) digest(ctx context.Context, orgID, canonical string) ([]byte, error) {
	digester, err := a.plans.Digester(ctx, orgID)
	sum := digester.Arguments(canonical)
	return sum[:], err
}

// meanwhile runs something, once, while a call is judged and before it is
// recorded: when the rule asksMeanwhile asks what was spent.
type meanwhile struct {
	do    atomic.Pointer[func()]
	nanos atomic.Int64 // that everybody has spent
	away  atomic.Bool  // nobody can tell
}

const asksMeanwhile = `id: meanwhile; effect: deny; tools: ["*"]; limit: {cost: 5, per: 1h, by: org}`

func (m *meanwhile) Spent(
	context.Context, string, document.Subject, string, time.Time,
) (nanos, tokens int64, err error) {
	if do := m.do.Swap(nil); do != nil {
		(*do)()
	}
	if m.away.Load() {
		return 0, 0, errors.New("away")
	}
	return m.nanos.Load(), 0, nil
}

func (m *meanwhile) Ping(context.Context) error {
	if m.away.Load() {
		return errors.New("away")
	}
	return nil
}

func (e *env) key(ownerID, orgID string) principal.Principal {
	e.T.Helper()
	return e.Key(ownerID, orgID, principal.Enforce, principal.RequestDelegation)
}

// active puts a policy in force: its rules in YAML flow, such as
// `{id: r, effect: allow, tools: ["*"]}`.
func (e *env) active(name string, rules ...string) policy.Full {
	e.T.Helper()
	text := "version: v1\nname: " + name + "\nrules:\n"
	for _, rule := range rules {
		text += "  - " + strings.ReplaceAll(rule, "; ", "\n    ") + "\n"
	}
	full, err := e.policies.Create(e.T.Context(), e.owner, policy.Source{Text: text, Format: document.YAML})
	if err != nil {
		e.T.Fatalf("create: %v\n%s", err, text)
	}
	if full, err = e.policies.Activate(e.T.Context(), e.owner, full.ID, policy.LatestVersion); err != nil {
		e.T.Fatalf("activate: %v", err)
	}
	return full
}

const allowAll = `id: all; effect: allow; tools: ["*"]`

// mint declares a plan for a key.
func (e *env) mint(p principal.Principal, raw string, change ...func(*intent.Request)) plan.Presented {
	e.T.Helper()
	r := intent.Request{Plan: []byte(raw)}
	for _, fn := range change {
		fn(&r)
	}
	m, err := e.plans.Mint(e.T.Context(), p, r)
	if err != nil {
		e.T.Fatalf("mint: %v", err)
	}
	return plan.Presented{
		PlanID: m.PlanID, Reference: m.IntentReference, PlanHash: m.PlanHash, Signature: m.Token.Signature,
	}
}

const twoSteps = `{"goal":"build","steps":[{"action":"read","mcp":"fs"},{"action":"bash","mcp":"sh","params":{"command":"make"}}]}`

// call is a request without a plan.
func call(server, tool, args string) enforcement.Request {
	return enforcement.Request{Server: server, Tool: tool, Arguments: []byte(args)}
}

// planned is a request that presents a plan, as an SDK sends it.
func planned(shown plan.Presented, tool, args string) enforcement.Request {
	return enforcement.Request{Tool: tool, Arguments: []byte(args), Presented: shown, TokenRequired: true}
}

func (e *env) decide(r enforcement.Request) enforcement.Answer {
	return e.decisions.Decide(e.T.Context(), e.agent, r)
}

// want checks verdict, what decided, and a part of the reason.
func want(t *testing.T, got enforcement.Answer, v verdict.Verdict, by, reason string) {
	t.Helper()
	if got.Verdict != v || !strings.Contains(got.Reason, reason) ||
		by != "" && got.PolicyID != by && got.PolicyName != by {
		t.Errorf("got %s by %s %q (%s): %s; want %s by %q: %s", got.Verdict, got.PolicyID, got.PolicyName, got.Rule,
			got.Reason, v, by, reason)
	}
	if got.Allowed() != (v == verdict.Allow && got.Recorded) {
		t.Errorf("allowed: %t with %s", got.Allowed(), got.Verdict)
	}
}

func (e *env) count(what string) int {
	e.T.Helper()
	return int(e.Number(`SELECT COUNT(*) FROM ` + what))
}

// verified checks that the log of acme exports and verifies, that every decision
// in it has its row and every row its entry, and gives how many there are.
func (e *env) verified() int {
	e.T.Helper()
	var export bytes.Buffer
	if err := e.audit.Export(e.T.Context(), &export, e.acme, audit.ExportOptions{}); err != nil {
		e.T.Fatalf("export: %v", err)
	}
	keys, err := ledger.ParseKeys(e.audit.PublicKey())
	if err != nil {
		e.T.Fatal(err)
	}
	if _, err := ledger.Verify(bytes.NewReader(export.Bytes()), ledger.Trust{Keys: keys}); err != nil {
		e.T.Fatalf("the log does not verify: %v", err)
	}
	rows, err := decision.Read(e.T.Context(), e.DB, e.acme, 0, 100_000)
	if err != nil {
		e.T.Fatal(err)
	}
	byID := map[string]int64{}
	for _, row := range rows {
		byID[row.ID] = row.Index
	}
	entries := 0
	for line := range strings.Lines(export.String()) {
		if !strings.Contains(line, decision.Action) && !strings.Contains(line, audit.Verified) {
			continue
		}
		entries++
	}
	if entries != len(rows) || len(byID) != len(rows) {
		e.T.Errorf("%d decisions in the log, %d rows, %d ids", entries, len(rows), len(byID))
	}
	return entries
}

// checkReceipt checks an answer's receipt with the ledger, and that it is for the
// entry of this decision.
func (e *env) checkReceipt(a enforcement.Answer) error {
	if a.Receipt == nil {
		return fmt.Errorf("no receipt")
	}
	keys, err := ledger.ParseKeys(e.audit.PublicKey())
	if err != nil {
		return err
	}
	entries, err := audit.ReadEntries(e.T.Context(), e.DB, a.Receipt.Log, a.Receipt.Index, 1)
	if err != nil || len(entries) != 1 {
		return fmt.Errorf("entry %d: %d, %v", a.Receipt.Index, len(entries), err)
	}
	record, err := a.Receipt.CheckRecord([]byte(entries[0].Record), keys)
	if err != nil {
		return err
	}
	if record.Subject.ID != a.DecisionID || record.Verdict != a.Verdict.String() {
		return fmt.Errorf("the receipt is for %s, %s", record.Subject.ID, record.Verdict)
	}
	return nil
}
