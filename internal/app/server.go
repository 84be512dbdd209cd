package app

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/url"
	"sync"
	"time"

	"writ/internal/api"
	"writ/internal/config"
	"writ/internal/secret"
)

// Server is a running server.
type Server struct {
	*Areas
	API     *api.API
	URL     string // where people reach it
	Address string // where it listens
	// AgentsAddress is where it takes certificates of agents; empty: nowhere.
	AgentsAddress string
	FirstRun      *FirstRun // what the first start made, nil on later ones

	logger *slog.Logger
	// payloadRetention is how long payloads of the audit log are kept; 0: for ever.
	payloadRetention time.Duration
	listeners        listeners
	unlock           func() error
	cancel           context.CancelFunc // ends the scheduled work
	jobs             sync.WaitGroup
}

// Start opens everything and serves. Stop it.
func Start(ctx context.Context, o Options) (_ *Server, err error) {
	c := o.Config
	if o.Now == nil {
		o.Now = time.Now
	}
	s := &Server{logger: o.Logger, payloadRetention: c.PayloadRetention, listeners: newListeners(o),
		unlock: func() error { return nil }}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.release())
		}
	}()
	if err := makeDataDir(c.DataDir); err != nil {
		return nil, err
	}
	if !c.UsesPostgres() {
		if s.unlock, err = lockDataDir(c.DataDir); err != nil {
			s.unlock = func() error { return nil }
			return nil, err
		}
	}
	listener, err := listen(c)
	if err != nil {
		return nil, err
	}
	if err := s.assemble(ctx, o, listener); err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	if err := s.serve(c, listener); err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	warnOfPlainText(c, s.logger, s.Address)
	warnOfDevelopment(c, s.logger)
	return s, nil
}

// assemble builds the areas and the edge, and makes the first account.
func (s *Server) assemble(ctx context.Context, o Options, listener net.Listener) (err error) {
	c := o.Config
	public := publicURL(c, listener.Addr().(*net.TCPAddr).Port)
	s.URL, s.Address = public.String(), askedAddress(c.Listen, listener)
	if s.Areas, err = Open(ctx, o, s.URL); err != nil {
		return err
	}
	if !c.IsProduction() {
		if s.FirstRun, err = s.firstRun(ctx, c, s.URL); err != nil {
			return err
		}
	}
	s.checkSoon(ctx)
	s.anchor(ctx)
	s.API = api.New(s.apiConfig(o, public))
	return nil
}

func (s *Server) apiConfig(o Options, public *url.URL) api.Config {
	c := o.Config
	return api.Config{
		Database:          s.Database,
		Auth:              s.Auth,
		Federation:        s.Federation,
		Organizations:     s.Organizations,
		Operators:         s.Operators,
		Requests:          s.Requests,
		Blog:              s.Blog,
		Referrals:         s.Referrals,
		Accounts:          s.Accounts,
		Billing:           s.Billing,
		Keys:              s.Keys,
		Policies:          s.Policies,
		Replays:           s.Replays,
		Drafts:            s.Drafts,
		Intent:            s.Intent,
		Enforcement:       s.Enforcement,
		Carrier:           s.Carrier,
		Approvals:         s.Approvals,
		Agents:            s.Agents,
		Servers:           s.Servers,
		Certificates:      s.Certificates,
		OAuth:             s.OAuth,
		Connections:       s.Connections,
		Gateway:           s.Gateway,
		Guard:             s.Guard,
		Limiter:           s.Limiter,
		Telemetry:         s.Telemetry,
		TelemetryDatabase: s.TelemetryDB,
		Audit:             s.Audit,
		Executions:        s.Executions,
		Notifications:     s.Notifications,
		Webhooks:          s.Webhooks,
		Forwarding:        s.Forwarding,
		CheckpointKeys:    s.checkpointKeyTexts,
		TelemetryBehind:   s.projector.Behind,
		CheckLog:          s.CheckOne,
		AuditProblems:     s.evidence.AuditProblems,
		WitnessBehind:     s.witnessBehind(),
		Logger:            o.Logger,
		Version:           o.Version,
		PublicURL:         public,
		HostNames:         c.HostNames,
		TrustedProxies:    c.TrustedProxies,
		CORSOrigins:       c.CORSOrigins,
		MaxBodyBytes:      c.MaxBodyBytes,
		MaxIngestBytes:    c.MaxIngestBytes,
		TraceRetention:    c.Retention,
		PayloadRetention:  c.PayloadRetention,
		SignUpOpen:        c.SignUp == config.SignUpOpen,
		Documented:        !c.IsProduction(),
		MetricsToken:      c.MetricsToken,
		ProxyToken:        hashed(c.ProxyToken),
		UsesTLS:           c.UsesTLS(),
		Dashboard:         o.Dashboard,
		MailGoes:          mailGoes(c),
		MailsLost:         s.outgoing.Lost,
	}
}

// hashed is the hash of a token, so that the server cannot show it; nil: none is set.
func hashed(token secret.Text) []byte {
	if !token.IsSet() {
		return nil
	}
	return secret.Hash(token.Reveal())
}

// serve begins to answer on the listeners and starts the scheduled work.
func (s *Server) serve(c config.Config, listener net.Listener) (err error) {
	if listener, err = secured(c, s.logger, listener); err != nil {
		return err
	}
	var agents net.Listener // nil: none
	if c.AgentsListen != "" {
		if agents, err = s.listenForAgents(c); err != nil {
			return err
		}
	}
	if err := s.listeners.serveMetrics(s.API.MetricsHandler(), c.MetricsListen); err != nil {
		if agents != nil {
			err = errors.Join(err, agents.Close())
		}
		return err
	}
	s.listeners.serve(s.API, listener)
	if agents != nil {
		s.listeners.serveAgents(s.API, agents)
	}
	s.startJobs()
	return nil
}

// Wait serves until ctx ends or a listener fails, then stops.
func (s *Server) Wait(ctx context.Context) error { return s.listeners.wait(ctx, s.Stop) }

// Stop lets running requests finish, then ends the scheduled work, delivers what
// is queued and closes the database.
func (s *Server) Stop() error {
	s.API.Stopping()
	return errors.Join(s.listeners.stop(), s.release())
}

// anchorLast anchors the audit logs before a stop, so that nobody can put one back while the server does not run.
func (s *Server) anchorLast() {
	if s.cancel == nil {
		return // it has not served
	}
	ctx, cancel := context.WithTimeout(context.Background(), lastFlush)
	defer cancel()
	s.anchor(ctx)
}

// release ends what Start began, in reverse.
func (s *Server) release() error {
	if s.cancel != nil {
		s.cancel()
		s.jobs.Wait()
	}
	var err error
	if s.Areas != nil {
		s.anchorLast()
		err = s.Areas.Close()
	}
	return errors.Join(err, s.unlock())
}
