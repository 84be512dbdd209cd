package client

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
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

// ExecutionFailure is a report of a batch that was not taken.
type ExecutionFailure struct {
	Index int    `json:"index"`
	Error string `json:"error"`
}

// ReportExecution reports a call that was executed, in any published shape.
func (c *Client) ReportExecution(ctx context.Context, row any) (reported ExecutionReported, err error) {
	err = c.Call(ctx, http.MethodPost, "/iap/audit", nil, row, &reported)
	return reported, err
}

// ReportExecutions reports several.
func (c *Client) ReportExecutions(
	ctx context.Context, rows ...json.RawMessage,
) (reported ExecutionsReported, err error) {
	err = c.Call(ctx, http.MethodPost, "/iap/audit/batch", nil, map[string]any{"rows": rows}, &reported)
	return reported, err
}

// LogEntry is an entry of an audit log.
type LogEntry struct {
	Index    int64           `json:"index"`
	Time     time.Time       `json:"time"`
	Action   string          `json:"action"`
	Agent    string          `json:"agent"`
	Tool     string          `json:"tool"`
	Decision string          `json:"decision"`
	Plan     string          `json:"plan"`
	Record   string          `json:"record"`
	Leaf     string          `json:"leaf"`
	Payload  json.RawMessage `json:"payload"`
	Salt     string          `json:"salt"`
	Receipt  json.RawMessage `json:"receipt"` // of one entry
}

// LogFilter chooses entries of an audit log. What is empty chooses all.
type LogFilter struct {
	From, Until                                time.Time
	Agent, Tool, Decision, Plan, Action, Actor string
	List
}

// LogEntries is a page of an organization's audit log, newest first.
func (c *Client) LogEntries(ctx context.Context, orgID string, f LogFilter) (found Page[LogEntry], err error) {
	q := f.values()
	for name, value := range map[string]string{
		"organizationId": orgID, "agent": f.Agent, "tool": f.Tool, "decision": f.Decision, "plan": f.Plan,
		"action": f.Action, "actor": f.Actor,
	} {
		if value != "" {
			q.Set(name, value)
		}
	}
	for name, at := range map[string]time.Time{"from": f.From, "until": f.Until} {
		if !at.IsZero() {
			q.Set(name, at.UTC().Format(time.RFC3339Nano))
		}
	}
	err = c.Call(ctx, http.MethodGet, "/audit-log/entries", q, nil, &found)
	return found, err
}

// LogEntry is one entry with its proof.
func (c *Client) LogEntry(ctx context.Context, orgID string, index int64) (found LogEntry, err error) {
	err = c.Call(ctx, http.MethodGet, fmt.Sprintf("/audit-log/entries/%d", index), inOrganization(orgID), nil, &found)
	return found, err
}

// ErasePayload erases the payload of an entry.
func (c *Client) ErasePayload(ctx context.Context, orgID string, index int64, reason string) error {
	return c.Call(ctx, http.MethodPost, fmt.Sprintf("/audit-log/entries/%d/erase", index), inOrganization(orgID),
		map[string]string{"reason": reason}, nil)
}

// LogCheckpoint is the signed checkpoint of an audit log.
func (c *Client) LogCheckpoint(ctx context.Context, orgID string) (string, error) {
	var out struct {
		Checkpoint string `json:"checkpoint"`
	}
	err := c.Call(ctx, http.MethodGet, "/audit-log/checkpoint", inOrganization(orgID), nil, &out)
	return out.Checkpoint, err
}

// LogKeys are the keys that checkpoints are verified with, newest first.
func (c *Client) LogKeys(ctx context.Context, orgID string) ([]string, error) {
	var out struct {
		Keys []string `json:"keys"`
	}
	err := c.Call(ctx, http.MethodGet, "/audit-log/key", inOrganization(orgID), nil, &out)
	return out.Keys, err
}

// InclusionProof proves that an entry is in the log of so many entries.
func (c *Client) InclusionProof(ctx context.Context, orgID string, index, size int64) ([][]byte, error) {
	return c.proof(ctx, "inclusion", orgID, "index", index, size)
}

// ConsistencyProof proves that the log of so many entries begins with an earlier one.
func (c *Client) ConsistencyProof(ctx context.Context, orgID string, from, size int64) ([][]byte, error) {
	return c.proof(ctx, "consistency", orgID, "from", from, size)
}

func (c *Client) proof(ctx context.Context, kind, orgID, name string, number, size int64) ([][]byte, error) {
	q := inOrganization(orgID)
	q.Set(name, strconv.FormatInt(number, 10))
	q.Set("size", strconv.FormatInt(size, 10))
	var out struct {
		Proof [][]byte `json:"proof"`
	}
	err := c.Call(ctx, http.MethodGet, "/audit-log/proof/"+kind, q, nil, &out)
	return out.Proof, err
}

// Finding is something that does not fit together.
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
	ResolvedAt  *time.Time `json:"resolvedAt"`
}

// Findings is a page of an organization's findings, newest first; of one kind
// where one is named.
func (c *Client) Findings(ctx context.Context, orgID, kind string, l List) (found Page[Finding], err error) {
	q := l.values()
	q.Set("organizationId", orgID)
	if kind != "" {
		q.Set("kind", kind)
	}
	err = c.Call(ctx, http.MethodGet, "/audit-log/findings", q, nil, &found)
	return found, err
}

// ExportLog is the audit log of an organization as NDJSON, from an entry on. The
// caller closes it. It may be long; what of it was read counts only once it is
// verified.
func (c *Client) ExportLog(ctx context.Context, orgID string, since int64) (io.ReadCloser, error) {
	q := inOrganization(orgID)
	if since > 0 {
		q.Set("since", strconv.FormatInt(since, 10))
	}
	return c.download(ctx, "/audit-log/export", q)
}

// inOrganization names the organization a call is about; none where it is empty.
func inOrganization(orgID string) url.Values {
	q := url.Values{}
	if orgID != "" {
		q.Set("organizationId", orgID)
	}
	return q
}
