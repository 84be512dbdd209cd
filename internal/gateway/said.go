package gateway

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"writ/internal/enforcement"
	"writ/internal/intent/plan"
)

// What a client may say of its calls, in headers or in _meta. Nothing else of _meta is read, and none of it is sent on.
const (
	planHeader  = "Writ-Plan"
	agentHeader = "Writ-Agent"
	userHeader  = "Writ-User"
	workHeader  = "Writ-Agent-Session"

	planMeta  = "writ/plan"
	agentMeta = "writ/agent"
	userMeta  = "writ/user"
	workMeta  = "writ/session"
	// decisionMeta is where results say what was decided.
	decisionMeta = "writ/decision"
)

// said is what a client says of a call: words, as anywhere else.
type said struct {
	plan    plan.Presented
	planned bool // it shows something as its plan, and is judged by it
	agent   string
	granted bool // the agent is the one that a person has let the client act as
	user    string
	session string
}

type grantedAgent struct{}

// WithAgent is the context of a request of a client that a person has let act as one agent, whatever it says itself.
func WithAgent(ctx context.Context, agentID string) context.Context {
	return context.WithValue(ctx, grantedAgent{}, agentID)
}

// saidIn is what a request says in its headers.
func saidIn(r *http.Request) said {
	h := r.Header
	s := said{agent: h.Get(agentHeader), user: h.Get(userHeader), session: h.Get(workHeader)}
	if agentID, granted := r.Context().Value(grantedAgent{}).(string); granted {
		s.agent, s.granted = agentID, true
	}
	for _, text := range h.Values(planHeader) {
		if text = strings.TrimSpace(text); text == "" {
			continue
		}
		shown := presented(text)
		if s.planned && shown != s.plan {
			s.plan.Contradictory = true // nobody can tell which of them the caller goes by
			break
		}
		s.planned, s.plan = true, shown
	}
	return s
}

// presented reads the token of a plan, or what the server answered when it was declared.
func presented(text string) plan.Presented {
	if strings.HasPrefix(text, "{") {
		return plan.ParsePresented([]byte(text))
	}
	quoted, err := jsontext.AppendQuote(nil, text)
	if err != nil {
		return plan.Presented{}
	}
	return plan.ParsePresented(quoted)
}

// saidWith is what _meta says.
func saidWith(meta sdk.Meta) (s said) {
	text := func(name string) string {
		value, _ := meta[name].(string)
		return value
	}
	s.agent, s.user, s.session = text(agentMeta), text(userMeta), text(workMeta)
	switch value := meta[planMeta].(type) {
	case nil:
	case string:
		s.planned, s.plan = true, presented(value)
	default:
		s.planned = true
		if raw, err := json.Marshal(value); err == nil {
			s.plan = plan.ParsePresented(raw)
		}
	}
	return s
}

// or is what is said here, and otherwise there.
func (s said) or(other said) said {
	if !s.planned {
		s.plan, s.planned = other.plan, other.planned
	}
	if other.granted && !s.granted {
		s.agent, s.granted = other.agent, true
	}
	s.agent, s.user = cmp.Or(s.agent, other.agent), cmp.Or(s.user, other.user)
	s.session = cmp.Or(s.session, other.session)
	return s
}

// unplanned is what is said, without the plan: what a server asks is not what the agent has planned.
func (s said) unplanned() said {
	s.plan, s.planned = plan.Presented{}, false
	return s
}

// saidOf is what is said of a message: with it, by its request, or when the session was opened.
func (s *session) saidOf(req sdk.Request, meta sdk.Meta) said {
	all := saidWith(meta)
	if e := exchangeOf(req); e != nil {
		all = all.or(e.said)
	}
	return all.or(s.opened)
}

// request is a request for a decision by what was said. A client that names neither a plan nor a session gets the
// session of MCP, so that policies that count by session have one to count by.
func (s *session) request(of said) enforcement.Request {
	if of.session == "" && !of.planned && s.id != "" {
		sum := sha256.Sum256([]byte(s.id))
		of.session = "mcp-" + hex.EncodeToString(sum[:8])
	}
	return enforcement.Request{
		Presented:     of.plan,
		TokenRequired: of.planned,
		AgentID:       of.agent,
		UserID:        of.user,
		SessionID:     of.session,
		Source:        enforcement.SourceMCP,
		CanOblige:     true, // of what it lists: the carrier says which calls
	}
}
