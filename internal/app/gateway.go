package app

import (
	"context"
	"net/http"

	"writ/internal/audit"
	"writ/internal/enforcement"
	"writ/internal/gateway"
	"writ/internal/mcp"
	"writ/internal/principal"
)

// newGateway makes the MCP endpoint.
func (a *Areas) newGateway(o Options) *gateway.Gateway {
	return gateway.New(gateway.Options{
		Servers:      a.Servers,
		Decisions:    ownDecisions{a.Enforcement},
		Approvals:    a.Approvals,
		Carrier:      a.Carrier,
		Logger:       o.Logger,
		Version:      o.Version,
		HoldTime:     o.Config.HoldWait,
		MaxBodyBytes: o.Config.MaxBodyBytes,
		ReadBody:     a.messages.Read,
	})
}

// ownDecisions are those of this process.
type ownDecisions struct{ *enforcement.Service }

func (d ownDecisions) Version(ctx context.Context, p principal.Principal) (audit.Version, error) {
	return d.Service.Version(ctx, p.OrgID)
}

// ownServers are the servers that this process has the secrets of.
type ownServers struct{ *mcp.Service }

func (s ownServers) ReachOf(ctx context.Context, by principal.Principal, server, tool string) (mcp.Reach, error) {
	return s.Service.ReachOf(ctx, by.OrgID, server, tool)
}

func (s ownServers) Credentials(
	_ context.Context, _ principal.Principal, r mcp.Reach, _ string,
) (http.Header, error) {
	return s.Service.Credentials(r)
}
