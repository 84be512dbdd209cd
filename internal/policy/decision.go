package policy

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"writ/internal/database"
	"writ/internal/verdict"
)

// DecisionRecord is what was decided about a call, as it is kept: enough to
// show it, to count it, to find it again in the audit log, and to judge the
// same call by another policy later. Empty text is what is not known.
type DecisionRecord struct {
	ID            string
	OrgID         string
	At            time.Time // InsertDecision sets it to the transaction's
	AuditPosition int64     // its entry in the organization's log
	Generation    int64     // of the organization when it was decided

	KeyID       string
	UserID      string
	AgentID     string
	SessionID   string
	PlanID      string
	Step        string
	Environment string
	Server      string
	Tool        string
	Labels      []string

	// ArgumentsDigest is over the canonical arguments as they were judged. Call is
	// the JSON of what was judged, with what must not be kept redacted; nil where
	// none is kept. Redacted says that it lacks something: a replay that needs it
	// does not know.
	ArgumentsDigest []byte
	Call            json.RawMessage
	Redacted        bool

	// What decided: a policy, or one of the reserved ids below.
	Verdict       verdict.Verdict
	PolicyID      string
	PolicyName    string
	PolicyVersion int
	Rule          string
	Reason        string
	Message       string
	Explanation   json.RawMessage // matched values, conditions that failed, what shadows would have said
	Claims        json.RawMessage // what it took from limits
	RequestID     string          // of the approval a hold asks for, or whose grant it used
	Duration      time.Duration
}

// Who decided where no policy did.
const (
	ByAgent    = "writ:agent"    // the agent is killed or suspended
	ByIntent   = "writ:intent"   // the call is not in the plan
	ByApproval = "writ:approval" // a grant or temporary allow
	ByDefault  = "writ:default"  // no policy counts
)

// InsertDecision stores a decision within the transaction that records it in the
// log, and is complete before it: what is left out is filled with what stands
// for nothing.
func InsertDecision(ctx context.Context, tx *database.Tx, d DecisionRecord) error {
	if !database.IsID(d.ID) || d.OrgID == "" || d.PolicyID == "" || d.Reason == "" {
		return fmt.Errorf("store decision %s: it lacks an id, an organization, what decided, or a reason", d.ID)
	}
	labels, err := json.Marshal(orNone(d.Labels))
	if err != nil {
		return fmt.Errorf("store decision %s: its labels: %w", d.ID, err)
	}
	redacted := 0
	if d.Redacted {
		redacted = 1
	}
	digest := d.ArgumentsDigest
	if digest == nil {
		digest = []byte{}
	}
	_, err = tx.ExecOften(ctx, `
		INSERT INTO decision (
			id, org_id, decided_at, audit_position, generation,
			key_id, user_id, agent_id, session_id, plan_id, step, environment, server, tool, labels,
			arguments_digest, call, redacted,
			verdict, policy_id, policy_name, policy_version, rule, reason, message,
			explanation, claims, request_id, duration_us
		) VALUES (
			$1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15,
			$16, $17, $18, $19, $20, $21, $22, $23, $24, $25, $26, $27, $28, $29
		)`,
		d.ID, d.OrgID, database.Micros(tx.Now()), d.AuditPosition, d.Generation,
		d.KeyID, d.UserID, d.AgentID, d.SessionID, d.PlanID, d.Step, d.Environment, d.Server, d.Tool, string(labels),
		digest, database.OptionalText(string(d.Call)), redacted,
		d.Verdict.String(), d.PolicyID, d.PolicyName, d.PolicyVersion, d.Rule, d.Reason, d.Message,
		jsonOr(d.Explanation, "{}"), jsonOr(d.Claims, "[]"), d.RequestID, d.Duration.Microseconds())
	if err != nil {
		return fmt.Errorf("store decision %s: %w", d.ID, err)
	}
	return nil
}

func jsonOr(text json.RawMessage, otherwise string) string {
	if len(text) == 0 {
		return otherwise
	}
	return string(text)
}

// ReadDecisions reads up to limit decisions of an organization in the order of
// its log, from a position on: how replay and projection follow them.
func ReadDecisions(ctx context.Context, r database.Reader, orgID string, from int64, limit int) ([]DecisionRecord, error) {
	decisions, err := database.Collect(ctx, r, scanDecision, `
		SELECT
			id, org_id, decided_at, audit_position, generation,
			key_id, user_id, agent_id, session_id, plan_id, step, environment, server, tool, labels,
			arguments_digest, COALESCE(call, ''), redacted,
			verdict, policy_id, policy_name, policy_version, rule, reason, message,
			explanation, claims, request_id, duration_us
		FROM decision
		WHERE org_id = $1 AND audit_position >= $2
		ORDER BY audit_position
		LIMIT $3`, orgID, from, limit)
	if err != nil {
		return nil, fmt.Errorf("read decisions from %d: %w", from, err)
	}
	return decisions, nil
}

func scanDecision(s database.Scanner) (d DecisionRecord, err error) {
	var at, redacted, duration int64
	var labels, call, word, explanation, claims string
	err = s.Scan(
		&d.ID, &d.OrgID, &at, &d.AuditPosition, &d.Generation,
		&d.KeyID, &d.UserID, &d.AgentID, &d.SessionID, &d.PlanID, &d.Step, &d.Environment, &d.Server, &d.Tool, &labels,
		&d.ArgumentsDigest, &call, &redacted,
		&word, &d.PolicyID, &d.PolicyName, &d.PolicyVersion, &d.Rule, &d.Reason, &d.Message,
		&explanation, &claims, &d.RequestID, &duration)
	if err != nil {
		return DecisionRecord{}, err
	}
	d.At, d.Redacted, d.Duration = database.Time(at), redacted != 0, time.Duration(duration)*time.Microsecond
	d.Explanation, d.Claims = json.RawMessage(explanation), json.RawMessage(claims)
	if call != "" {
		d.Call = json.RawMessage(call)
	}
	if err := json.Unmarshal([]byte(labels), &d.Labels); err != nil {
		return DecisionRecord{}, fmt.Errorf("labels of decision %s: %w", d.ID, err)
	}
	if d.Verdict, err = verdict.Parse(word); err != nil {
		return DecisionRecord{}, fmt.Errorf("verdict of decision %s: %w", d.ID, err)
	}
	return d, nil
}
