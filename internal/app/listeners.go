package app

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"writ/internal/config"
)

// Limits on slow clients. Streams set their own.
const (
	headerTimeout  = 10 * time.Second
	requestTimeout = 60 * time.Second // to read a request
	answerTimeout  = 60 * time.Second // to write an answer
	idleTimeout    = 120 * time.Second
	maxHeaderBytes = 1 << 20 // proofs travel in headers
)

// maxListeners is how many a process has at most.
const maxListeners = 3

// listeners are where a process answers, from its start to its stop.
type listeners struct {
	logger  *slog.Logger
	timeout time.Duration // for requests to finish
	servers []*http.Server
	metrics *http.Server // is not waited for; nil: none
	failed  chan error   // the listeners that ended by themselves
}

func newListeners(o Options) listeners {
	return listeners{logger: o.Logger, timeout: o.Config.ShutdownTimeout, failed: make(chan error, maxListeners)}
}

// serve begins to answer on a listener. Its requests may finish when the process stops.
func (l *listeners) serve(handler http.Handler, on net.Listener) {
	l.begin(newHTTPServer(handler, l.logger), on)
}

// serveAgents is serve for a listener that wants certificates of agents.
func (l *listeners) serveAgents(handler http.Handler, on net.Listener) {
	server := newHTTPServer(handler, l.logger)
	server.ErrorLog = newHandshakeLog(l.logger)
	l.begin(server, on)
}

func (l *listeners) begin(server *http.Server, on net.Listener) {
	l.servers = append(l.servers, server)
	go l.run(server, on)
}

// serveMetrics begins to answer /metrics alone on an address; on none if that is empty.
func (l *listeners) serveMetrics(handler http.Handler, address string) error {
	if address == "" {
		return nil
	}
	on, err := net.Listen("tcp", address)
	if err != nil {
		return fmt.Errorf("listen for metrics on %s (WRIT_METRICS_LISTEN chooses another): %w", address, err)
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", handler)
	l.metrics = newHTTPServer(mux, l.logger)
	go l.run(l.metrics, on)
	return nil
}

func (l *listeners) run(server *http.Server, on net.Listener) {
	if err := server.Serve(on); !errors.Is(err, http.ErrServerClosed) {
		l.failed <- fmt.Errorf("serve on %s: %w", on.Addr(), err)
	}
}

// wait waits until ctx ends or a listener fails, and stops.
func (l *listeners) wait(ctx context.Context, stop func() error) error {
	select {
	case <-ctx.Done():
		return stop()
	case err := <-l.failed:
		return errors.Join(err, stop())
	}
}

// stop takes no new requests, and lets those that run finish.
func (l *listeners) stop() (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), l.timeout)
	defer cancel()
	for _, server := range l.servers {
		if late := server.Shutdown(ctx); late != nil {
			late = errors.Join(late, server.Close())
			err = errors.Join(err, fmt.Errorf("requests were still running after %s: %w", l.timeout, late))
		}
	}
	if l.metrics != nil {
		err = errors.Join(err, l.metrics.Close())
	}
	return err
}

// listen opens the listener that people and agents reach.
func listen(c config.Config) (net.Listener, error) {
	listener, err := net.Listen("tcp", c.ListenAddress())
	if err != nil {
		return nil, fmt.Errorf("listen on %s (PORT and WRIT_LISTEN choose another): %w", c.ListenAddress(), err)
	}
	return listener, nil
}

// askedAddress is where a listener listens, in the words of whoever asked for it: the network says [::] of 0.0.0.0.
func askedAddress(host string, listener net.Listener) string {
	at := listener.Addr().(*net.TCPAddr)
	if !at.IP.IsUnspecified() || host == "" {
		return at.String()
	}
	return net.JoinHostPort(host, strconv.Itoa(at.Port))
}

// secured has a listener speak TLS, where the configuration has a certificate.
func secured(c config.Config, logger *slog.Logger, listener net.Listener) (net.Listener, error) {
	if !c.UsesTLS() {
		return listener, nil
	}
	served, err := newServedCertificate(c, logger, time.Now)
	if err != nil {
		return nil, err
	}
	return tls.NewListener(listener, &tls.Config{
		GetCertificate: served.get, MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"},
	}), nil
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

// warnOfPlainText tells the operator about listeners without TLS.
func warnOfPlainText(c config.Config, logger *slog.Logger, address string) {
	if !c.IsLoopbackOnly() && !c.UsesTLS() {
		logger.Warn("keys and passwords travel in clear to this listener: set WRIT_TLS_CERT_FILE and WRIT_TLS_KEY_FILE, or keep a TLS proxy in front of it", "listen", address)
	}
}

// warnOfDevelopment tells the operator of a server for others that it still fills gaps as on one machine.
func warnOfDevelopment(c config.Config, logger *slog.Logger) {
	forOthers := !c.IsLoopbackOnly() || strings.HasPrefix(c.PublicURL, "https://")
	if forOthers && !c.IsProduction() {
		logger.Warn("this server runs in development, where anybody may sign up, and others can reach it: set WRIT_ENV=production",
			"listen", c.Listen, "publicUrl", c.PublicURL)
	}
}
