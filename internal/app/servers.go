package app

import (
	"context"

	"writ/internal/config"
	"writ/internal/mcp"
	"writ/internal/mcp/definition"
	"writ/internal/mcp/discovery"
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
