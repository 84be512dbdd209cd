package replay

import (
	"slices"
	"strings"

	"writ/internal/decision"
	"writ/internal/policy"
	"writ/internal/policy/engine"
	"writ/internal/redaction"
	"writ/internal/toolcall"
	"writ/internal/toolname"
	"writ/internal/verdict"

	"github.com/go-json-experiment/json"
)

// Known says what is known about a recorded call, and why the rest is not. In the zero
// value only the names are known.
type Known struct {
	read  bool
	gaps  toolcall.Gaps
	names names

	Erased   bool // the details of the decision were erased
	Redacted bool // the arguments or paths held a secret
	NotKept  bool // the arguments were too long to store, or never sent
}

// everything is what conditions and bindings can see beside server and tool.
var everything = toolcall.Gaps{
	{"args"}, {"agent"}, {"user"}, {"org"}, {"session"}, {"intent"}, {"labels"}, {"environment"}, {"now"}, {"paths"},
	{"key"},
}

// Gaps are the unknown parts of the call. The values that the call has there mean
// nothing.
func (k Known) Gaps() toolcall.Gaps {
	if !k.read {
		return everything
	}
	return k.gaps
}

// Arguments reports whether every argument is known.
func (k Known) Arguments() bool { return !k.Gaps().Cover("args") }

// CallOf rebuilds the call of a decision from its record. What no record holds are
// gaps as well: the owner of the key, the roles of people, and the session's use so
// far. Recall fills in some of them.
func CallOf(r decision.Record) (toolcall.Call, Known) {
	k := Known{read: true, Erased: r.Erased}
	server, tool := nameOf(r)
	call := toolcall.Call{
		Server: server, Tool: tool, Agent: toolcall.Agent{
			ID: r.AgentID, Name: r.Judged.AgentName, Status: r.Judged.AgentStatus, Registered: r.Judged.AgentRegistered,
			Attested: r.Judged.AgentCertificate != "",
		},
		User: toolcall.User{ID: r.UserID, Email: r.Email},
		Key:  toolcall.Key{ID: r.KeyID}, Org: toolcall.Org{ID: r.OrgID}, Session: toolcall.Session{ID: r.SessionID},
		Intent: toolcall.Intent{PlanID: r.PlanID, Step: r.Step, Declared: r.PlanID != "", Grounded: r.Judged.Grounded},
		Labels: r.Labels, Environment: r.Environment, Now: r.At, CanConfine: r.Judged.CanConfine,
		CanOblige: r.Oblige != nil,
	}
	k.lacks("key", "owner")
	k.lacks("key", "role")
	k.lacks("user")
	k.lacks("org", "name")
	for _, figure := range []string{"calls", "costUsd", "tokens"} {
		k.lacks("session", figure)
	}
	if r.PlanID != "" {
		k.lacksOfPlan(r)
	}
	k.readAgent(&call, r)
	if r.Erased {
		k.lacks("key", "canConfine")
		for _, gone := range []string{"args", "labels", "environment", "paths"} {
			k.lacks(gone)
		}
		return call, k
	}
	if perhapsReleased(r) {
		for _, gap := range []string{"labels", "environment", "paths"} {
			k.lacks(gap)
		}
	}
	k.readArguments(&call, r)
	k.readPaths(&call, r)
	return call, k
}

// readAgent reads what was registered of the agent. A record from before there was a
// registry does not tell.
func (k *Known) readAgent(call *toolcall.Call, r decision.Record) {
	if r.Judged.AgentBound {
		call.Key.AgentID = r.AgentID
	}
	if r.Erased {
		k.lacks("key", "agent")
		k.lacks("agent", "attested")
	}
	if r.Judged.AgentStatus == "" {
		for _, member := range []string{"name", "status", "registered"} {
			k.lacks("agent", member)
		}
	}
}

// perhapsReleased reports whether the record may be that of a client that asked without
// arguments whether its call was approved. Such a record holds only what the approval
// request held.
func perhapsReleased(r decision.Record) bool {
	return r.PolicyID == policy.ByApproval && r.Verdict == verdict.Allow && r.Incomplete && r.Source == "" &&
		r.Labels == nil && r.Paths == nil
}

