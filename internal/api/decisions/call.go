package decisions

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"writ/internal/api/route"
	"writ/internal/canonical"
	"writ/internal/enforcement"
	"writ/internal/intent/plan"
	"writ/internal/toolcall"
	"writ/internal/toolname"
)

// sentCall is a call as it is being read.
type sentCall struct {
	enforcement.Request
	host struct{ server, tool string } // as the host knows the tool
	// The names under which server, tool and arguments were read; empty: they were not.
	serverAs, toolAs, argumentsAs string
	shown                         plan.Shown
}

// callMembers are the members of a body, and what reads them. Others are passed
// over, because published clients send more than we read, unless they are misspellings of these.
type callMembers map[string]func(*sentCall, *callReader) error

// callReader reads a body in one pass. Values are parts of the body itself.
type callReader struct {
	*jsontext.Decoder
	body []byte
}

// readCall reads a call. A body that two readers could take for different calls
// (a member twice, bad UTF-8, something behind it) is refused.
func readCall(body []byte, members callMembers) (sentCall, error) {
	in := &callReader{jsontext.NewDecoder(bytes.NewBuffer(body)), body}
	var call sentCall
	var rest route.Unread
	if in.PeekKind() != jsontext.KindBeginObject {
		return call, route.ErrNoObject
	}
	if _, err := in.ReadToken(); err != nil {
		return call, err
	}
	for in.PeekKind() != jsontext.KindEndObject {
		name, err := in.ReadToken()
		if err != nil {
			return call, err
		}
		member := name.String() // the token is gone once its value is read
		read := members[member]
		if read == nil {
			err = cmp.Or(rest.Check(member, callNames), in.SkipValue())
		} else {
			err = read(&call, in)
		}
		if err != nil {
			return call, at(member, err)
		}
	}
	if _, err := in.ReadToken(); err != nil {
		return call, err
	}
	if _, err := in.ReadToken(); err != io.EOF {
		return call, route.ErrNoObject
	}
	if toolname.IsReserved(call.host.server) {
		return call, errReserved
	}
	if hasEdges(call.host.server) || hasEdges(call.host.tool) {
		return call, errEdges
	}
	return call, call.place()
}

// at says which member has no text, as route.Describe does of other types. The name is one that we read, so that
// nothing of the body is repeated.
func at(member string, err error) error {
	if errors.Is(err, errNoText) {
		return errNoText + route.BodyError(" at \"/"+member+"\"")
	}
	return err
}

// hasEdges reports whether a name has spaces at an end. Names are judged without, and a host that says one has a tool
// which would pass for another.
func hasEdges(name string) bool { return strings.TrimSpace(name) != name }

// place puts the call where the host says it is. What the called name says is judged too, also where it is the tool's
// own: a harness may have a tool of that name itself.
func (c *sentCall) place() error {
	host := toolname.Name{Server: c.host.server, Tool: c.host.tool}
	if host.Tool == "" { // the host says the server alone
		host.Tool = strings.TrimSpace(c.Tool)
	}
	switch {
	case host.Server == "" || host.Tool == "":
		return nil
	case c.Server != "" && c.Server != host.Server:
		return differ("mcp_context.server_name", c.serverAs)
	case c.Tool == "":
		c.Tool = host.Tool
	}
	c.CalledAs, c.Server, c.Tool = c.Tool, host.Server, host.Tool
	return nil
}

// shared are the members of a call, under every name that clients have for them.
func shared(more callMembers) callMembers {
	members := callMembers{
		"user_email":      textInto(func(c *sentCall) *string { return &c.UserEmail }),
		"user_id":         textInto(func(c *sentCall) *string { return &c.UserID }),
		"agent_id":        textInto(func(c *sentCall) *string { return &c.AgentID }),
		"context_id":      textInto(func(c *sentCall) *string { return &c.ContextID }),
		"session_id":      textInto(func(c *sentCall) *string { return &c.SessionID }),
		"session_turn":    readTurn,
		"labels":          func(c *sentCall, in *callReader) error { return in.decode(&c.Labels) },
		"resolvedPaths":   func(c *sentCall, in *callReader) error { return in.decode(&c.ResolvedPaths) },
		"capabilities":    readCapabilities,
		route.ContextName: readContext,
	}
	for _, name := range route.ServerNames {
		members[name] = readSpelled(name, func(c *sentCall) (text, as *string) { return &c.Server, &c.serverAs })
	}
	for _, name := range route.ToolNames {
		members[name] = readSpelled(name, func(c *sentCall) (text, as *string) { return &c.Tool, &c.toolAs })
	}
	for _, name := range route.ArgumentsNames {
		members[name] = readArguments(name)
	}
	for _, name := range route.PlanTokenNames {
		members[name] = readIntent(name)
	}
	for _, name := range answerNames {
		members[name] = func(*sentCall, *callReader) error { return errAnswer }
	}
	for name, read := range more {
		members[name] = read
	}
	return members
}

var (
	sdkMembers    = shared(nil)
	pluginMembers = shared(callMembers{"source": readSource})

	answerNames = []string{"allowed", "enforcementAction", "decision"}
	callNames   = slices.DeleteFunc(slices.Sorted(maps.Keys(pluginMembers)), func(name string) bool {
		return slices.Contains(answerNames, name)
	})
)

// contextMembers are those of a PluginContextBody. A host says more of a tool than them.
var contextMembers = []string{"server_name", "tool_name"}

