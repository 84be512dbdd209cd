package remote

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"writ/internal/approval"
	"writ/internal/audit"
	"writ/internal/enforcement"
	"writ/internal/fault"
	"writ/internal/guard/message"
	"writ/internal/mcp"
	"writ/internal/principal"
	"writ/internal/toolname"
)

// listedServers are the servers of an organization, as they were read last.
type listedServers struct {
	servers map[string]mcp.Server // by id
	tools   map[string][]mcp.Tool
}

// maxListed is how many lists are kept.
const maxListed = 200

// list names a list of servers: an access token for one server is told of that one.
type list struct{ orgID, audience string }

func listOf(p principal.Principal) list { return list{p.OrgID, p.Audience} }

// List lists the approved servers that have an address. Only those are known to a proxy, whatever status is asked for.
func (s *Server) List(ctx context.Context, p principal.Principal, _ mcp.Status) ([]mcp.Server, error) {
	var said message.ProxyServers
	err := s.askFor(ctx, p, question{method: http.MethodGet, path: "/proxy/guard/servers"}, &said)
	if err != nil {
		return nil, err
	}
	read := &listedServers{servers: map[string]mcp.Server{}, tools: map[string][]mcp.Tool{}}
	var all []mcp.Server
	for i := range said.Servers {
		of, tools, err := said.Servers[i].Read()
		if err != nil {
			return nil, away(err)
		}
		all = append(all, of)
		read.servers[of.ID], read.tools[of.ID] = of, tools
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.listed) >= maxListed {
		clear(s.listed)
	}
	s.listed[listOf(p)] = read
	return all, nil
}

// Tools are those of a server that was listed.
func (s *Server) Tools(_ context.Context, p principal.Principal, id string) (mcp.Server, []mcp.Tool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	read := s.listed[listOf(p)]
	if read == nil || read.servers[id].ID == "" {
		return mcp.Server{}, nil, fault.New(fault.NotFound, "no such MCP server")
	}
	return read.servers[id], read.tools[id], nil
}

// Visible reports what a caller could ever be allowed, and how.
func (s *Server) Visible(
	ctx context.Context, p principal.Principal, r enforcement.Request, tools []toolname.Name,
) ([]enforcement.Sight, error) {
	asked := message.ProxyAsked{
		Plan:      message.ProxyPresented(r.Presented),
		AgentID:   r.AgentID,
		UserID:    r.UserID,
		UserEmail: r.UserEmail,
		SessionID: r.SessionID,
		Tools:     make([]message.ProxyNamed, len(tools)),
		Unobliged: !r.CanOblige,
	}
	for i, tool := range tools {
		asked.Tools[i] = message.ProxyNamed{Server: tool.Server, Tool: tool.Tool}
	}
	var said message.ProxyVisible
	err := s.askFor(ctx, p, question{method: http.MethodPost, path: "/proxy/guard/visible", body: asked}, &said)
	if err != nil {
		return nil, err
	}
	if len(said.Visible) != len(tools) || len(said.Redacted) != len(tools) {
		return nil, away(nil)
	}
	seen := make([]enforcement.Sight, len(tools))
	for i := range seen {
		seen[i] = enforcement.Sight{Visible: said.Visible[i], Redacted: said.Redacted[i]}
	}
	return seen, nil
}

// RefuseCaller is why a caller may call nothing now; an error that is no Forbidden fault says that nobody knows.
func (s *Server) RefuseCaller(ctx context.Context, p principal.Principal, agentID string) error {
	said, err := s.standing(ctx, p, agentID)
	switch {
	case err != nil:
		return err
	case said.Refused != "":
		return fault.New(fault.Forbidden, "%s", said.Refused)
	case said.Unknown != "":
		return fault.New(fault.Unavailable, "%s", said.Unknown)
	}
	return nil
}

// Version is how new what is known of the caller's organization is.
func (s *Server) Version(ctx context.Context, p principal.Principal) (audit.Version, error) {
	said, err := s.standing(ctx, p, "")
	return said.Version.Read(), err
}

// answerTime is what the server gets beyond the time that it waits.
const answerTime = 10 * time.Second

// Wait waits for the answer to an approval request.
func (s *Server) Wait(
	ctx context.Context, p principal.Principal, id string, upTo time.Duration,
) (approval.Request, error) {
	seconds := int(min(max(upTo, 0), time.Minute) / time.Second)
	var said message.ProxyApproval
	err := s.askFor(ctx, p, question{
		method: http.MethodGet,
		path:   "/proxy/guard/approvals/" + url.PathEscape(id),
		query:  url.Values{"wait": {strconv.Itoa(seconds)}},
		time:   time.Duration(seconds)*time.Second + answerTime,
	}, &said)
	return approval.Request{ID: id, Status: approval.Status(said.Status)}, err
}
