package app

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"sync"
	"time"

	"writ/internal/api/route"
	"writ/internal/api/standalone"
	"writ/internal/carrier"
	"writ/internal/config"
	"writ/internal/gateway"
	"writ/internal/guard/remote"
)

// messageBytes is how much memory the bodies of the proxy's requests may take together.
const messageBytes = 64 << 20

// Proxy is a running enforcement proxy in a process of its own.
type Proxy struct {
	API     *standalone.API
	URL     string // where agents reach it
	Address string // where it listens

	server    *remote.Server
	carrier   *carrier.Carrier
	lines     lines
	listeners listeners
	cancel    context.CancelFunc
	jobs      sync.WaitGroup
}

// StartProxy serves the enforcement proxy of the Writ server that the configuration names. Stop it.
func StartProxy(o Options) (*Proxy, error) {
	c := o.Config
	at, err := url.Parse(c.ServerURL)
	if err != nil {
		return nil, fmt.Errorf("WRIT_SERVER_URL: %w", err)
	}
	listener, err := listen(c)
	if err != nil {
		return nil, err
	}
	public := publicURL(c, listener.Addr().(*net.TCPAddr).Port)
	p := &Proxy{
		URL:       public.String(),
		Address:   askedAddress(c.Listen, listener),
		listeners: newListeners(o),
		server:    remote.New(remote.Options{URL: at, Token: c.ProxyToken, Logger: o.Logger}),
	}
	p.assemble(o, public)
	if err := p.serve(c, listener); err != nil {
		return nil, errors.Join(err, listener.Close(), p.release())
	}
	return p, nil
}

// assemble makes what carries calls out, and the edge.
func (p *Proxy) assemble(o Options, public *url.URL) {
	c := o.Config
	p.lines = newLines(c)
	p.carrier = carrier.New(carrier.Options{
		Enforcement: p.server,
		Executions:  p.server,
		Servers:     p.server,
		Policies:    p.server,
		Dialer:      p.lines.dialer,
		Stopped:     p.server.RefuseStopped,
		Refused:     p.server.RefuseCaller,
		Now:         time.Now,
		Logger:      o.Logger,
	})
	bodies := &route.Bodies{Limit: messageBytes}
	endpoint := gateway.New(gateway.Options{
		Servers:      p.server,
		Decisions:    p.server,
		Approvals:    p.server,
		Carrier:      p.carrier,
		Logger:       o.Logger,
		Version:      o.Version,
		HoldTime:     c.HoldWait,
		MaxBodyBytes: c.MaxBodyBytes,
		ReadBody:     bodies.Read,
	})
	p.API = standalone.New(standalone.Config{
		Server:         p.server,
		Carrier:        p.carrier,
		Gateway:        endpoint,
		Bodies:         bodies,
		Logger:         o.Logger,
		Version:        o.Version,
		PublicURL:      public,
		HostNames:      c.HostNames,
		TrustedProxies: c.TrustedProxies,
		CORSOrigins:    c.CORSOrigins,
		MaxBodyBytes:   c.MaxBodyBytes,
		UsesTLS:        c.UsesTLS() || public.Scheme == "https",
		MetricsToken:   c.MetricsToken,
	})
	var ctx context.Context
	ctx, p.cancel = context.WithCancel(context.Background())
	p.jobs.Go(func() {
		endpoint.Run(ctx, func(err error) {
			o.Logger.Warn("the sessions of agents could not be checked, and will be again", "error", err)
		})
	})
}

func (p *Proxy) serve(c config.Config, listener net.Listener) (err error) {
	if listener, err = secured(c, p.listeners.logger, listener); err != nil {
		return err
	}
	if err := p.listeners.serveMetrics(p.API.MetricsHandler(), c.MetricsListen); err != nil {
		return err
	}
	warnOfPlainText(c, p.listeners.logger, p.Address)
	p.listeners.serve(p.API, listener)
	return nil
}

// Wait serves until ctx ends or a listener fails, then stops.
func (p *Proxy) Wait(ctx context.Context) error { return p.listeners.wait(ctx, p.Stop) }

// Stop lets running requests finish, and reports what could not be reported yet.
func (p *Proxy) Stop() error {
	p.API.Stopping()
	return errors.Join(p.listeners.stop(), p.release())
}

// release ends what StartProxy began, in reverse.
func (p *Proxy) release() error {
	p.cancel()
	p.jobs.Wait()
	p.lines.close(p.carrier)
	p.server.Close()
	return nil
}
