package app

import (
	"context"

	"writ/internal/enforcement"
	"writ/internal/gateway"
	"writ/internal/mcp"
	"writ/internal/mcp/upstream"
	"writ/internal/principal"
)

// newGateway makes the MCP endpoint.
func (a *Areas) newGateway(o Options) *gateway.Gateway {
	a.dialer = upstream.New(a.toServers.Stream())
	return gateway.New(gateway.Options{
		Servers:      a.Servers,
		Target:       a.targetOf,
		Decisions:    a.Enforcement,
		Approvals:    a.Approvals,
		Carry:        a.carry,
		Dialer:       a.dialer,
		Logger:       o.Logger,
		Version:      o.Version,
		HoldTime:     o.Config.HoldWait,
		MaxBodyBytes: o.Config.MaxBodyBytes,
	})
}

func (a *Areas) targetOf(_ context.Context, of *mcp.Server) (upstream.Target, error) {
	header, err := a.Servers.Credentials(of)
	return upstream.Target{Name: of.Name, URL: of.URL, Transport: of.Transport, Header: header}, err
}

func (a *Areas) carry(
	ctx context.Context, caller principal.Principal, call enforcement.Request,
	send func(ctx context.Context, arguments []byte) ([]byte, error),
) ([]byte, enforcement.Answer, error) {
	answer := a.Enforcement.Decide(ctx, caller, call)
	if !answer.Allowed() {
		return nil, answer, nil
	}
	result, err := send(ctx, call.Arguments)
	return result, answer, err
}
