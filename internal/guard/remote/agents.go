package remote

import (
	"context"
	"net/http"
	"net/url"
	"sync"
	"time"

	"writ/internal/fault"
	"writ/internal/guard/message"
	"writ/internal/principal"
)

const (
	// maxAgents is how many agents a proxy works for at once, and agentTime how long it remembers an idle one.
	maxAgents = 50_000
	agentTime = time.Hour
)

// held is the credential of an agent, as it was last admitted.
type held struct {
	credential, at string
	used           time.Time
}

// name names a credential: access tokens for different servers may stand for the same key.
type name struct{ keyID, audience string }

func nameOf(p principal.Principal) name { return name{p.KeyID, p.Audience} }

// agents are the credentials of those that the proxy works for. They are needed while their sessions last, and are
// nowhere but in memory.
type agents struct {
	mu     sync.Mutex
	byName map[name]*held
}

func (a *agents) put(of name, credential, at string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := time.Now()
	if a.byName == nil {
		a.byName = map[name]*held{}
	}
	if len(a.byName) >= maxAgents && a.byName[of] == nil {
		for other, h := range a.byName {
			if now.Sub(h.used) > agentTime {
				delete(a.byName, other)
			}
		}
		if len(a.byName) >= maxAgents {
			return fault.New(fault.Unavailable, "this proxy works for too many agents: try again later")
		}
	}
	a.byName[of] = &held{credential, at, now}
	return nil
}

func (a *agents) get(of name) (credential, at string, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	h := a.byName[of]
	if h == nil {
		return "", "", false
	}
	h.used = time.Now()
	return h.credential, h.at, true
}

// headers are those of a question on behalf of an agent.
func headers(credential, at string) http.Header {
	h := http.Header{message.AgentHeader: {credential}}
	if at != "" {
		h[message.ServerHeader] = []string{at}
	}
	return h
}

// askFor asks the server on behalf of an agent that was admitted.
func (s *Server) askFor(ctx context.Context, p principal.Principal, q question, answer any) error {
	credential, at, ok := s.agents.get(nameOf(p))
	if !ok {
		return fault.New(fault.Unauthenticated, "this proxy does not know the agent's credential: send it again")
	}
	q.header = headers(credential, at)
	return s.ask(ctx, q, answer)
}

// Caller is an agent that was admitted.
type Caller struct {
	Principal principal.Principal
	AgentID   string // the agent that an OAuth client acts as
	ExpiresAt time.Time
	Stopped   bool // a person has stopped its key
	// Challenge is the WWW-Authenticate of a refusal.
	Challenge string
}

// Admit has the server say who a credential stands for. at is the MCP server at whose address an access token was
// shown; empty: it was at that of all, or is an API key.
func (s *Server) Admit(ctx context.Context, credential, at string) (Caller, error) {
	var said message.ProxyCaller
	err := s.ask(ctx, question{
		method: http.MethodGet, path: "/proxy/guard/caller", header: headers(credential, at),
	}, &said)
	if err != nil {
		return Caller{}, err
	}
	if err := problemOf(&said); err != nil {
		return Caller{Challenge: said.Challenge}, err
	}
	if said.KeyID == "" || said.OrganizationID == "" {
		return Caller{}, away(nil)
	}
	c := Caller{AgentID: said.AgentID, Stopped: said.Stopped, Principal: principal.Principal{
		Kind:     principal.Key,
		KeyID:    said.KeyID,
		UserID:   said.UserID,
		OrgID:    said.OrganizationID,
		Scopes:   []principal.Scope{principal.Enforce},
		Audience: at,
	}}
	if said.ExpiresAt != nil {
		c.ExpiresAt = *said.ExpiresAt
	}
	return c, s.agents.put(nameOf(c.Principal), credential, at)
}

func problemOf(said *message.ProxyCaller) error {
	switch {
	case said.Problem == "":
		return nil
	case said.Forbidden:
		return fault.New(fault.Forbidden, "%s", said.Problem)
	}
	return fault.New(fault.Unauthenticated, "%s", said.Problem)
}

// standing asks how an agent stands that was admitted.
func (s *Server) standing(ctx context.Context, p principal.Principal, agentID string) (message.ProxyCaller, error) {
	var said message.ProxyCaller
	err := s.askFor(ctx, p, question{
		method: http.MethodGet, path: "/proxy/guard/caller", query: url.Values{"agentId": {agentID}},
	}, &said)
	if err != nil {
		return said, err
	}
	if err := problemOf(&said); err != nil {
		return said, err
	}
	if said.KeyID != p.KeyID || said.OrganizationID != p.OrgID {
		return said, fault.New(fault.Unauthenticated, "the credential is another agent's now")
	}
	return said, nil
}
