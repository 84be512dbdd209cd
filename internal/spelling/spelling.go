// Package spelling knows every name under which clients write the parts of a call, and makes one of them.
//
// Policies say server, tool and arguments; plans say mcp, action and params; plugins say mcp_context, tool_name and
// tool_input; people who write a request by hand say args, as conditions do, or parameters, as models do. All of them
// mean the same, so that every surface takes all of them: arguments under a name that nobody reads would not be judged.
// A part that is written under two names must be the same under both: otherwise two readers could take one request for
// two different calls. Members with other names are left as they are, because published clients send many.
package spelling

import (
	"errors"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"writ/internal/fault"
	"writ/internal/toolname"
)

// Context is the member in which plugins say which tool of which server a call is of.
const Context = "mcp_context"

// The members of Context.
const (
	ContextServer = "server_name"
	ContextTool   = "tool_name"
)

// The names of each part, the one of policies first.
var (
	Server    = []string{"server", "mcp"}
	Tool      = []string{"tool", "action", "tool_name"}
	Arguments = []string{"arguments", "params", "tool_input", "input", "inputs", "args", "parameters"}
	Approval  = []string{"approvalId", "delegationId"}
	// PlanToken is the token of the plan. A call is judged by it under any of these names: one that is passed over
	// would leave the call to be judged without its plan.
	PlanToken = []string{
		"intent_token", "intent", "token", "plan_token", "jwt_token", "intent_token_raw",
		"intentToken", "planToken", "jwtToken", "intentTokenRaw",
	}
)

// Names are the names under which one surface reads the parts of a call.
type Names struct {
	Server, Tool string
	Arguments    string // empty: the surface takes none, and NoArguments says why
	NoArguments  string
	// Others are names that mean something else on this surface.
	Others []string
	// Lenient takes arguments of any type, and a name of another type than text for absent. Nothing are texts that say
	// nothing. Both are for reports, of which none may be lost.
	Lenient bool
	Nothing []string
}

// of are the names under which a surface takes a part: all that clients have, and its own.
func (n Names) of(part []string, own string) []string {
	names := slices.DeleteFunc(slices.Clone(part), func(name string) bool { return slices.Contains(n.Others, name) })
	if own != "" && !slices.Contains(names, own) {
		names = append(names, own)
	}
	return names
}

// Rewrite is an object with the parts of a call under the names that a surface reads. An object that has no other
// spelling is returned as it is, and so is what is no object: the surface says what is wrong with it. Its error names
// the member that is wrong.
func (n Names) Rewrite(object jsontext.Value) (jsontext.Value, error) {
	sent, ok := read(object)
	if !ok || !n.spelled(sent) {
		return object, nil
	}
	if err := n.open(&sent); err != nil {
		return nil, err
	}
	if err := n.join(&sent, n.Server, n.of(Server, n.Server), jsontext.KindString); err != nil {
		return nil, err
	}
	if err := n.join(&sent, n.Tool, n.of(Tool, n.Tool), jsontext.KindString); err != nil {
		return nil, err
	}
	if n.Arguments == "" {
		return sent.text(), n.refuseArguments(sent)
	}
	if err := n.join(&sent, n.Arguments, n.of(Arguments, n.Arguments), jsontext.KindBeginObject); err != nil {
		return nil, err
	}
	return sent.text(), nil
}

// refuseArguments says that a surface takes none: whoever sends them would think that they count.
func (n Names) refuseArguments(sent members) error {
	for _, name := range n.of(Arguments, "") {
		if value := sent.find(name); value != nil && value.Kind() != jsontext.KindNull {
			return fault.Field(name, "%s", n.NoArguments)
		}
	}
	return nil
}

// RewriteApproval is an object with the id of an approval under the name that a surface reads.
func RewriteApproval(object jsontext.Value, to string) (jsontext.Value, error) {
	sent, ok := read(object)
	if !ok || !slices.ContainsFunc(Approval, func(name string) bool { return name != to && sent.has(name) }) {
		return object, nil
	}
	if err := (Names{}).join(&sent, to, Approval, jsontext.KindString); err != nil {
		return nil, err
	}
	return sent.text(), nil
}

