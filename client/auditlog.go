package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
)

// ExecutionReported is the answer to a report of a call that was executed.
type ExecutionReported struct {
	AuditID    string `json:"audit_id"`
	SyncStatus string `json:"iap_sync_status"`
	AuditIndex *int64 `json:"iap_audit_index"`
	Commitment string `json:"iap_commitment"`
	Duplicate  bool   `json:"duplicate"`
	Error      string `json:"error"`
}

// ExecutionsReported is the answer to a batch of reports.
type ExecutionsReported struct {
	Written    int                `json:"written"`
	Duplicates int                `json:"duplicates"`
	Failures   []ExecutionFailure `json:"failures"`
}

// ExecutionFailure is a report of a batch that was not accepted.
type ExecutionFailure struct {
	Index int    `json:"index"`
	Error string `json:"error"`
}

// Confined is what a report says that a call was confined to.
type Confined struct {
	Confinement
	Held []string `json:"held"` // the limits that the kernel held: write, read, net
}

// Execution is a report of a call, in one of the published shapes.
type Execution struct {
	Tool       string          `json:"tool"`
	Input      json.RawMessage `json:"input,omitempty"`
	Output     json.RawMessage `json:"output,omitempty"`
	Status     string          `json:"status"`
	ExecutedAt time.Time       `json:"executed_at"`
	SessionID  string          `json:"session_id,omitempty"`
	Confined   *Confined       `json:"confined,omitempty"`
	Refused    []string        `json:"refused,omitempty"` // what the kernel refused, in words
}

// ReportExecution reports a call that was executed, in any published shape.
func (c *Client) ReportExecution(ctx context.Context, row any) (ExecutionReported, error) {
	return post[ExecutionReported](ctx, c, "/iap/audit", nil, row)
}

// ReportExecutions reports several calls.
func (c *Client) ReportExecutions(
	ctx context.Context, rows ...json.RawMessage,
) (ExecutionsReported, error) {
	return post[ExecutionsReported](ctx, c, "/iap/audit/batch", nil, map[string]any{"rows": rows})
}

// LogEntry is an entry of an audit log.
type LogEntry struct {
	Index    int64           `json:"index"`
	Time     time.Time       `json:"time"`
	Action   string          `json:"action"`
	Subject  LogSubject      `json:"subject"`
	Agent    string          `json:"agent"`
	Server   string          `json:"server"`
	Tool     string          `json:"tool"`
	Decision string          `json:"decision"`
	Plan     string          `json:"plan"`
	Session  string          `json:"session"`
	Policy   string          `json:"policy"`
	Rule     string          `json:"rule"`
	Reason   string          `json:"reason"` // of a decision, for those who may read payloads
	Record   string          `json:"record"`
	Leaf     string          `json:"leaf"`
	Payload  json.RawMessage `json:"payload"`
	Altered  string          `json:"altered"` // why it must not be taken for what was recorded; empty: it is
	Salt     string          `json:"salt"`
	Receipt  json.RawMessage `json:"receipt"` // of one entry

	PayloadText string `json:"payloadText"` // of one entry: the payload byte for byte
}

// LogSubject is what an entry is about.
type LogSubject struct {
	Type string `json:"type"`
	ID   string `json:"id"`
}

// LogFilter chooses entries of an audit log. An empty field chooses all.
type LogFilter struct {
	From, Until                                time.Time
	Agent, Tool, Decision, Plan, Action, Actor string // Decision may be a list with commas
	Server, Session, Policy, Rule              string
	List
}

// LogEntries is a page of an organization's audit log, newest first.
func (c *Client) LogEntries(ctx context.Context, orgID string, f LogFilter) (Page[LogEntry], error) {
	return get[Page[LogEntry]](ctx, c, "/audit-log/entries", f.with("organizationId", orgID,
		"from", f.From, "until", f.Until, "agent", f.Agent, "tool", f.Tool, "decision", f.Decision,
		"plan", f.Plan, "action", f.Action, "actor", f.Actor, "server", f.Server, "session", f.Session,
		"policy", f.Policy, "rule", f.Rule))
}

// LogEntry is one entry with its proof.
func (c *Client) LogEntry(ctx context.Context, orgID string, index int64) (LogEntry, error) {
	return get[LogEntry](ctx, c, fmt.Sprintf("/audit-log/entries/%d", index), inOrg(orgID))
}

// ErasePayload erases the payload of an entry.
func (c *Client) ErasePayload(ctx context.Context, orgID string, index int64, reason string) error {
	return c.do(ctx, fmt.Sprintf("/audit-log/entries/%d/erase", index), inOrg(orgID),
		map[string]string{"reason": reason})
}

