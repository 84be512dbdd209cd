package execution

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/names"
	"writ/internal/principal"
)

// Proxy is the source of reports about calls that the proxy has carried out. No client can claim it.
const Proxy = "writ:proxy"

// Carried is what the proxy saw of a call that it has carried out. Unlike a client it knows which decision that is.
type Carried struct {
	DecisionID, PlanID            string
	Step                          int // -1: none
	Server, Tool                  string
	AgentID, SessionID, UserEmail string
	Arguments                     jsontext.Value
	Output                        jsontext.Value // nil: there is none
	Status                        string         // Success, Failed or Unknown
	Error                         string
	At                            time.Time
	Duration                      time.Duration
	// Marks are what looks wrong about the result. They are findings, and change nothing.
	Marks []Mark
	// SpentToken is the SHA-256, in hex, of the person's token that the MCP server has refused; empty: it has not. Only
	// a proxy apart says so, and it is not recorded.
	SpentToken string
}

// Mark is something that looks wrong about a result.
type Mark struct {
	Kind   Kind // ResultInstructs or ResultSecret
	Detail string
}

// row is the report in the form that clients use.
func (c *Carried) row() (jsontext.Value, error) {
	row := map[string]any{
		"plan_id": c.PlanID, "step_index": c.Step, "tool": c.Tool, "mcp": c.Server,
		"input": c.Arguments, "status": c.Status, "agent_id": c.AgentID, "session_id": c.SessionID,
		"user_email": c.UserEmail, "executed_at": c.At.UTC().Format(time.RFC3339Nano),
		"duration_ms": float64(c.Duration) / float64(time.Millisecond),
		"decision":    c.DecisionID, // makes the row different from that of every other call
	}
	if c.Output != nil {
		row["output"] = c.Output
	}
	if c.Error != "" {
		row["error_message"] = c.Error
	}
	return json.Marshal(row, json.Deterministic(true))
}

// read is the report as it is stored. Its names are those of the decision, also where a client that sends them says
// nothing by them, such as unknown.
func (c *Carried) read() (row, error) {
	raw, err := c.row()
	if err != nil {
		return row{}, fault.Wrap(err, fault.Invalid, "a report of the proxy cannot be written")
	}
	r, err := readSpelled(raw, raw) // by its own names
	if err != nil {
		return row{}, fault.Wrap(err, fault.Invalid, "a report of the proxy cannot be read")
	}
	r.server, r.tool = decidedAs(c.Server), decidedAs(c.Tool)
	r.agentID, r.sessionID = decidedAs(c.AgentID), decidedAs(c.SessionID)
	r.payload.Server, r.payload.Tool, r.payload.Session = r.server, r.tool, r.sessionID
	if r.tool == "" {
		return row{}, fault.New(fault.Invalid, "a report of the proxy names no tool")
	}
	return r, nil
}

// decidedAs is a name as decisions store it.
func decidedAs(name string) string { return names.Clean(strings.TrimSpace(name)) }

// ReportCarried records a call that the proxy has carried out for a key, with its findings. Reported again, it counts
// once. An Invalid fault is about the report: it can never be recorded.
func (s *Service) ReportCarried(ctx context.Context, by principal.Principal, c Carried) (Reported, error) {
	r, err := c.read()
	if err != nil {
		return Reported{}, err
	}
	known := newPresented(s)
	it, problem, err := s.place(ctx, by, r, known)
	if err == nil && problem != "" {
		err = fault.New(fault.Invalid, "the report of the proxy %s", problem)
	}
	if err != nil {
		return Reported{}, fmt.Errorf("read a report of the proxy: %w", err)
	}
	it.carried, it.marks, it.payload.Source = c.DecisionID, c.Marks, Proxy
	var answers [1]Reported
	err = s.store(ctx, it.lane(), by.OrgID, []*item{it}, answers[:])
	return answers[0], err
}

// maxUrgent is how many bytes of input and output a report may have that is stored among decisions.
const maxUrgent = 16 << 10

// lane is that of decisions for a small report: an agent waits for it, and it shares their commit. A large one must not
// hold them up.
func (it *item) lane() database.Lane {
	if len(it.payload.Input)+len(it.payload.Output) <= maxUrgent && (it.output == nil || len(*it.output) <= maxUrgent) {
		return database.Urgent
	}
	return database.Ordinary
}

// findMarks makes findings of what looks wrong about a result.
func findMarks(ctx context.Context, tx *database.Tx, id string, position int64, it *item) error {
	for _, mark := range it.marks {
		f := it.finding(tx, mark.Kind, id, position)
		f.DecisionID, f.Detail = it.carried, mark.Detail
		if err := insertFinding(ctx, tx, f); err != nil {
			return err
		}
	}
	return nil
}
