package app

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"

	"writ/internal/api"
	"writ/internal/config"
	"writ/internal/secret"
)

// Limits on slow clients. Streams set their own.
const (
	headerTimeout  = 10 * time.Second
	requestTimeout = 60 * time.Second // to read a request
	answerTimeout  = 60 * time.Second // to write an answer
	idleTimeout    = 120 * time.Second
	maxHeaderBytes = 1 << 20 // proofs travel in headers
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

	logger  *slog.Logger
	timeout time.Duration // for requests to finish
	// payloadRetention is how long payloads of the audit log are kept; 0: for ever.
	payloadRetention time.Duration
	main             *http.Server
	metrics          *http.Server
	agents           *http.Server // takes certificates; nil: none
	unlock           func() error
	cancel           context.CancelFunc // ends the scheduled work
	jobs             sync.WaitGroup
	failed           chan error // the first listener that ended by itself
}

// Start opens everything and serves. Stop it.
func Start(ctx context.Context, o Options) (_ *Server, err error) {
	c := o.Config
	if o.Now == nil {
		o.Now = time.Now
	}
	s := &Server{logger: o.Logger, timeout: c.ShutdownTimeout, payloadRetention: c.PayloadRetention,
		failed: make(chan error, 3), unlock: func() error { return nil }}
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
	return s, nil
}

func listen(c config.Config) (net.Listener, error) {
	listener, err := net.Listen("tcp", c.ListenAddress())
	if err != nil {
		return nil, fmt.Errorf("listen on %s (PORT and WRIT_LISTEN choose another): %w", c.ListenAddress(), err)
	}
	return listener, nil
}

// assemble builds the areas and the edge, and makes the first account.
func (s *Server) assemble(ctx context.Context, o Options, listener net.Listener) (err error) {
	c := o.Config
	public := publicURL(c, listener.Addr().(*net.TCPAddr).Port)
	s.URL, s.Address = public.String(), listener.Addr().String()
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
func (s *Server) serve(c config.Config, listener net.Listener) error {
	s.main = s.httpServer(s.API)
	if c.UsesTLS() {
		pair, err := c.TLSKeyPair()
		if err != nil {
			return err
		}
		listener = tls.NewListener(listener, tlsConfig(pair))
	}
	var agents net.Listener // nil: none
	if c.AgentsListen != "" {
		var err error
		if agents, err = s.listenForAgents(c); err != nil {
			return err
		}
	}
	if c.MetricsListen != "" {
		metrics, err := net.Listen("tcp", c.MetricsListen)
		if err != nil {
			if agents != nil {
				err = errors.Join(err, agents.Close())
			}
			return fmt.Errorf("listen for metrics on %s: %w", c.MetricsListen, err)
		}
		mux := http.NewServeMux()
		mux.Handle("GET /metrics", s.API.MetricsHandler())
		s.metrics = s.httpServer(mux)
		go s.run(s.metrics, metrics)
	}
	if agents != nil {
		s.agents = s.httpServer(s.API)
		go s.run(s.agents, agents)
	}
	go s.run(s.main, listener)
	s.startJobs()
	return nil
}

func tlsConfig(pair tls.Certificate) *tls.Config {
	return &tls.Config{
		Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"},
	}
}

func (s *Server) httpServer(handler http.Handler) *http.Server {
	return newHTTPServer(handler, s.logger)
}

// newHTTPServer is a server with limits on slow clients.
func newHTTPServer(handler http.Handler, logger *slog.Logger) *http.Server {
	return &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: headerTimeout,
		ReadTimeout:       requestTimeout,
		WriteTimeout:      answerTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		ErrorLog:          slog.NewLogLogger(logger.Handler(), slog.LevelDebug),
	}
}

func (s *Server) run(server *http.Server, listener net.Listener) {
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		s.failed <- fmt.Errorf("serve on %s: %w", listener.Addr(), err)
	}
}

// warnOfPlainText tells the operator about listeners without TLS.
func warnOfPlainText(c config.Config, logger *slog.Logger, address string) {
	if !c.IsLoopbackOnly() && !c.UsesTLS() {
		logger.Warn("keys and passwords travel in clear to this listener: set WRIT_TLS_CERT_FILE and WRIT_TLS_KEY_FILE, or keep a TLS proxy in front of it", "listen", address)
	}
}

// Wait serves until ctx ends or a listener fails, then stops.
func (s *Server) Wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return s.Stop()
	case err := <-s.failed:
		return errors.Join(err, s.Stop())
	}
}

// Stop lets running requests finish, then ends the scheduled work, delivers what
// is queued and closes the database.
func (s *Server) Stop() error {
	s.API.Stopping()
	ctx, cancel := context.WithTimeout(context.Background(), s.timeout)
	defer cancel()
	var err error
	for _, server := range []*http.Server{s.main, s.agents} {
		if server == nil {
			continue
		}
		if late := server.Shutdown(ctx); late != nil {
			late = errors.Join(late, server.Close())
			err = errors.Join(err, fmt.Errorf("requests were still running after %s: %w", s.timeout, late))
		}
	}
	if s.metrics != nil {
		err = errors.Join(err, s.metrics.Close())
	}
	return errors.Join(err, s.release())
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
