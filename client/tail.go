package client

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"
)

// TailFilter chooses the events of a live tail. A zero field chooses all.
type TailFilter struct {
	Only      string // traces or decisions
	AgentID   string
	SessionID string
	Tool      string
	Status    string // of traces
	Name      string // of traces
	Decision  string
	PlanID    string // of decisions
}

// TailEvent is an event of a live tail: a trace or a decision.
type TailEvent struct {
	Trace    *TailedTrace    `json:"trace,omitempty"`
	Decision *TailedDecision `json:"decision,omitempty"`
}

// TailedTrace is a trace that is new or grew.
type TailedTrace struct {
	ID                string     `json:"id"`
	ReceivedAt        time.Time  `json:"receivedAt"`
	Grew              bool       `json:"grew"`
	SessionID         *string    `json:"sessionId"`
	Name              string     `json:"name"`
	StartTime         time.Time  `json:"startTime"`
	EndTime           *time.Time `json:"endTime"`
	DurationMs        *int64     `json:"durationMs"`
	Status            string     `json:"status"`
	UserID            *string    `json:"userId"`
	AgentID           string     `json:"agentId"`
	Product           string     `json:"product"`
	Source            string     `json:"source"`
	TotalInputTokens  int64      `json:"totalInputTokens"`
	TotalOutputTokens int64      `json:"totalOutputTokens"`
	TotalCostUSD      float64    `json:"totalCostUsd"`
	SpanCount         int64      `json:"spanCount"`
	ErrorCount        int64      `json:"errorCount"`
	InputPreview      *string    `json:"inputPreview"`
	OutputPreview     *string    `json:"outputPreview"`
}

// TailedDecision is a decision about a call.
type TailedDecision struct {
	Index         int64     `json:"index"`
	ID            string    `json:"id"`
	At            time.Time `json:"at"`
	Decision      string    `json:"decision"`
	AgentID       string    `json:"agentId"`
	SessionID     string    `json:"sessionId,omitempty"`
	PlanID        string    `json:"planId,omitempty"`
	Step          string    `json:"step,omitempty"`
	Server        string    `json:"server"`
	Tool          string    `json:"tool"`
	PolicyID      string    `json:"policyId"`
	PolicyVersion int       `json:"policyVersion,omitempty"`
	RuleID        string    `json:"ruleId,omitempty"`
	PolicyName    string    `json:"policyName,omitempty"`
	Reason        string    `json:"reason,omitempty"`
	ApprovalID    string    `json:"approvalId,omitempty"`
}

// Tail opens the stream of an organization's new traces and decisions, behind the
// event with an id (empty: from now on). The caller closes it.
func (c *Client) Tail(ctx context.Context, orgID string, f TailFilter, afterID string) (*EventReader, error) {
	q := query("only", f.Only, "agentId", f.AgentID, "sessionId", f.SessionID, "tool", f.Tool,
		"status", f.Status, "name", f.Name, "decision", f.Decision, "planId", f.PlanID)
	response, err := c.openStream(ctx, telemetryPath(orgID, "/stream"), q, afterID)
	if err != nil {
		return nil, err
	}
	return newEventReader(response.Body), nil
}

// openStream asks for server-sent events.
func (c *Client) openStream(
	ctx context.Context, path string, query url.Values, afterID string,
) (*http.Response, error) {
	request, err := c.request(ctx, http.MethodGet, path, query, nil)
	if err != nil {
		return nil, err
	}
	if afterID != "" {
		request.Header.Set("Last-Event-ID", afterID)
	}
	return c.open(request)
}

// maxEventLine bounds a line of a stream, and all the data of an event.
const maxEventLine = 4 << 20

// Event is one of a stream.
type Event struct {
	Kind string
	Data []byte
}

// EventReader reads a stream of server-sent events.
type EventReader struct {
	// Heard is called for every line, also for those without an event; it may be nil.
	Heard func()

	body   io.ReadCloser
	lines  *bufio.Scanner
	lastID string
}

func newEventReader(body io.ReadCloser) *EventReader {
	lines := bufio.NewScanner(body)
	lines.Buffer(nil, maxEventLine)
	return &EventReader{body: body, lines: lines}
}

// Close ends the stream.
func (r *EventReader) Close() error { return r.body.Close() }

// LastID is where to resume: behind all that Next returned. It can move without an
// event.
func (r *EventReader) LastID() string { return r.lastID }

// Next waits for the next event. It fails with io.EOF where the server ended the
// stream, and with another error where the connection broke.
func (r *EventReader) Next() (Event, error) {
	var e Event
	id, hasID := "", false
	for r.lines.Scan() {
		if r.Heard != nil {
			r.Heard()
		}
		name, value, _ := bytes.Cut(r.lines.Bytes(), []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(name) {
		case "id":
			id, hasID = string(value), true
		case "event":
			e.Kind = string(value)
		case "data":
			if len(e.Data)+len(value) > maxEventLine {
				return Event{}, errors.New("read a stream of events: one is too large")
			}
			e.Data = append(e.Data, value...)
		}
		if len(r.lines.Bytes()) > 0 {
			continue
		}
		if hasID { // only a whole block counts
			r.lastID, hasID = id, false
		}
		if e.Kind != "" {
			return e, nil
		}
	}
	if err := r.lines.Err(); err != nil {
		return Event{}, fmt.Errorf("read a stream of events: %w", err)
	}
	if e.Kind != "" || hasID {
		return Event{}, fmt.Errorf("read a stream of events: %w", io.ErrUnexpectedEOF)
	}
	return Event{}, io.EOF
}
