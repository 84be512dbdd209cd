package enforcement_test

import (
	"reflect"
	"slices"
	"testing"

	"writ/internal/agent"
	"writ/internal/decision"
	"writ/internal/enforcement"
	"writ/internal/intent"
	"writ/internal/toolcall"
)

// recordedIn says where the record of a decision tells what conditions and bindings see of a call, member by member.
// A member of toolcall.Call that is not here fails TestEverythingThatIsJudgedIsRecorded.
var recordedIn = map[string]func(r *decision.Record) any{
	"Server":           func(r *decision.Record) any { return r.Server },
	"Tool":             func(r *decision.Record) any { return r.Tool },
	"Args":             func(r *decision.Record) any { return string(r.Arguments) },
	"Agent.ID":         func(r *decision.Record) any { return r.AgentID },
	"User.ID":          func(r *decision.Record) any { return r.Judged.UserID },
	"User.Email":       func(r *decision.Record) any { return r.Judged.Email },
	"User.Role":        func(r *decision.Record) any { return r.Judged.UserRole },
	"Key.ID":           func(r *decision.Record) any { return r.KeyID },
	"Key.OwnerID":      func(r *decision.Record) any { return r.Judged.OwnerID },
	"Key.OwnerRole":    func(r *decision.Record) any { return r.Judged.OwnerRole },
	"Org.ID":           func(r *decision.Record) any { return r.OrgID },
	"Org.Name":         func(r *decision.Record) any { return r.Judged.Organization },
	"Session.ID":       func(r *decision.Record) any { return r.SessionID },
	"Session.Calls":    func(r *decision.Record) any { return r.Judged.Session },
	"Session.CostUSD":  func(r *decision.Record) any { return r.Judged.Session },
	"Session.Tokens":   func(r *decision.Record) any { return r.Judged.Session },
	"Intent.PlanID":    func(r *decision.Record) any { return r.PlanID },
	"Intent.Step":      func(r *decision.Record) any { return r.Judged.Step },
	"Intent.Declared":  func(r *decision.Record) any { return r.PlanID },
	"Intent.Goal":      func(r *decision.Record) any { return r.PlanID }, // the plan tells it
	"Intent.Grounded":  func(r *decision.Record) any { return r.Judged.Grounded },
	"Labels":           func(r *decision.Record) any { return r.Labels },
	"Environment":      func(r *decision.Record) any { return r.Environment },
	"Now.wall":         func(r *decision.Record) any { return r.At },
	"ResolvedPaths":    func(r *decision.Record) any { return string(r.Paths) },
	"Key.Alone":        nil, // which of the two questions it is, not a fact about the call
	"Uncut":            nil, // as well: server and tool are the same in both
	"Session.Load":     nil, // reads the session's numbers
	"Agent.Name":       func(r *decision.Record) any { return r.Judged.AgentName },
	"Agent.Status":     func(r *decision.Record) any { return r.Judged.AgentStatus },
	"Agent.Registered": func(r *decision.Record) any { return r.Judged.AgentRegistered },
	"Agent.Attested":   func(r *decision.Record) any { return r.Judged.AgentCertificate },
	"Key.AgentID":      func(r *decision.Record) any { return r.Judged.AgentBound },
	"Now.ext":          nil,
	"Now.loc":          nil,
	"CanConfine":       func(r *decision.Record) any { return r.Judged.CanConfine },
	"CanOblige":        nil, // told by Oblige, where a rule demands something: no condition sees it
}

// TestEverythingThatIsJudgedIsRecorded makes a call whose plan says what the call itself does not, and compares what
// conditions can see with what the record tells.
func TestEverythingThatIsJudgedIsRecorded(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.active("p", allowAll, `id: cheap; effect: deny; tools: ["*"]; when: "session.costUsd > 1000.0"`)
		shown := e.mint(e.agent, twoSteps, func(r *intent.Request) { r.AgentID, r.SessionID = "billing", "s-1" })
		e.register("billing", agent.Profile{Name: "Billing", Keys: []string{e.agent.KeyID}})
		e.agent = e.certified("billing", e.agent)
		call := planned(shown, "bash", `{"command":"make"}`)
		call.Labels, call.Environment = []string{"l"}, "production"
		call.ResolvedPaths, call.CanConfine = map[string]string{"a": "/a"}, true
		if a := e.decide(call); !a.Allowed() {
			t.Fatalf("the call is not allowed: %+v", a)
		}
		rows, err := decision.Read(t.Context(), e.db, e.acme, 0, 10)
		if err != nil || len(rows) != 1 {
			t.Fatalf("%d decisions, %v", len(rows), err)
		}
		for _, member := range leaves(reflect.TypeFor[toolcall.Call](), "") {
			tell, known := recordedIn[member]
			if !known {
				t.Errorf("conditions may see %s, and nothing says where the record tells it", member)
			}
			if tell != nil && reflect.ValueOf(tell(&rows[0])).IsZero() {
				t.Errorf("%s was judged, and the record does not tell it", member)
			}
		}
		if r := rows[0]; r.AgentID != "billing" || r.SessionID != "s-1" || r.Judged.UserID != e.ada ||
			r.Judged.OwnerRole != "owner" || r.Judged.Step != "1" || r.Judged.Email != "ada@example.org" {
			t.Errorf("the record tells %q, %q, %+v", r.AgentID, r.SessionID, r.Judged)
		}
	})
}

// leaves are the paths of the members of a struct that hold no further members.
func leaves(of reflect.Type, path string) (paths []string) {
	for i := range of.NumField() {
		f := of.Field(i)
		if f.Type.Kind() == reflect.Struct {
			paths = append(paths, leaves(f.Type, path+f.Name+".")...)
			continue
		}
		paths = append(paths, path+f.Name)
	}
	return slices.Clip(paths)
}

// TestBothNamesAreRecorded: where the host and the called name say different things, the record tells both.
func TestBothNamesAreRecorded(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.active("p", allowAll)
		a := e.decide(enforcement.Request{Server: "free", Tool: "x", CalledAs: "mcp__files__delete"})
		if !a.Allowed() {
			t.Fatalf("nothing forbids it: %+v", a)
		}
		rows, err := decision.Read(t.Context(), e.db, e.acme, 0, 10)
		if err != nil || len(rows) != 1 || rows[0].Server != "free" || rows[0].Tool != "x" ||
			rows[0].CalledAs != "mcp__files__delete" {
			t.Errorf("%+v, %v", rows, err)
		}
	})
}
