package beforetool

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	strict "github.com/go-json-experiment/json"

	"writ/internal/confine"
	"writ/internal/hook/gemini"
)

// question is what the server is asked about a call.
type question struct {
	ToolName      string            `json:"tool_name"`
	ToolInput     json.RawMessage   `json:"tool_input"`
	MCPContext    *mcpTool          `json:"mcp_context,omitempty"`
	Source        string            `json:"source"`
	AgentID       string            `json:"agent_id"`
	SessionID     string            `json:"session_id"`
	SessionTurn   int64             `json:"session_turn"`
	Capabilities  []string          `json:"capabilities,omitempty"`
	ResolvedPaths map[string]string `json:"resolvedPaths,omitempty"`
}

type mcpTool struct {
	ServerName string `json:"server_name"`
	ToolName   string `json:"tool_name"`
}

// source is how the server knows the host.
const source = "gemini-cli"

// ruling is what was decided. The zero value denies.
type ruling struct {
	Allowed    bool            `json:"allowed"`
	Action     string          `json:"action"`
	Decision   string          `json:"decision"`
	Reason     string          `json:"reason"`
	DecidedBy  string          `json:"decidedBy"`
	Rule       string          `json:"rule"`
	DecisionID string          `json:"decisionId"`
	PlanID     string          `json:"planId"`
	ApprovalID string          `json:"approvalId"`
	Confine    json.RawMessage `json:"confine"`
	Session    *session        `json:"session"`
}

// session is what the server knows of the host's session.
type session struct {
	Turn           int64 `json:"turn"`
	MonitorAllowed bool  `json:"monitorAllowed"`
}

// allows reports whether the tool may run: every member that says so must.
func (r *ruling) allows() bool {
	return r.Allowed && r.Action == gemini.Allow && r.Decision == gemini.Allow && r.DecisionID != ""
}

// waits reports whether a person can still say yes.
func (r *ruling) waits() bool {
	return !r.Allowed && (r.Decision == "hold" || r.Decision == gemini.Ask) && r.ApprovalID != ""
}

func (r *ruling) confined() bool { return len(r.Confine) > 0 && string(r.Confine) != "null" }

// limits are what the call must be confined to. A member that nobody knows here would not be held.
func (r *ruling) limits() (limits confine.Limits, err error) {
	decoder := json.NewDecoder(bytes.NewReader(r.Confine))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&limits); err != nil {
		return limits, errors.New("the limits that the server demands are not understood")
	}
	return limits, limits.Check()
}

// askServer asks for the decision, and waits for a person as long as the guard file says.
func (c *call) askServer(ctx context.Context) ruling {
	body, err := json.Marshal(c.question())
	if err != nil {
		return undecided(err)
	}
	r := c.ask(ctx, body)
	until := c.Now.Add(c.Guard.Wait())
	for r.waits() && c.await(ctx, r.ApprovalID, until) {
		r = c.ask(ctx, body)
	}
	return r
}

func (c *call) question() question {
	q := question{
		ToolName:      c.ToolName,
		ToolInput:     c.ToolInput,
		Source:        source,
		AgentID:       c.Guard.Agent,
		SessionID:     c.SessionID,
		SessionTurn:   c.turn,
		Capabilities:  capabilities(c.Input),
		ResolvedPaths: resolvedPaths(c.Input),
	}
	if c.MCP != nil {
		q.MCPContext = &mcpTool{c.MCP.ServerName, c.MCP.ToolName}
	}
	return q
}

// ask asks once. Whatever is not a whole decision about this turn is none.
func (c *call) ask(ctx context.Context, body []byte) ruling {
	answer, err := c.exchange(ctx, "POST", "/iap/enforce", body)
	if err != nil {
		return undecided(err)
	}
	var r ruling
	if err := strict.Unmarshal(answer, &r); err != nil { // one that says something twice is none
		return undecided(errors.New("the server's answer is no decision"))
	}
	if r.Allowed && !r.allows() {
		return undecided(errors.New("the server's answer says both yes and no"))
	}
	if r.Allowed && (r.Session == nil || r.Session.Turn != c.turn) {
		return undecided(errors.New("the server decided for another turn, or does not guard this session"))
	}
	return r
}

// undecided is the ruling where there is no decision.
func undecided(err error) ruling {
	return ruling{
		Reason:    err.Error() + "; nothing was decided, so the tool does not run. You may try again",
		DecidedBy: hookItself,
	}
}

// exchange calls the server, within the time for one answer.
func (c *call) exchange(ctx context.Context, method, path string, body []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, c.Guard.AnswerLimit())
	defer cancel()
	status, answer, err := c.caller.Call(ctx, method, path, body)
	if err != nil {
		return nil, err
	}
	if status != 200 && status != 201 {
		return nil, statusError{status, refusal(answer)}
	}
	return answer, nil
}

// statusError is an answer that is no success.
type statusError struct {
	status int
	says   string
}

func (e statusError) Error() string {
	if e.says == "" {
		return fmt.Sprintf("the server answered with status %d", e.status)
	}
	return fmt.Sprintf("the server answered with status %d: %s", e.status, e.says)
}

// refusal is what the server says about an error.
func refusal(answer []byte) string {
	var says struct{ Message, Reason string }
	if json.Unmarshal(answer, &says) != nil {
		return ""
	}
	if says.Reason != "" {
		return line(says.Reason, "")
	}
	return line(says.Message, "")
}

// maxPoll is how long the server waits for a person at most before it answers.
const maxPoll = 4 * time.Second

// await waits until a request was answered, and reports whether to ask again. Where the key may not wait for
// answers, the decision is asked for from time to time.
func (c *call) await(ctx context.Context, approvalID string, until time.Time) bool {
	for ctx.Err() == nil {
		began := time.Now()
		left := until.Sub(began)
		if left <= 0 {
			return false
		}
		seconds := int(min(maxPoll, c.Guard.AnswerLimit()-time.Second, left) / time.Second)
		answer, err := c.exchange(ctx, "GET", "/delegation/poll?delegationId="+escape(approvalID)+
			"&waitSeconds="+strconv.Itoa(seconds), nil)
		var request struct{ Status string }
		pending := err == nil && json.Unmarshal(answer, &request) == nil && request.Status == "pending"
		if !pending || time.Since(began) < time.Second {
			c.pause = min(max(2*c.pause, 250*time.Millisecond), maxPoll)
			pause(ctx, min(c.pause, left))
		}
		if !pending {
			return ctx.Err() == nil
		}
	}
	return false
}

func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// escape makes an id part of a query.
func escape(id string) string {
	var b bytes.Buffer
	for _, c := range []byte(id) {
		if '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '-' || c == '_' {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}
