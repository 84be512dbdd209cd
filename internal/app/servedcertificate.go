package app

import (
	"crypto/tls"
	"crypto/x509"
	"log/slog"
	"net/url"
	"sync"
	"time"

	"writ/internal/config"
)

// rereadEvery is how often the files of the certificate are read again.
const rereadEvery = time.Minute

// servedCertificate is the certificate of a listener. Where it is in files, one that was renewed is served without a
// restart: authorities give certificates for weeks, and a server runs for longer.
type servedCertificate struct {
	logger *slog.Logger
	now    func() time.Time
	read   func(config.Config) (config.Config, error) // config.Config.RereadTLS, or a test's
	reads  sync.WaitGroup

	// Only one reading goes on at a time, and it alone changes these.
	config  config.Config
	problem string // of the last reading; empty: none

	mu      sync.Mutex // guards the rest; never held while files are read: every connection takes it
	pair    *tls.Certificate
	readAt  time.Time // when the last reading ended
	reading bool
}

func newServedCertificate(c config.Config, logger *slog.Logger, now func() time.Time) (*servedCertificate, error) {
	pair, err := c.TLSKeyPair()
	if err != nil {
		return nil, err
	}
	s := &servedCertificate{
		logger: logger, now: now, config: c,
		read: config.Config.RereadTLS, pair: &pair, readAt: now(),
	}
	s.warn(pair.Leaf)
	return s, nil
}

// get is what a listener asks for each connection. When the files are to be read again, it is the one before that is
// served until they are: files on a volume that does not answer stop no connection.
func (s *servedCertificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.reading && s.now().Sub(s.readAt) >= rereadEvery {
		s.reading = true
		s.reads.Go(s.reread)
	}
	return s.pair, nil
}

// reread takes a renewed certificate. One that cannot be used leaves the one before, and is logged once: whoever renews
// writes two files, one after the other.
func (s *servedCertificate) reread() {
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.reading, s.readAt = false, s.now()
	}()
	fresh, err := s.read(s.config)
	if err != nil {
		if s.problem != err.Error() {
			s.logger.Warn("the certificate cannot be read again; the one before is still served", "error", err)
		}
		s.problem = err.Error()
		return
	}
	s.problem = ""
	if fresh.TLSCertificate == s.config.TLSCertificate {
		return
	}
	pair, err := fresh.TLSKeyPair()
	if err != nil {
		return // RereadTLS has tried it
	}
	s.config = fresh
	s.mu.Lock()
	s.pair = &pair
	s.mu.Unlock()
	s.logger.Info("a renewed certificate is served", "until", pair.Leaf.NotAfter)
	s.warn(pair.Leaf)
}

// warn tells the operator of a certificate that clients will refuse.
func (s *servedCertificate) warn(leaf *x509.Certificate) {
	if now := s.now(); now.After(leaf.NotAfter) || now.Before(leaf.NotBefore) {
		s.logger.Warn("the certificate in WRIT_TLS_CERT is not valid now, and clients refuse it: renew it, or set the clock",
			"from", leaf.NotBefore, "until", leaf.NotAfter)
	}
	public, err := url.Parse(s.config.PublicURL)
	if err != nil || public.Hostname() == "" {
		return
	}
	if err := leaf.VerifyHostname(public.Hostname()); err != nil {
		s.logger.Warn("the certificate in WRIT_TLS_CERT is not for the host of WRIT_PUBLIC_URL, and clients refuse it",
			"error", err)
	}
}