func readContext(c *sentCall, in *callReader) error {
	begin := in.InputOffset()
	var host *PluginContextBody
	if err := in.decode(&host); err != nil || host == nil {
		return err
	}
	sent := bytes.TrimLeft(in.body[begin:in.InputOffset()], ": \t\r\n")
	if err := route.RefuseMisspelled(sent, contextMembers); err != nil {
		return err
	}
	c.host.server, c.host.tool = host.ServerName, host.ToolName
	return nil
}

// readSpelled reads a name that clients may write under several members, which must agree.
func readSpelled(
	name string, place func(*sentCall) (text, as *string),
) func(*sentCall, *callReader) error {
	return func(c *sentCall, in *callReader) error {
		var sent string
		if err := textInto(func(*sentCall) *string { return &sent })(c, in); err != nil {
			return err
		}
		text, as := place(c)
		switch sent = strings.TrimSpace(sent); {
		case sent == "":
		case *as == "":
			*text, *as = sent, name
		case *text != sent:
			return differ(name, *as)
		}
		return nil
	}
}

// differ refuses two spellings of one thing that do not agree: nobody can tell which of them the caller goes by.
func differ(name, other string) error {
	return route.BodyError("has " + name + ", which must be the same as " + other + ", or absent")
}

// textInto reads a text into a member of the call. Null is none, as some
// clients write it.
func textInto(place func(*sentCall) *string) func(*sentCall, *callReader) error {
	return func(c *sentCall, in *callReader) error {
		token, err := in.ReadToken()
		switch {
		case err != nil:
			return err
		case token.Kind() == jsontext.KindNull:
			return nil
		case token.Kind() != jsontext.KindString:
			return errNoText
		}
		*place(c) = token.String()
		return nil
	}
}

// readArguments reads the arguments under one of their names.
func readArguments(name string) func(*sentCall, *callReader) error {
	return func(c *sentCall, in *callReader) error {
		value, err := in.ReadValue()
		if err != nil || value.Kind() == jsontext.KindNull {
			return err
		}
		end := in.InputOffset()
		sent := in.body[end-int64(len(value)) : end]
		if c.argumentsAs == "" {
			c.Arguments, c.argumentsAs = sent, name
			return nil
		}
		one, err := canonical.Transform(c.Arguments)
		if err != nil {
			return differ(name, c.argumentsAs)
		}
		if other, err := canonical.Transform(sent); err != nil || !bytes.Equal(one, other) {
			return differ(name, c.argumentsAs)
		}
		return nil
	}
}

// readIntent reads the token of the plan under one of its names.
func readIntent(name string) func(*sentCall, *callReader) error {
	return func(c *sentCall, in *callReader) error {
		if in.PeekKind() == jsontext.KindNull {
			return in.SkipValue()
		}
		c.TokenRequired = true // whoever shows something in place of a token is judged by it
		begin := in.InputOffset()
		presented, err := plan.ReadPresented(in.Decoder)
		if err != nil {
			return err
		}
		sent := bytes.TrimLeft(in.body[begin:in.InputOffset()], ": \t\r\n")
		err = c.shown.Add(name, sent, presented)
		c.Presented = c.shown.Presented
		return disagreeing(err)
	}
}

// disagreeing is an error about the tokens of a body in the words of errors about bodies.
func disagreeing(err error) error {
	if d, ok := errors.AsType[*plan.DisagreeError](err); ok {
		return route.BodyError("has " + d.Name + ", which " + d.Message)
	}
	return err
}

// readTurn reads the turn that the caller knows.
func readTurn(c *sentCall, in *callReader) error {
	if in.PeekKind() == jsontext.KindNull {
		return in.SkipValue()
	}
	if err := in.decode(&c.Turn); err != nil || c.Turn < 1 {
		return errNoTurn
	}
	return nil
}

// maxCapabilities is how many capabilities are read. Whoever lists more has none.
const maxCapabilities = 32

// readCapabilities reads what the caller can do. What it does not know means nothing, whatever its form: published
// clients may send such a member for reasons of their own.
func readCapabilities(c *sentCall, in *callReader) error {
	value, err := in.ReadValue()
	var stated []string
	if err == nil && json.Unmarshal(value, &stated) == nil && len(stated) <= maxCapabilities {
		c.CanConfine = slices.Contains(stated, toolcall.Confine)
		c.CanOblige = slices.Contains(stated, toolcall.Oblige)
	}
	return err
}

// readSource reads the client's name, and translates it into the one that policies and plans know.
func readSource(c *sentCall, in *callReader) error {
	err := textInto(func(c *sentCall) *string { return &c.Source })(c, in)
	if harness := toolname.Harness(c.Source); harness != toolname.Local {
		c.Source = harness
	}
	return err
}

func (in *callReader) decode(to any) error { return json.UnmarshalDecode(in.Decoder, to) }

// What is wrong with a body that is JSON.
var (
	errNoText   = route.BodyError("has a value of the wrong type")
	errNoTurn   = route.BodyError("has a session_turn that is no number of a turn")
	errAnswer   = route.BodyError("has a member that only answers have: send a call, not an answer")
	errEdges    = route.BodyError("has an mcp_context with a name that begins or ends with a space: no such tool runs")
	errReserved = route.BodyError("has an mcp_context.server_name that stands for coding agents' own tools: " +
		"give the MCP server another name")
)
