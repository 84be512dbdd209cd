// Package projection shows Writ's own decisions in telemetry.
//
// A decision is stored once, as an entry of its organization's log. The Projector follows the logs of organizations from where it stopped, a
// slice at a time, and writes each decision as a policy_call span into the
// telemetry store, where the aggregates of policies have their one source.
//
// Each happens once: how far a log is written is kept in the telemetry store, and
// moves in the very transaction that writes the spans. Any replica may do it; of
// two that do it at once one finds that the position has moved, and writes nothing.
//
// Spans stand in one trace a plan, or an agent and hour where there is no plan:
// one trace a decision would drown what agents themselves report. A plan that is
// used on two days (UTC) has a trace for each, because retention removes whole
// days. Such a trace grows while decisions come.
//
// Telemetry may be behind decisions by the interval at which Run is called, and
// is never needed to make one.
package projection

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"

	"writ/internal/audit"
	"writ/internal/database"
	"writ/internal/decision"
	"writ/internal/observability"
	"writ/internal/verdict"
)

// slice is how many decisions one change of telemetry takes.
const slice = 500

// Projector follows the logs of all organizations. Run is for one goroutine.
type Projector struct {
	db        *database.DB // with the decisions
	telemetry *observability.Service
	seen      map[string]int64 // size of a log in which nothing more was found
	complete  atomic.Int64     // until when all decisions are known to be written, in microseconds
}

// New makes a projector from the main store to telemetry.
func New(db *database.DB, telemetry *observability.Service) *Projector {
	p := &Projector{db: db, telemetry: telemetry, seen: map[string]int64{}}
	p.complete.Store(database.Micros(db.Now()))
	return p
}

// Behind is how far telemetry may be behind decisions: how long ago this process
// last began to look and found, or wrote, the end of every log.
func (p *Projector) Behind() time.Duration {
	return max(0, p.db.Now().Sub(database.Time(p.complete.Load())))
}

// Run writes all that was decided and is not in telemetry yet. A log at which it
// fails does not keep back the others.
func (p *Projector) Run(ctx context.Context) error {
	began, all := p.db.Now(), true
	var failed []error
	heads, err := audit.ReadHeads(ctx, p.db)
	if err != nil {
		return err
	}
	positions, err := p.telemetry.Positions(ctx)
	if err != nil {
		return err
	}
	for _, head := range heads {
		if head.Log == audit.System || p.seen[head.Log] == head.Size {
			continue
		}
		end, err := p.follow(ctx, head, positions[head.Log])
		if err != nil {
			failed = append(failed, fmt.Errorf("project the decisions of %s: %w", head.Log, err))
		}
		all = all && end && err == nil
	}
	if all {
		p.complete.Store(database.Micros(began))
	}
	return errors.Join(failed...)
}

// follow writes the decisions of one log, from a position on, and reports whether
// it came to the end: it leaves off where another replica is at it.
func (p *Projector) follow(ctx context.Context, head audit.Head, at observability.Position) (end bool, err error) {
	for {
		next, err := p.rewound(ctx, head, at)
		if err != nil {
			return false, err
		}
		decisions, err := decision.Read(ctx, p.db, head.Log, next.Next, slice)
		if err != nil {
			return false, err
		}
		if len(decisions) == 0 {
			p.seen[head.Log] = head.Size
			return true, nil
		}
		next.Next = decisions[len(decisions)-1].Index + 1
		moved, err := p.telemetry.Grow(ctx, head.Log, at, next, traces(decisions))
		if err != nil || !moved {
			return false, err
		}
		at = next
	}
}

// rewound is a position in the present epoch of the log. After a restore the log
// has other decisions from there on than those telemetry has seen.
func (p *Projector) rewound(ctx context.Context, head audit.Head, at observability.Position) (observability.Position, error) {
	if at.Epoch == head.Epoch {
		return at, nil
	}
	restored, err := audit.LastRestore(ctx, p.db, head.Log)
	return observability.Position{Next: min(at.Next, restored), Epoch: head.Epoch}, err
}