// RewriteAt rewrites the object that a body has under a name, or each object of the list there; an empty name is the
// body itself.
func RewriteAt(body jsontext.Value, at string, rewrite func(jsontext.Value) (jsontext.Value, error)) (
	jsontext.Value, error,
) {
	if at == "" {
		return rewrite(body)
	}
	sent, ok := read(body)
	if !ok {
		return body, nil
	}
	for i := range sent {
		if sent[i].name != at {
			continue
		}
		var err error
		if sent[i].value.Kind() == jsontext.KindBeginArray {
			sent[i].value, err = rewriteEach(sent[i].value, rewrite)
		} else {
			sent[i].value, err = rewrite(sent[i].value)
		}
		if err != nil {
			return nil, within(at, err)
		}
	}
	return sent.text(), nil
}

// within is the error about a member of what a body has under a name.
func within(at string, err error) error {
	f, ok := errors.AsType[*fault.Error](err)
	if !ok || len(f.Details) == 0 {
		return err
	}
	return fault.Field(at+"."+f.Details[0].Field, "%s", f.Details[0].Message)
}

func rewriteEach(list jsontext.Value, rewrite func(jsontext.Value) (jsontext.Value, error)) (jsontext.Value, error) {
	var items []jsontext.Value
	if json.Unmarshal(list, &items) != nil {
		return list, nil
	}
	for i := range items {
		var err error
		if items[i], err = rewrite(items[i]); err != nil {
			return nil, err
		}
	}
	return json.Marshal(items)
}

// spelled reports whether a part is written otherwise than the surface reads it.
func (n Names) spelled(sent members) bool {
	other := func(to string, names []string) bool {
		return slices.ContainsFunc(n.of(names, to), func(name string) bool { return name != to && sent.has(name) })
	}
	return other(n.Server, Server) || other(n.Tool, Tool) || other(n.Arguments, Arguments) || sent.has(Context)
}

// open puts what Context says beside the other names. The name that was called must be one of the tool that Context
// names: which of two tools the call is of, only a decision can weigh.
func (n Names) open(sent *members) error {
	raw := sent.take(Context)
	if raw == nil || raw.Kind() == jsontext.KindNull {
		return nil
	}
	var host struct {
		Server string `json:"server_name"`
		Tool   string `json:"tool_name"`
	}
	if raw.Kind() != jsontext.KindBeginObject || json.Unmarshal(raw, &host) != nil {
		return fault.Field(Context, "must be an object with %s and %s", ContextServer, ContextTool)
	}
	server, tool := strings.TrimSpace(host.Server), strings.TrimSpace(host.Tool)
	if server == "" {
		return nil // as a decision takes it: the host does not know
	}
	if toolname.IsReserved(server) {
		return fault.Field(Context+"."+ContextServer, "stands for coding agents' own tools: "+
			"give the MCP server another name")
	}
	for _, name := range n.of(Tool, n.Tool) {
		called, ok := sent.name(name)
		if !ok || tool == "" { // the host says the server alone
			continue
		}
		if _, contradicts := toolname.CalledFor(toolname.Name{Server: server, Tool: tool}, called, ""); contradicts {
			return fault.Field(Context+"."+ContextTool, "must be the tool of %s, or absent", name)
		}
		sent.take(name)
	}
	for _, name := range n.of(Server, n.Server) {
		if stated, ok := sent.name(name); ok && stated != server {
			return fault.Field(Context+"."+ContextServer, "must be the same as %s, or absent", name)
		}
	}
	if tool != "" {
		sent.take(n.Tool) // null, which says nothing
		sent.put(n.Tool, quoted(tool))
	}
	sent.take(n.Server)
	sent.put(n.Server, quoted(server))
	return nil
}

// join leaves one member of those that mean the same. Null, and a text of spaces, say nothing.
func (n Names) join(m *members, to string, names []string, kind jsontext.Kind) error {
	said, by := jsontext.Value(nil), ""
	for _, name := range names {
		value := m.find(name)
		switch {
		case value == nil || value.Kind() == jsontext.KindNull || n.saysNothing(*m, name, kind):
			continue
		case value.Kind() != kind && !(n.Lenient && kind == jsontext.KindBeginObject):
			return fault.Field(name, "has a value of the wrong type")
		case said == nil:
			said, by = value, name
		case !same(said, value):
			return fault.Field(name, "must be the same as %s, or absent", by)
		}
	}
	if said == nil || by == to {
		m.drop(names, to)
		return nil
	}
	m.drop(names, "")
	m.put(to, said)
	return nil
}

// saysNothing reports whether a name is a text that says nothing.
func (n Names) saysNothing(m members, name string, kind jsontext.Kind) bool {
	if kind != jsontext.KindString {
		return false
	}
	if m.find(name).Kind() != jsontext.KindString {
		return n.Lenient
	}
	text, ok := m.name(name)
	return !ok || slices.Contains(n.Nothing, text)
}
