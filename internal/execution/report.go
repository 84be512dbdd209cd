package execution

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"writ/internal/audit"
	"writ/internal/database"
	"writ/internal/decision"
	"writ/internal/fault"
	"writ/internal/intent/plan"
	"writ/internal/intent/scope"
	"writ/internal/principal"
	"writ/internal/toolname"
	"writ/internal/verdict"
)

// How many rows one change appends, and of how many bytes, so that decisions never
// wait long.
const (
	slice      = 50
	sliceBytes = 1 << 20
)

// Reported is the result of a row.
type Reported struct {
	ID         string
	Index      int64  // of its entry in the log
	Commitment string // the entry's leaf, in hex; empty for a duplicate
	Duplicate  bool   // it was stored before
	Problem    string // why it was refused; the rest is then empty
}

// item is a row that is not stored yet.
type item struct {
	row
	index  int           // in the request
	stated toolname.Name // as the client calls it; the row has it as calls are recorded
	by     principal.Principal
	planID string
	scope  scope.Key // of what the call returned
	heard  scope.Heard
	digest []byte
	// leaseProblem is why what the row presents is no lease.
	leaseProblem string
	// carried is the decision about a call that the proxy has carried out, and marks what looks wrong about its result.
	carried string
	marks   []Mark
}

// Report appends rows to the log of the caller's organization. A caller without a key is
// identified by the plan's token in each row. There is one answer a row; after an error
// some rows may be stored, and sending them again completes it.
func (s *Service) Report(ctx context.Context, caller principal.Principal, rows []jsontext.Value) ([]Reported, error) {
	answers := make([]Reported, len(rows))
	byLog := map[string][]*item{}
	var logs []string
	known := newPresented(s)
	for i, raw := range rows {
		if i >= MaxRows {
			answers[i].Problem = fmt.Sprintf("only the first %d rows of a request are read", MaxRows)
			continue
		}
		it, problem, err := s.prepare(ctx, caller, raw, known)
		if err != nil {
			return nil, fmt.Errorf("read a report: %w", err)
		}
		if problem != "" {
			answers[i].Problem = problem
			continue
		}
		it.index = i
		if byLog[it.by.OrgID] == nil {
			logs = append(logs, it.by.OrgID)
		}
		byLog[it.by.OrgID] = append(byLog[it.by.OrgID], it)
	}
	for _, log := range logs {
		if err := s.store(ctx, database.Ordinary, log, byLog[log], answers); err != nil {
			return nil, fmt.Errorf("store reports: %w", err)
		}
	}
	return answers, nil
}

// prepare reads a row of a client and finds what it belongs to, before any transaction.
func (s *Service) prepare(
	ctx context.Context, caller principal.Principal, raw jsontext.Value, known *presented,
) (it *item, problem string, err error) {
	r, err := parseRow(raw)
	if err != nil {
		return nil, err.Error(), nil
	}
	if it, problem, err = s.place(ctx, caller, r, known); err == nil && problem == "" {
		known.name(ctx, it)
	}
	return it, problem, err
}

// place finds what a row belongs to.
func (s *Service) place(
	ctx context.Context, caller principal.Principal, r row, known *presented,
) (it *item, problem string, err error) {
	it = &item{row: r, by: caller, stated: toolname.Name{Server: r.server, Tool: r.tool}}
	if caller.Kind == "" {
		if it.by, problem, err = known.holder(ctx, r.shown); err != nil || problem != "" {
			return nil, problem, err
		}
	}
	under, err := known.plan(ctx, it.by, r.shown)
	if err != nil {
		return nil, "", err
	}
	it.planID, it.scope = under.PlanID, it.scopeUnder(under)
	if it.heard, err = known.hears(ctx, it.by.OrgID, it.planID != ""); err != nil {
		return nil, "", err
	}
	if it.planID != "" {
		it.payload.StatedPlan = ""
	}
	it.digest = []byte{}
	if r.arguments != "" {
		if it.digest, err = s.plans.Digest(ctx, it.by.OrgID, r.arguments); err != nil {
			return nil, "", err
		}
	}
	if err := s.findLease(ctx, it); err != nil {
		return nil, "", err
	}
	// The same row by another key is another report.
	it.hash = sha256.Sum256(append([]byte(it.by.KeyID+"/"), r.hash[:]...))
	return it, "", nil
}

// scopeUnder is the scope of the plan, with what the row states where that says nothing, as decisions have it.
func (it *item) scopeUnder(under scope.Under) scope.Key {
	if under.Delegated {
		return under.Scope
	}
	known := under.Scope
	return scope.Key{
		OrgID:   it.by.OrgID,
		KeyID:   it.by.KeyID,
		Session: cmp.Or(known.Session, it.sessionID),
		Context: cmp.Or(known.Context, it.contextID),
		User:    cmp.Or(known.User, it.userID, it.payload.Email),
		Agent:   cmp.Or(known.Agent, it.agentID),
	}
}

// presented caches what the rows of one request present: mostly the same.
type presented struct {
	s       *Service
	plans   map[shownBy]scope.Under
	heard   map[heardIn]scope.Heard
	holders map[plan.Presented]holder
	names   map[calledBy]toolname.Name
}