// LogCheckpoint is the signed checkpoint of an audit log.
func (c *Client) LogCheckpoint(ctx context.Context, orgID string) (string, error) {
	out, err := get[struct{ Checkpoint string }](ctx, c, "/audit-log/checkpoint", inOrg(orgID))
	return out.Checkpoint, err
}

// LogKeys are the keys that checkpoints are verified with, newest first.
func (c *Client) LogKeys(ctx context.Context, orgID string) ([]string, error) {
	out, err := get[struct{ Keys []string }](ctx, c, "/audit-log/key", inOrg(orgID))
	return out.Keys, err
}

// InclusionProof proves that an entry is in the log of a size.
func (c *Client) InclusionProof(ctx context.Context, orgID string, index, size int64) ([][]byte, error) {
	return c.proof(ctx, "inclusion", orgID, "index", index, size)
}

// ConsistencyProof proves that the log of a size begins with an earlier one.
func (c *Client) ConsistencyProof(ctx context.Context, orgID string, from, size int64) ([][]byte, error) {
	return c.proof(ctx, "consistency", orgID, "from", from, size)
}

func (c *Client) proof(ctx context.Context, kind, orgID, name string, number, size int64) ([][]byte, error) {
	q := query("organizationId", orgID, name, &number, "size", &size) // also where they are 0
	out, err := get[struct{ Proof [][]byte }](ctx, c, "/audit-log/proof/"+kind, q)
	return out.Proof, err
}

// Finding is a mismatch between decisions and reports.
type Finding struct {
	ID          string     `json:"id"`
	Kind        string     `json:"kind"`
	FoundAt     time.Time  `json:"foundAt"`
	HappenedAt  time.Time  `json:"happenedAt"`
	Index       int64      `json:"index"`
	KeyID       string     `json:"keyId"`
	AgentID     string     `json:"agentId"`
	SessionID   string     `json:"sessionId"`
	PlanID      string     `json:"planId"`
	Tool        string     `json:"tool"`
	DecisionID  string     `json:"decisionId"`
	ExecutionID string     `json:"executionId"`
	FirstSeq    int64      `json:"firstSeq"`
	LastSeq     int64      `json:"lastSeq"`
	Missing     int64      `json:"missing"`
	Detail      string     `json:"detail"`
	ResolvedAt  *time.Time `json:"resolvedAt"`
}

// Findings is a page of an organization's findings, newest first; of one kind
// where one is named.
func (c *Client) Findings(ctx context.Context, orgID, kind string, l List) (Page[Finding], error) {
	return get[Page[Finding]](ctx, c, "/audit-log/findings", l.with("organizationId", orgID, "kind", kind))
}

// Finding reads one finding of an organization.
func (c *Client) Finding(ctx context.Context, orgID, id string) (Finding, error) {
	return get[Finding](ctx, c, "/audit-log/findings/"+segment(id), inOrg(orgID))
}

// ExportLog is the audit log of an organization as NDJSON, from an entry on. The
// caller closes it. Nothing of it can be trusted before all of it is verified.
func (c *Client) ExportLog(ctx context.Context, orgID string, since int64) (io.ReadCloser, error) {
	return c.download(ctx, "/audit-log/export", query("organizationId", orgID, "since", max(since, 0)))
}

// LogProblem is a difference between an audit log and what its server has stored.
type LogProblem struct {
	Log     string `json:"log"`
	Kind    string `json:"kind"`    // head, entry, search, payload, tile or policy
	Entries string `json:"entries"` // indexes, such as 7 or 3-17; empty: none
	Message string `json:"message"`
}

// LogCheck is what a server found when it compared a log with what it has stored.
type LogCheck struct {
	Entries  int64 // that were read
	Problems []LogProblem
}

// maxLogProblems is how many problems CheckLog keeps.
const maxLogProblems = 10_000

// CheckLog has the server compare the audit log of an organization with what it has stored
// beside it, which an export does not hold: what entries are found by, and policies.
func (c *Client) CheckLog(ctx context.Context, orgID string) (LogCheck, error) {
	body, err := c.download(ctx, "/audit-log/check", query("organizationId", orgID))
	if err != nil {
		return LogCheck{}, err
	}
	defer body.Close()
	var check LogCheck
	lines := json.NewDecoder(body)
	for {
		var raw json.RawMessage
		if err := lines.Decode(&raw); err != nil {
			return LogCheck{}, errors.New("the server did not finish the check")
		}
		var end struct {
			Problems *int  `json:"problems"`
			Entries  int64 `json:"entries"`
		}
		if json.Unmarshal(raw, &end) == nil && end.Problems != nil {
			check.Entries = end.Entries
			return check, nil
		}
		var problem LogProblem
		if err := json.Unmarshal(raw, &problem); err != nil {
			return LogCheck{}, errors.New("the server did not finish the check")
		}
		if len(check.Problems) < maxLogProblems {
			check.Problems = append(check.Problems, problem)
		}
	}
}
