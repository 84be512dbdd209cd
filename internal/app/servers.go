package app

import (
	"context"

	"time"

	"writ/internal/carrier"
	"writ/internal/config"
	"writ/internal/mcp"
	"writ/internal/mcp/definition"
	"writ/internal/mcp/discovery"
	"writ/internal/mcp/upstream"
	"writ/internal/outbound"
)

// newServers makes the registry of MCP servers. It calls them with connections of its own: a server that is
// slow to answer must not delay webhooks to the same host.
func (a *Areas) newServers(c config.Config) *mcp.Service {
	a.toServers = outbound.New(outbound.Options{Permits: c.OutboundAllow})
	return mcp.New(mcp.Options{
		Database: a.Database,
		Log:      a.log,
		Sealer:   a.sealer,
		List: func(ctx context.Context, t discovery.Target) (definition.Server, error) {
			return discovery.List(ctx, a.toServers.Stream(), t)
		},
		CheckURL:   a.toServers.Check,
		MayBePlain: a.toServers.IsPermitted,
	})
}

// toOneServer is how many connections to one MCP server calls may have at once. Streams hold theirs.
const toOneServer = 512

// newCarrier makes what carries out calls. It has connections of its own, because calls last long and are many: how
// long an answer may take is the carrier's to say.
func (a *Areas) newCarrier(c config.Config, o Options) *carrier.Carrier {
	a.toTools = outbound.New(outbound.Options{
		Permits: c.OutboundAllow, Timeout: carrier.MaxTimeout + time.Minute, Conns: toOneServer,
	})
	a.dialer = upstream.New(a.toTools.Stream())
	return carrier.New(carrier.Options{
		Enforcement: a.Enforcement,
		Executions:  a.Executions,
		Servers:     a.Servers,
		Policies:    a.Policies,
		Dialer:      a.dialer,
		Stopped:     a.Agents.RefuseStopped,
		Now:         a.Database.Now,
		Logger:      o.Logger,
	})
}

// closeCarrier ends the sessions with MCP servers, before the database closes.
func (a *Areas) closeCarrier() {
	if a.Carrier == nil {
		return
	}
	a.dialer.Close()
	a.Carrier.Close()
	a.toTools.Close()
}