func newPresented(s *Service) *presented {
	return &presented{
		s:       s,
		plans:   map[shownBy]scope.Under{},
		heard:   map[heardIn]scope.Heard{},
		holders: map[plan.Presented]holder{},
		names:   map[calledBy]toolname.Name{},
	}
}

type shownBy struct {
	orgID, keyID string
	shown        plan.Presented
}

type heardIn struct {
	orgID   string
	planned bool
}

type holder struct {
	principal.Principal
	problem string
}

func (p *presented) plan(
	ctx context.Context, by principal.Principal, shown plan.Presented,
) (scope.Under, error) {
	if shown.IsZero() {
		return scope.Under{}, nil
	}
	key := shownBy{by.OrgID, by.KeyID, shown}
	if found, ok := p.plans[key]; ok {
		return found, nil
	}
	found, err := p.s.plans.Reported(ctx, by.OrgID, by.KeyID, shown)
	if err == nil {
		p.plans[key] = found
	}
	return found, err
}

func (p *presented) hears(ctx context.Context, orgID string, planned bool) (scope.Heard, error) {
	key := heardIn{orgID, planned}
	if known, ok := p.heard[key]; ok {
		return known, nil
	}
	heard, err := p.s.heard(ctx, orgID, planned)
	if err == nil {
		p.heard[key] = heard
	}
	return heard, err
}

func (p *presented) holder(ctx context.Context, shown plan.Presented) (principal.Principal, string, error) {
	if found, ok := p.holders[shown]; ok {
		return found.Principal, found.problem, nil
	}
	by, err := p.s.holderOf(ctx, shown)
	found := holder{Principal: by}
	if f, ok := errors.AsType[*fault.Error](err); ok && f.Kind != fault.Unavailable {
		found.problem, err = f.Message, nil
	}
	if err == nil {
		p.holders[shown] = found
	}
	return found.Principal, found.problem, err
}

// holderOf is the key that a plan's token was issued to, if it may still report. The
// plan may have ended: calls are reported afterwards.
func (s *Service) holderOf(ctx context.Context, shown plan.Presented) (principal.Principal, error) {
	issued, err := s.plans.Issued(ctx, shown)
	if err != nil {
		return principal.Principal{}, err
	}
	key, err := s.keys.Holder(ctx, issued.KeyID)
	if err != nil {
		return principal.Principal{}, err
	}
	if !key.HasScope(principal.Audit) || key.OrgID != issued.OrgID {
		return principal.Principal{}, fault.New(fault.Unauthenticated,
			"send an API key, or the token of a plan as it was issued")
	}
	return key, nil
}

// store appends the rows of one log, slice by slice.
func (s *Service) store(
	ctx context.Context, lane database.Lane, log string, items []*item, answers []Reported,
) error {
	for len(items) > 0 {
		some := items[:sliceOf(items)]
		items = items[len(some):]
		err := s.db.Write(ctx, database.Change{Lane: lane, Logs: []string{log}, Do: func(
			ctx context.Context, tx *database.Tx,
		) error {
			for _, it := range some {
				answer, err := s.keep(ctx, tx, it)
				if err != nil {
					return err
				}
				answers[it.index] = answer
			}
			return nil
		}})
		if err != nil {
			return err
		}
	}
	return nil
}

// sliceOf is how many of the rows go into the next change, at least one.
func sliceOf(items []*item) int {
	size := 0
	for i, it := range items[:min(len(items), slice)] {
		size += len(it.payload.Input) + len(it.payload.Output)
		if it.output != nil {
			size += len(*it.output) // which is sealed whole
		}
		if i > 0 && size > sliceBytes {
			return i
		}
	}
	return min(len(items), slice)
}

// keep appends a row, unless it is in the log.
func (s *Service) keep(ctx context.Context, tx *database.Tx, it *item) (Reported, error) {
	known, err := findByHash(ctx, tx, it.by.OrgID, it.hash)
	if err != nil || known.ID != "" {
		return known, err
	}
	id := database.NewID()
	added, err := s.log.Append(ctx, tx, audit.Entry{
		Log: it.by.OrgID, Action: ActionReported, Actor: it.by, Subject: audit.Subject{Type: "execution", ID: id},
		Decision: audit.Decision{Agent: it.agentID, Tool: it.tool, Plan: it.planID}, Payload: it.payload,
		Observation: true,
	})
	if err != nil {
		return Reported{}, err
	}
	taken, err := s.take(ctx, tx, it, added.Index)
	if err != nil {
		return Reported{}, err
	}
	if err := insertExecution(ctx, tx, id, added.Index, it, taken); err != nil {
		return Reported{}, fmt.Errorf("store a report: %w", err)
	}
	if err := s.compareWithPlan(ctx, tx, id, added.Index, it); err != nil {
		return Reported{}, fmt.Errorf("compare a report with its plan: %w", err)
	}
	if err := findRefusal(ctx, tx, id, added.Index, it); err != nil {
		return Reported{}, err
	}
	if err := findAlarm(ctx, tx, id, added.Index, it); err != nil {
		return Reported{}, err
	}
	if err := findMarks(ctx, tx, id, added.Index, it); err != nil {
		return Reported{}, err
	}
	if err := s.compareWithLease(ctx, tx, id, added.Index, it); err != nil {
		return Reported{}, fmt.Errorf("compare a report with its lease: %w", err)
	}
	return Reported{ID: id, Index: added.Index, Commitment: hex.EncodeToString(added.Leaf[:])}, nil
}