// traces groups decisions, in the order in which their traces first appear.
func traces(decisions []decision.Record) []observability.GrowingTrace {
	var grouped []observability.GrowingTrace
	index := map[string]int{}
	for i := range decisions {
		d := &decisions[i]
		id := traceID(d)
		at, ok := index[id]
		if !ok {
			at = len(grouped)
			index[id] = at
			grouped = append(grouped, observability.GrowingTrace{
				ID: id, Name: "writ.plan", Source: "writ", UserID: ifID(d.UserID), AgentID: d.AgentID,
			})
		}
		grouped[at].Spans = append(append(grouped[at].Spans, span(d)), shadowSpans(d)...)
	}
	return grouped
}

// traceID is the trace a decision belongs to.
func traceID(d *decision.Record) string {
	at := d.At.UTC()
	if d.PlanID != "" {
		return derived(d.OrgID, "plan", d.PlanID, at.Format(time.DateOnly))
	}
	return derived(d.OrgID, "agent", d.AgentID, at.Format("2006-01-02T15"))
}

// IDs are those of the trace and the span that show a decision, for who shows it
// elsewhere.
func IDs(d *decision.Record) (trace, span string) { return traceID(d), spanID(d) }

func spanID(d *decision.Record) string { return derived(d.OrgID, "decision", d.ID) }

// derived is the UUIDv5 of what something is, within its organization.
func derived(orgID string, parts ...string) string {
	name, err := json.Marshal(parts) // so that no part runs into the next
	if err != nil {
		name = fmt.Appendf(nil, "%q", parts)
	}
	space := uuid.NewSHA1(uuid.NameSpaceURL, []byte("writ:organization:"+orgID))
	return uuid.NewSHA1(space, name).String()
}

// attributes are what a span tells of a decision. Arguments are not among them.
type attributes struct {
	PolicyID      string `json:"policyId"`
	PolicyName    string `json:"policyName"`
	PolicyVersion int    `json:"policyVersion,omitzero"`
	Decision      string `json:"decision"`
	MatchedRuleID string `json:"matchedRuleId,omitzero"`
	Reason        string `json:"reason"`
	ToolName      string `json:"toolName"`
	Server        string `json:"server"`
	DecisionID    string `json:"decisionId"`
	AuditIndex    int64  `json:"auditIndex"`
	PlanID        string `json:"planId,omitzero"`
	Step          string `json:"step,omitzero"`
	SessionID     string `json:"sessionId,omitzero"`
	ApprovalID    string `json:"approvalId,omitzero"`
	DurationUs    int64  `json:"durationUs"`
}

func span(d *decision.Record) observability.GrownSpan {
	text, err := json.Marshal(attributes{
		PolicyID: d.PolicyID, PolicyName: d.PolicyName, PolicyVersion: d.PolicyVersion, Decision: d.Verdict.String(), MatchedRuleID: d.Rule,
		Reason: d.Reason, ToolName: d.Tool, Server: d.Server, DecisionID: d.ID, AuditIndex: d.Index, PlanID: d.PlanID,
		Step: d.Step, SessionID: d.SessionID, ApprovalID: d.ApprovalID, DurationUs: d.Duration.Microseconds(),
	})
	if err != nil {
		text = []byte("{}") // a text that is no UTF-8; the columns tell what counts
	}
	return observability.GrownSpan{
		ID: spanID(d), SessionID: ifID(d.SessionID), Kind: "policy_call", Name: "writ." + d.Verdict.String(),
		Start: d.At.Add(-d.Duration), End: d.At, Denied: d.Verdict == verdict.Deny, Attributes: string(text),
		PolicyID: d.PolicyID, PolicyName: d.PolicyName, Decision: d.Verdict.String(), RuleID: d.Rule,
	}
}

// ifID is a text where telemetry has ids.
func ifID(text string) string {
	if database.IsID(text) {
		return text
	}
	return ""
}
