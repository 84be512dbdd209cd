package app

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"time"

	"writ/internal/agent"
	"writ/internal/certificate"
	"writ/internal/config"
	"writ/internal/database"
	"writ/internal/mcp"
)

// newCertificates makes what certifies agents and MCP servers.
func (a *Areas) newCertificates(publicURL string) *certificate.Service {
	return certificate.New(certificate.Options{
		Database:  a.Database,
		Log:       a.log,
		Sealer:    a.sealer,
		PublicURL: publicURL,
		Sources: certificate.Sources{
			Agent: agent.RequireActive,
			Server: func(ctx context.Context, r database.Reader, orgID, id string) (certificate.Server, error) {
				of, err := mcp.DefinitionsOf(ctx, r, orgID, id)
				return certificate.Server{ID: of.ServerID, Definitions: of.Hash, Problem: of.Problem}, err
			},
		},
	})
}

// certified is until when a certificate proves that its holder is an agent.
func (a *Areas) certified(ctx context.Context, orgID, certificateID, agentID string) (time.Time, bool, error) {
	return a.Certificates.StandsFor(ctx, orgID, certificateID, agentID)
}

// handshakeTime bounds what is read from the database for a connection that nobody has authenticated yet.
const handshakeTime = 5 * time.Second

// listenForAgents opens the listener that asks for certificates of agents. It is one of its own: on the other one
// browsers would ask people for a certificate.
func (s *Server) listenForAgents(c config.Config) (net.Listener, error) {
	served, err := newServedCertificate(c, s.logger, time.Now)
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", c.AgentsListen)
	if err != nil {
		return nil, fmt.Errorf("listen for agents on %s (WRIT_AGENTS_LISTEN chooses another): %w", c.AgentsListen, err)
	}
	host, _, err := net.SplitHostPort(c.AgentsListen)
	if err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	s.AgentsAddress = askedAddress(host, listener)
	return tls.NewListener(listener, &tls.Config{
		GetCertificate: served.get,
		MinVersion:     tls.VersionTLS12,
		NextProtos:     []string{"h2", "http/1.1"},
		ClientAuth:     tls.RequireAnyClientCert,
		// Every connection shows its certificate: a resumed one would only repeat what an old one was.
		SessionTicketsDisabled: true,
		VerifyConnection:       s.verifyAgent,
	}), nil
}

// verifyAgent refuses a connection whose certificate does not count now. Requests on it are checked again.
func (s *Server) verifyAgent(state tls.ConnectionState) error {
	if len(state.PeerCertificates) == 0 {
		return errors.New("no certificate was presented")
	}
	ctx, cancel := context.WithTimeout(context.Background(), handshakeTime)
	defer cancel()
	if err := s.Certificates.VerifySignature(ctx, state.PeerCertificates[0]); err != nil {
		return &tls.CertificateVerificationError{
			UnverifiedCertificates: []*x509.Certificate{state.PeerCertificates[0]}, Err: err,
		}
	}
	return nil
}