// compareWithPlan makes a finding of a report with other arguments than its step was allowed by, and ends the plan. A
// report that states no arguments, or says that nothing ran, is no such finding.
func (s *Service) compareWithPlan(ctx context.Context, tx *database.Tx, id string, position int64, it *item) error {
	if it.planID == "" || it.arguments == "" || !it.statesInput || it.status == Blocked {
		return nil
	}
	args, err := plan.ParseArguments([]byte(it.arguments))
	if err != nil {
		return nil // no arguments of a call
	}
	other, err := s.plans.EndIfOther(ctx, tx, it.by, it.planID, plan.Call{Tool: it.stated.Tool, Arguments: args},
		func(steps []int) (bool, error) { return isDecided(ctx, tx, it, steps) })
	if err != nil || !other {
		return err
	}
	return insertFinding(ctx, tx, it.finding(tx, OtherArguments, id, position))
}

// AlarmOtherArguments is the alarm of a client that saw its host execute other arguments than were decided.
const AlarmOtherArguments = "other_arguments"

// findAlarm makes a finding of a call that its own client found to be another than the decided one. A call without any
// decision needs no such word: reconciling finds it.
func findAlarm(ctx context.Context, tx *database.Tx, id string, position int64, it *item) error {
	if it.alarm != AlarmOtherArguments || it.status == Blocked {
		return nil
	}
	f := it.finding(tx, OtherArguments, id, position)
	f.Detail = "the host executed other arguments than were decided"
	return insertFinding(ctx, tx, f)
}

// finding is a finding about the report.
func (it *item) finding(tx *database.Tx, kind Kind, id string, position int64) Finding {
	happened := it.executedAt
	if happened.IsZero() {
		happened = tx.Now()
	}
	return Finding{
		OrgID:       it.by.OrgID,
		Kind:        kind,
		HappenedAt:  happened,
		Position:    position,
		KeyID:       it.by.KeyID,
		AgentID:     it.agentID,
		SessionID:   it.sessionID,
		PlanID:      it.planID,
		Tool:        it.stated.Tool,
		ExecutionID: id,
	}
}

// isDecided reports whether these steps were allowed with their arguments at least as often as the plan has reports
// with those of the row, the row included.
func isDecided(ctx context.Context, tx *database.Tx, it *item, steps []int) (bool, error) {
	tallies, err := decision.TallyOf(ctx, tx, it.by.OrgID, it.planID)
	if err != nil {
		return false, err
	}
	var allowed, reported int64
	for _, t := range tallies {
		if step, err := strconv.Atoi(t.Step); err == nil && t.Verdict == verdict.Allow && slices.Contains(steps, step) {
			allowed += t.Count
		}
	}
	err = tx.QueryRow(ctx, `
		SELECT COUNT(*)
		FROM execution
		WHERE org_id = $1 AND plan_id = $2 AND digest = $3 AND status <> $4`,
		it.by.OrgID, it.planID, it.digest, Blocked).Scan(&reported)
	return err == nil && reported <= allowed, database.Wrap(err, "count the reports of plan %s", it.planID)
}

func findByHash(ctx context.Context, tx *database.Tx, orgID string, hash [sha256.Size]byte) (Reported, error) {
	found := Reported{Duplicate: true}
	err := tx.Prepared().QueryRow(ctx, `
		SELECT id, position
		FROM execution
		WHERE org_id = $1 AND row_hash = $2`, orgID, hash[:]).Scan(&found.ID, &found.Index)
	return found, database.OrMissing(err, nil, "find a report")
}

func insertExecution(ctx context.Context, tx *database.Tx, id string, position int64, it *item, taken string) error {
	now := database.Micros(tx.Now())
	executed := now
	if !it.executedAt.IsZero() {
		executed = database.Micros(it.executedAt)
	}
	var seq any
	if it.seq != nil {
		seq = *it.seq
	}
	confined, err := it.confinedText()
	if err != nil {
		return err
	}
	_, err = tx.Prepared().Exec(ctx, `
		INSERT INTO execution (id, org_id, position, row_hash, received_at, executed_at, key_id, plan_id, session_id, agent_id, user_id,
			server, tool, step, digest, status, seq, confined, decision_id, lease_id,
			called)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21)`,
		id, it.by.OrgID, position, it.hash[:], now, executed, it.by.KeyID, it.planID, it.sessionID, it.agentID,
		it.userID,
		it.server, it.tool, it.step, it.digest, it.status, seq, confined, taken, it.payload.Lease,
		it.payload.SpelledAs)
	return err
}
