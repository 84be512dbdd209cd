// Package carrier carries out tool calls for agents: it has each call judged, sends it to its MCP server if it is
// allowed, and reports what came of it.
//
//	strip ──> decide ──> send, once ──> scan ──> report ──> answer
//
// It decides with the agent's own key, as every other surface does: carrying a call out gives no right to it. Members
// that clients put among the arguments for the original service are taken out first, so that what is judged is what is
// sent. A call is sent again only if nothing of it was sent, or if a person has said that the tool may run twice.
//
// The outcome is recorded before the agent gets it, because its next call may be judged by it. If it cannot be, the
// agent gets the result all the same, for the tool has run: the report is tried again behind the scenes, and until then
// the decision counts as one without an outcome.
package carrier

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"writ/internal/enforcement"
	"writ/internal/execution"
	"writ/internal/fault"
	registry "writ/internal/mcp"
	"writ/internal/mcp/upstream"
	"writ/internal/policy"
	"writ/internal/principal"
	"writ/internal/secret"
)

// Limits of a call.
const (
	DefaultTimeout = upstream.DefaultTimeout
	MaxTimeout     = 5 * time.Minute // whatever a manifest says
	maxRetries     = 10              // whatever a manifest says
	defaultRetries = 3
	retryWait      = 200 * time.Millisecond
)

// Decider decides about calls: enforcement.Service, or the server that a proxy of its own process asks.
type Decider interface {
	Decide(ctx context.Context, by principal.Principal, r enforcement.Request) enforcement.Answer
}

// Recorder records what came of calls.
type Recorder interface {
	ReportCarried(ctx context.Context, by principal.Principal, c execution.Carried) (execution.Reported, error)
}

// Servers says how servers are reached.
type Servers interface {
	// ReachOf finds a server of the caller's organization for a call of one of its tools; an empty tool: for something
	// else.
	ReachOf(ctx context.Context, by principal.Principal, server, tool string) (registry.Reach, error)
	// Credentials are the headers by which a server knows its caller. decisionID is the decision that allows what is
	// about to be sent; empty: nothing was decided. An error that IsUndecided says that it needs one.
	Credentials(ctx context.Context, by principal.Principal, r registry.Reach, decisionID string) (http.Header, error)
}

// Manifests says what the manifest of a key demands of the proxy; stated is false without one.
type Manifests interface {
	ProxySettings(ctx context.Context, by principal.Principal) (s policy.ProxySettings, stated bool, err error)
}

// Options are what a carrier needs.
type Options struct {
	Enforcement Decider
	Executions  Recorder
	Servers     Servers
	Policies    Manifests
	Dialer      *upstream.Dialer
	// UserToken is the token of a person for a server that wants the consent of each, and Spent notes that the server
	// refuses it. A Forbidden fault says how the person consents. Both are nil in a proxy apart, which gets the token
	// with the credentials of a decision.
	UserToken func(ctx context.Context, orgID, userID string, of registry.Reach) (secret.Text, error)
	Spent     func(ctx context.Context, orgID, userID string, of registry.Reach, token secret.Text) error
	// Stopped refuses a caller that the kill switch has stopped.
	Stopped func(ctx context.Context, caller principal.Principal) error
	// Refused is why a caller may call nothing now, as enforcement.Service.RefuseCaller says: it ends calls that run.
	Refused func(ctx context.Context, caller principal.Principal, agentID string) error
	Now     func() time.Time
	Logger  *slog.Logger
}

// Carrier carries out calls. A process needs one.
type Carrier struct {
	Options
	late  *latecomers // reports that could not be recorded yet
	tally *tally
	watch watcher // of calls that run
}

// New makes a Carrier. Close it.
func New(o Options) *Carrier {
	return &Carrier{
		Options: o, late: newLatecomers(o.Executions, o.Logger), tally: newTally(),
		watch: watcher{refuse: o.Refused},
	}
}

// Close tries once more to record what could not be recorded, and ends.
func (c *Carrier) Close() { c.late.close() }

// Caller is who makes a call.
type Caller struct{ Principal principal.Principal }

