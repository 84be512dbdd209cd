package app

import "writ/internal/gateway"

// newGateway makes the MCP endpoint.
func (a *Areas) newGateway(o Options) *gateway.Gateway {
	return gateway.New(gateway.Options{
		Servers:      a.Servers,
		Decisions:    a.Enforcement,
		Approvals:    a.Approvals,
		Carrier:      a.Carrier,
		Logger:       o.Logger,
		Version:      o.Version,
		HoldTime:     o.Config.HoldWait,
		MaxBodyBytes: o.Config.MaxBodyBytes,
	})
}
