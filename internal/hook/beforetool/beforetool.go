// Package beforetool decides whether a tool of a coding agent runs: the hook before-tool.
//
// The order is: what would switch off the guard is denied here; a call of our own plan server gets a ticket; what the
// agent's manifest does not permit is denied here; everything else is decided by the server, and only its
// recorded allow lets a tool run.
package beforetool

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"writ/internal/hook"
	"writ/internal/hook/gemini"
	"writ/internal/hook/guardfile"
	"writ/internal/hook/state"
	"writ/internal/toolname"
)

// Lists say what an agent may do at most.
type Lists interface {
	// Forbid is the reason why a tool is denied; empty: it is not.
	Forbid(server, tool string) string
}

// Handler answers the event.
type Handler struct {
	Caller func(*guardfile.File) (hook.Caller, error)
	// Lists reads those of the manifest. Nil: this program cannot, and a guard file that names one is refused.
	Lists func(path string) (Lists, error)
}

var _ hook.Handler = Handler{}

// Fail denies.
func (Handler) Fail(reason string) gemini.Answer { return denied("", reason) }

// Limit is the time for two answers of the server, and for a person.
func (Handler) Limit(guard *guardfile.File) time.Duration {
	return guard.Wait() + 2*guard.AnswerLimit()
}

// Handle decides.
func (h Handler) Handle(ctx context.Context, in *hook.Input) gemini.Answer {
	c := &call{Input: in, handler: h}
	if reason := c.protect(); reason != "" {
		c.keep(ruling{Reason: reason, DecidedBy: selfGuard}, false)
		return denied(in.ToolName, reason) // also where calls are only monitored
	}
	if err := c.open(); err != nil {
		return c.settle(ruling{Reason: err.Error(), DecidedBy: hookItself})
	}
	if in.IsOwn() {
		return c.handOver(ctx)
	}
	return c.settle(c.decide(ctx))
}

// What decides where the server does not.
const (
	selfGuard  = "writ:guard"
	hookItself = "writ:hook"
	manifest   = "writ:manifest"
	intent     = "writ:intent" // the server's own
	noPlan     = "no_plan"     // the rule of a turn without a plan
)

// call is a call that is being decided about.
type call struct {
	*hook.Input
	handler Handler
	session *state.Session
	caller  hook.Caller
	turn    int64
	pause   time.Duration // between questions, longer each time
}

// open finds the turn that the call belongs to. Without one nothing runs: the state only denies.
func (c *call) open() (err error) {
	if c.session, err = openState(c.Input); err != nil {
		return err
	}
	turn, err := c.session.Turn()
	switch {
	case err != nil:
		return err
	case turn.Alarm != "":
		return errors.New(turn.Alarm)
	case turn.Number < 1:
		return errors.New("the server has not opened this turn: " + turn.Problem)
	}
	c.turn = turn.Number
	c.caller, err = c.handler.Caller(c.Guard)
	return err
}

func openState(in *hook.Input) (*state.Session, error) {
	return state.Open(in.Guard.StateDir, in.Guard.Server+in.Guard.Key, in.SessionID)
}

// decide asks the manifest, and then the server.
func (c *call) decide(ctx context.Context) ruling {
	if c.MCP != nil && toolname.IsReserved(c.MCP.ServerName) {
		return ruling{
			Reason: "the MCP server " + c.MCP.ServerName + " has the name under which coding agents' own tools are " +
				"judged; a person must give it another one",
			DecidedBy: hookItself,
		}
	}
	if c.Guard.Manifest != "" {
		if reason := c.askManifest(); reason != "" {
			return ruling{Reason: reason, DecidedBy: manifest}
		}
	}
	return c.askServer(ctx)
}

func (c *call) askManifest() string {
	if c.handler.Lists == nil {
		return "this program cannot read the manifest that the guard file names"
	}
	lists, err := c.handler.Lists(c.Guard.Manifest)
	if err != nil {
		return "the manifest cannot be read: " + err.Error()
	}
	server, tool := source, c.ToolName // tools of the host itself
	if c.MCP != nil {
		server, tool = c.MCP.ServerName, c.MCP.ToolName
	}
	return lists.Forbid(server, tool)
}

// settle makes the answer of a ruling, and stores what after-tool compares with.
func (c *call) settle(r ruling) gemini.Answer {
	if !r.allows() && c.monitors(r) {
		c.keep(r, true)
		return gemini.Answer{
			Decision:      gemini.Allow,
			SystemMessage: line("Writ only monitors: "+c.ToolName+" would not run", r.Reason),
		}
	}
	if !r.allows() {
		c.keep(r, false)
		return c.refused(r)
	}
	return c.allow(r)
}

// monitors reports whether a call that is not allowed runs nevertheless. The guard file may say so; the environment,
// which a project can set, only if the server says that the organization permits it.
func (c *call) monitors(r ruling) bool {
	permitted := r.Session != nil && r.Session.MonitorAllowed
	return c.Guard.Mode == guardfile.Monitor || permitted && c.Getenv("WRIT_ENFORCE") == guardfile.Monitor
}

// allow makes the answer that lets the tool run, within the limits that the server demands.
func (c *call) allow(r ruling) gemini.Answer {
	answer := gemini.Answer{Decision: gemini.Allow}
	executed := c.ToolInput
	var original json.RawMessage
	if r.confined() {
		input, err := confineCall(c.Input, r, c.session.RunReport(r.DecisionID))
		if err != nil {
			return c.settle(ruling{Reason: "the call must be confined, and " + err.Error(), DecidedBy: hookItself})
		}
		executed, original = input, c.ToolInput
		answer.Specific = &gemini.Specific{Event: gemini.BeforeTool, ToolInput: input}
	}
	d := c.stored(r)
	d.Verdict, d.Input, d.Original, d.Confine = state.Allow, executed, original, r.Confine
	if err := c.session.Decided(d); err != nil {
		return denied(c.ToolName, "what was decided cannot be stored on this machine: "+err.Error())
	}
	return answer
}

// keep stores a ruling that does not allow, for the turn's trace, and for after-tool if the call runs nevertheless.
func (c *call) keep(r ruling, runs bool) {
	if c.session == nil {
		var err error
		if c.session, err = openState(c.Input); err != nil {
			return
		}
	}
	d := c.stored(r)
	d.Input, d.Runs = c.ToolInput, runs
	if d.Verdict = r.Decision; d.Verdict == "" || d.Verdict == state.Allow {
		d.Verdict = gemini.Deny
	}
	_ = c.session.Decided(d)
}

func (c *call) stored(r ruling) state.Decision {
	return state.Decision{
		ID:        r.DecisionID,
		PlanID:    r.PlanID,
		Tool:      c.ToolName,
		Reason:    r.Reason,
		DecidedBy: r.DecidedBy,
		Rule:      r.Rule,
		Begun:     c.Now,
		At:        time.Now().UTC(), // the local time would be looked up in a file
	}
}