// Call is a call to carry out. Of its request the server is the registered name, and the tool is named as the server
// names it; Carried is filled in here.
type Call struct {
	enforcement.Request
	// SDK: a published SDK sent it, which puts members of its own among the arguments.
	SDK bool
	// NoTool: it calls no tool of the server, and Tool is a name with ReservedPrefix, such as mcp:sampling. No agent
	// may say so.
	NoTool bool
	// Promised: the caller was told which form the result has, and refuses one of another form.
	Promised bool
	// Proof says whether the call must prove its step, and how it does.
	Proof enforcement.Carried
	// Own are the caller's credentials for the server, with which Send opens its session.
	Own Credentials
}

// ReservedPrefix begins the names under which policies see what is no tool: mcp:sampling, mcp:resource, mcp:prompt,
// mcp:elicitation, mcp:roots, mcp:completion. A tool of a server with such a name is never called.
const ReservedPrefix = "mcp:"

// Send sends a call to its server, with the arguments that were judged. Its error is an *upstream.Failure, else the
// call counts as sent.
type Send func(ctx context.Context, arguments jsontext.Value) (any, error)

// Outcome is what came of a call.
type Outcome struct {
	// Answer is the decision. Unless it allows, nothing was sent.
	Answer enforcement.Answer
	// Result is what the server answered, as Send gave it, and Output the same as JSON; nil: see Failure.
	Result any
	Output jsontext.Value
	// Failure is why an allowed call has no result; nil: it has one, or was not allowed.
	Failure *upstream.Failure
	// Stopped is why the caller was stopped while the call ran, which then has a Failure; empty: it was not.
	Stopped string
	// Unrecorded: the outcome is not in the log yet.
	Unrecorded bool

	marks []execution.Mark // of the result as the server sent it
	spent string           // see execution.Carried
}

// Decide judges a call, and carries nothing out.
func (c *Carrier) Decide(ctx context.Context, by Caller, call Call) enforcement.Answer {
	call.Arguments, call.CanConfine, call.CanOblige = strip(call), false, false
	return c.Enforcement.Decide(ctx, by.Principal, call.Request)
}

// Carry judges a call and carries it out. Whatever the server does wrong is in the outcome. ctx ends the call, also
// while it runs; what came of it is recorded all the same.
func (c *Carrier) Carry(ctx context.Context, by Caller, call Call, send Send) Outcome {
	reach, settings, err := c.prepare(ctx, by, call)
	carried := call.Proof
	if err != nil && carried.Problem == "" {
		carried.Problem = c.reason(ctx, err)
	}
	if settings.stated && carried.ProofRequired == enforcement.ProofByAgent && settings.RequireProofs {
		carried.ProofRequired = enforcement.ProofDemanded
	}
	carried.OwnCredentials = call.Own.count(reach)
	call.Arguments, call.Request.Carried, call.CanConfine = strip(call), &carried, false
	call.CanOblige = canOblige(call)
	o := Outcome{Answer: c.Enforcement.Decide(ctx, by.Principal, call.Request)}
	if !o.Answer.Allowed() {
		c.tally.add(&o, 0)
		return o
	}
	ctx, cancel := context.WithTimeout(ctx, settings.Timeout)
	defer cancel()
	began := c.Now()
	timer := time.Now()
	running, ended := c.watch.watch(ctx, by.Principal, o.Answer.AgentID)
	sent, of := withJudged(running, reach, &o.Answer)
	o.Result, o.Failure = c.send(sent, by, call, reach, settings, send)
	o.noteStop(running, reach.Name)
	ended()
	took := time.Since(timer)
	o.write(reach.Name)
	if o.Failure == nil {
		o.marks = scanResult(o.Output)
	}
	if err := o.oblige(ctx, reach.Name, call.Promised); err != nil {
		c.Logger.ErrorContext(ctx, "what a policy demands of a result panicked", "server", reach.Name, "error", err)
	}
	o.spent = of.spentToken()
	o.Unrecorded = !c.report(ctx, by, call, &o, began, took)
	c.tally.add(&o, took)
	return o
}

// settings are what a manifest says of the proxy, or what holds without one.
type settings struct {
	policy.ProxySettings
	stated bool
}

