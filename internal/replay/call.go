package replay

import (
	"strings"

	"writ/internal/decision"
	"writ/internal/intent/plan"
	"writ/internal/policy"
	"writ/internal/redaction"
	"writ/internal/toolcall"
	"writ/internal/verdict"

	"github.com/go-json-experiment/json"
)

// Known says what of a recorded call is known, and why the rest is not. The zero
// value is one of which nothing is known but its names.
type Known struct {
	read  bool
	gaps  toolcall.Gaps
	names names

	Erased   bool // the details of the decision are gone
	Redacted bool // a secret was taken out of the arguments or paths
	NotKept  bool // the arguments were too long to keep, or never told
}

// everything is all that conditions and bindings can see beside the names of
// server and tool.
var everything = toolcall.Gaps{
	{"args"}, {"agent"}, {"user"}, {"org"}, {"session"}, {"intent"}, {"labels"}, {"environment"}, {"now"}, {"paths"},
	{"key"},
}

// Gaps are the parts of the call that are not known. What the call has there
// means nothing: neither that it is harmless, nor that it was absent.
func (k Known) Gaps() toolcall.Gaps {
	if !k.read {
		return everything
	}
	return k.gaps
}

// Arguments reports whether every argument is known.
func (k Known) Arguments() bool { return !k.Gaps().Cover("args") }

// CallOf is the call that a decision was about, as far as its record tells. What
// a record never tells are gaps as well: whom a key belongs to, the roles of
// people, and what the session had used by then. Recall fills some of them in.
func CallOf(r decision.Record) (toolcall.Call, Known) {
	k := Known{read: true, Erased: r.Erased}
	server, tool := nameOf(r)
	call := toolcall.Call{
		Server: server, Tool: tool, Agent: toolcall.Agent{ID: r.AgentID},
		User: toolcall.User{ID: r.UserID, Email: r.Email},
		Key:  toolcall.Key{ID: r.KeyID}, Org: toolcall.Org{ID: r.OrgID}, Session: toolcall.Session{ID: r.SessionID},
		Intent: toolcall.Intent{PlanID: r.PlanID, Step: r.Step, Declared: r.PlanID != ""},
		Labels: r.Labels, Environment: r.Environment, Now: r.At,
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
	if r.Erased {
		for _, gone := range []string{"args", "labels", "environment", "paths"} {
			k.lacks(gone)
		}
		return call, k
	}
	if perhapsReleased(r) {
		for _, untold := range []string{"labels", "environment", "paths"} {
			k.lacks(untold)
		}
	}
	k.readArguments(&call, r)
	k.readPaths(&call, r)
	return call, k
}

// perhapsReleased reports whether the record is perhaps of a client that asked
// without arguments whether its call was approved: nothing but what the request
// for approval held is in it.
func perhapsReleased(r decision.Record) bool {
	return r.PolicyID == policy.ByApproval && r.Verdict == verdict.Allow && r.Incomplete && r.Source == "" &&
		r.Labels == nil && r.Paths == nil
}

func (k *Known) lacks(path ...string) { k.gaps = append(k.gaps, path) }

// lacksOfPlan: a record has the goal of its plan nowhere, and of steps at most the
// one that was used up, which need not be the one that conditions saw. What a call
// does not say itself its plan said.
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

// nameOf is the server and the tool that policies were asked about. A harness
// writes both into one name, which is kept as it was called.
func nameOf(r decision.Record) (server, tool string) {
	if r.PlacedOn != "" {
		return plan.ResolveName(r.Tool, r.PlacedOn, r.Source)
	}
	if server, tool, ok := plan.OwnName(r.Tool); ok && server == r.Server {
		return server, tool
	}
	return plan.ResolveName(r.Tool, r.Server, r.Source)
}

// placeForgotten reports whether the server of a record is perhaps but the one that
// the tool's name claims: where a rule about that one decided, details told which
// one the call was on, and they are gone.
func placeForgotten(r *decision.Record) bool {
	server, _, ok := plan.OwnName(r.Tool)
	return ok && r.Erased && server == r.Server && (r.Verdict != verdict.Allow || r.PolicyID == policy.ByApproval)
}

// otherName is what else the record may mean: a client that itself said which
// server it called had its tool judged under the whole name.
func otherName(r decision.Record) (server, tool string, ok bool) {
	if r.PlacedOn != "" {
		return "", "", false
	}
	server, tool = plan.ResolveName(r.Tool, r.Server, r.Source)
	_, first := nameOf(r)
	return server, tool, tool != first
}

// readArguments decodes what was kept of the arguments.
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
			k.lacks("args") // something is missing, and nothing shows where
		}
	}
}

// findMarks tells where secrets were taken out. A list that held one is not known
// as a whole, nor an object one of whose names was a secret.
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

// readPaths reads what paths were. One that was redacted makes all of them
// unknown: it may have been any of those that are asked about.
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