func (k *Known) lacks(path ...string) { k.gaps = append(k.gaps, path) }

// lacksOfPlan adds the gaps of a call with a plan: a record never holds the plan's goal,
// and at most the step that was used, which conditions need not have seen. What the
// call did not state came from its plan.
func (k *Known) lacksOfPlan(r decision.Record) {
	k.lacks("intent", "goal")
	k.lacks("intent", "step")
	k.names.forgotten = true
	if r.AgentID == "" {
		k.lacks("agent", "id")
	}
	if r.SessionID == "" {
		k.lacks("session", "id")
	}
}

// nameOf is the server and the tool that policies judged. A harness writes both into
// one name, which older records have as it was called.
func nameOf(r decision.Record) (server, tool string) {
	if r.PlacedOn != "" {
		return toolname.Resolve(r.Tool, r.PlacedOn, r.Source)
	}
	if r.SpelledAs != "" {
		return r.Server, r.Tool
	}
	if server, tool, ok := toolname.Split(r.Tool); ok && server == r.Server {
		return server, tool
	}
	return toolname.Resolve(r.Tool, r.Server, r.Source)
}

// placeForgotten reports whether the server of a record may be only the one that the
// tool's name claims, or the harness that called it. If a rule about that one decided,
// only the erased details said which server the call was on.
func placeForgotten(r *decision.Record) bool {
	server, _, named := toolname.Split(r.Tool)
	byRule := r.Rule != "" && r.Rule != engine.DefaultRule // a default says nothing of another server
	claimed := named && server == r.Server || !named && byRule && slices.Contains(toolname.Hosts(), r.Server)
	return r.Erased && claimed && (r.Verdict != verdict.Allow || r.PolicyID == policy.ByApproval)
}

// otherName is the other meaning of a record: if the client stated the server, the
// tool was judged under its whole name.
func otherName(r decision.Record) (server, tool string, ok bool) {
	if r.PlacedOn != "" || r.SpelledAs != "" {
		return "", "", false
	}
	server, tool = toolname.Resolve(r.Tool, r.Server, r.Source)
	_, first := nameOf(r)
	return server, tool, tool != first
}

// readArguments decodes the stored arguments.
func (k *Known) readArguments(call *toolcall.Call, r decision.Record) {
	if r.Arguments == nil {
		k.NotKept = true
		k.lacks("args")
		return
	}
	args, err := toolcall.Decode(r.Arguments)
	if err != nil {
		k.NotKept = true
		k.lacks("args")
		return
	}
	call.Args = args
	if r.Incomplete {
		k.Redacted = true
		before := len(k.gaps)
		k.findMarks(args, toolcall.Gap{"args"})
		if len(k.gaps) == before {
			k.lacks("args") // something is missing, and it is unknown where
		}
	}
}

// findMarks finds redacted secrets. A list that held one is unknown as a whole, and so
// is an object with a redacted name.
func (k *Known) findMarks(value any, at toolcall.Gap) {
	switch value := value.(type) {
	case string:
		if marked(value) {
			k.lacks(at...)
		}
	case []any:
		if holdsMark(value) {
			k.lacks(at...)
		}
	case map[string]any:
		for name := range value {
			if marked(name) {
				k.lacks(at...)
				return
			}
		}
		for name, member := range value {
			k.findMarks(member, append(at[:len(at):len(at)], name))
		}
	}
}

func marked(text string) bool { return strings.Contains(text, redaction.Mark) }

func holdsMark(value any) bool {
	within := Known{read: true}
	switch value := value.(type) {
	case []any:
		for _, item := range value {
			if holdsMark(item) {
				return true
			}
		}
		return false
	default:
		within.findMarks(value, nil)
		return len(within.gaps) > 0
	}
}

// readPaths reads the resolved paths. A redacted one makes all of them unknown: it may
// have been any.
func (k *Known) readPaths(call *toolcall.Call, r decision.Record) {
	if r.Paths == nil {
		return
	}
	if marked(string(r.Paths)) {
		k.Redacted = true
		k.lacks("paths")
		return
	}
	if err := json.Unmarshal(r.Paths, &call.ResolvedPaths); err != nil {
		k.NotKept = true
		k.lacks("paths")
	}
}