// prepare finds how to reach the tool of a call, and how to carry the call out.
func (c *Carrier) prepare(ctx context.Context, by Caller, call Call) (registry.Reach, settings, error) {
	s := settings{ProxySettings: policy.ProxySettings{Timeout: DefaultTimeout, Retries: defaultRetries}}
	found, stated, err := c.Policies.ProxySettings(ctx, by.Principal)
	if err != nil {
		s.stated, s.RequireProofs = true, true // as if it demanded all that it may demand
		return registry.Reach{}, s, err
	}
	if stated {
		s.ProxySettings, s.stated = found, true
		s.Timeout = min(max(s.Timeout, time.Second), MaxTimeout)
		s.Retries = min(max(s.Retries, 0), maxRetries)
	}
	tool, err := toolOf(call)
	if err != nil {
		return registry.Reach{}, s, err
	}
	reach, err := c.Servers.ReachOf(ctx, by.Principal, call.Server, tool)
	if err == nil {
		err = call.Own.check(reach)
	}
	if err == nil && reach.ByConsent && !call.Own.count(reach) && !c.apart() {
		// A call that nobody has consented to is a decision of the log, which says how to consent.
		_, err = c.UserToken(ctx, by.Principal.OrgID, by.Principal.UserID, reach)
	}
	return reach, s, err
}

// toolOf is the tool that the server must have; empty: the call is of none. The name alone never says so, because an
// agent chooses it: a tool that nobody has listed would run.
func toolOf(call Call) (string, error) {
	switch {
	case strings.HasPrefix(call.Tool, ReservedPrefix) != call.NoTool:
		return "", fault.New(fault.NotFound, "no tool of a server may have this name, which stands for something else")
	case call.NoTool:
		return "", nil
	case call.Tool == "":
		return "", fault.New(fault.Invalid, "the call names no tool")
	}
	return call.Tool, nil
}

// reason is what an agent may know of why a call cannot be carried out.
func (c *Carrier) reason(ctx context.Context, err error) string {
	if f, ok := errors.AsType[*fault.Error](err); ok && f.Kind != fault.Unavailable {
		return f.Message
	}
	c.Logger.WarnContext(ctx, "a call could not be carried out", "error", err)
	return "this server could not find out how to reach the MCP server: try again"
}

// send sends a call, at most once unless it is safe to send it again.
func (c *Carrier) send(
	ctx context.Context, by Caller, call Call, reach registry.Reach, s settings, send Send,
) (any, *upstream.Failure) {
	for try := 0; ; try++ {
		result, err := c.sendOnce(ctx, call, reach, send)
		if err == nil {
			return result, nil
		}
		failure, ok := errors.AsType[*upstream.Failure](err)
		if !ok {
			c.Logger.WarnContext(ctx, "a call failed before its MCP server was asked, or unexpectedly", "error", err)
			failure = &upstream.Failure{
				Kind:   upstream.Broken,
				Server: reach.Name,
				Reason: "the call could not be carried out",
				Sent:   true,
				Cause:  err,
			}
		}
		if try >= s.Retries || !mayRepeat(failure, reach.Idempotent) || !c.wait(ctx, by, try) {
			return nil, failure
		}
	}
}

// sendOnce sends a call. What makes its reader panic is an answer that cannot be read: the tool may have run, and that
// must be recorded.
func (c *Carrier) sendOnce(ctx context.Context, call Call, reach registry.Reach, send Send) (result any, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			c.Logger.ErrorContext(ctx, "reading the answer of an MCP server panicked", "server", reach.Name,
				"panic", cause, "stack", string(debug.Stack()))
			result, err = nil, &upstream.Failure{
				Kind: upstream.Broken, Server: reach.Name, Reason: "its answer cannot be read", Sent: true,
			}
		}
	}()
	return send(ctx, call.Arguments)
}

// mayRepeat reports whether a call that failed may be sent again.
func mayRepeat(f *upstream.Failure, idempotent bool) bool {
	switch f.Kind {
	case upstream.Unreachable, upstream.TimedOut, upstream.Broken:
		return !f.Sent || idempotent
	}
	return false
}

// wait waits before a call is sent again, and reports whether it still may be.
func (c *Carrier) wait(ctx context.Context, by Caller, try int) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(retryWait << min(try, 5)):
		return c.Stopped(ctx, by.Principal) == nil
	}
}
