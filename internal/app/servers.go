package app

import (
	"context"
	"time"

	"writ/internal/carrier"
	"writ/internal/config"
	"writ/internal/gateway"
	"writ/internal/mcp"
	"writ/internal/mcp/definition"
	"writ/internal/mcp/discovery"
	"writ/internal/mcp/upstream"
	"writ/internal/outbound"
)

// newServers makes the registry of MCP servers. It calls them with connections of its own: a server that is
// slow to answer must not delay webhooks to the same host.
func (a *Areas) newServers(c config.Config) *mcp.Service {
	a.toServers = outbound.New(askingOptions(c))
	return mcp.New(mcp.Options{
		Database: a.Database,
		Log:      a.log,
		Sealer:   a.sealer,
		List: func(ctx context.Context, t discovery.Target) (definition.Server, error) {
			return discovery.List(ctx, a.toServers.Stream(), t)
		},
		CheckURL:   a.toServers.Check,
		MayBePlain: a.toServers.IsPermitted,
		Redefined:  a.Certificates.DefinitionsChanged,
		Refused:    a.Certificates.ServerGone,
		Notify:     mcp.Notifier{Held: a.notifyHeld, Released: a.Notifications.SettleServer},
	})
}

// askingOptions are those of the connections that ask MCP servers what they offer. One that starts when it is first
// asked may take all the time of a discovery to begin its answer.
func askingOptions(c config.Config) outbound.Options {
	return outbound.Options{Permits: c.OutboundAllow, Timeout: discovery.MaxTime}
}

// toOneServer is how many connections to one MCP server calls may have at once. Streams have others, one for each
// session of an agent.
const (
	toOneServer        = 512
	streamsOfOneServer = gateway.MaxSessions
)

// lines are the connections with MCP servers. They are apart from others, because calls last long and are many: how
// long an answer may take is the carrier's to say.
type lines struct {
	toTools   *outbound.Client // carries calls to them
	toStreams *outbound.Client // carries what they send of their own accord
	dialer    *upstream.Dialer
}

func newLines(c config.Config) (l lines) {
	l.toTools = outbound.New(outbound.Options{
		Permits: c.OutboundAllow, Timeout: carrier.MaxTimeout + time.Minute, Conns: toOneServer,
	})
	l.toStreams = outbound.New(outbound.Options{
		Permits: c.OutboundAllow, Timeout: carrier.MaxTimeout + time.Minute, Conns: streamsOfOneServer,
	})
	l.dialer = upstream.New(l.toTools.Stream(), l.toStreams.Stream())
	return l
}

// close ends the sessions with MCP servers, and then what carries out calls.
func (l lines) close(c *carrier.Carrier) {
	l.dialer.Close()
	c.Close()
	l.toTools.Close()
	l.toStreams.Close()
}

// newCarrier makes what carries out calls.
func (a *Areas) newCarrier(o Options) *carrier.Carrier {
	a.lines = newLines(o.Config)
	return carrier.New(carrier.Options{
		Enforcement: a.Enforcement,
		Executions:  a.Executions,
		Servers:     ownServers{a.Servers},
		Policies:    a.Policies,
		Dialer:      a.lines.dialer,
		UserToken:   a.tokenFor,
		Spent:       a.spentAt,
		Stopped:     a.Agents.RefuseStopped,
		Refused:     a.Enforcement.RefuseCaller,
		Now:         a.Database.Now,
		Logger:      o.Logger,
	})
}

// closeCarrier ends the sessions with MCP servers, before the database closes.
func (a *Areas) closeCarrier() {
	if a.Carrier == nil {
		return
	}
	a.lines.close(a.Carrier)
}
