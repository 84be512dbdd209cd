package api

import (
	"context"
	"crypto/x509"

	"writ/internal/agent"
	"writ/internal/certificate"
	"writ/internal/principal"
)

// attestations tell the gate which agent a certificate is of, and which keys may be used beside it.
type attestations struct {
	certificates *certificate.Service
	agents       *agent.Service
}

// Authenticate is the organization and agent of a certificate that counts now.
func (a attestations) Authenticate(
	ctx context.Context, presented *x509.Certificate,
) (string, principal.Attestation, error) {
	of, err := a.certificates.Authenticate(ctx, presented)
	return of.OrgID, principal.Attestation{AgentID: of.AgentID, CertificateID: of.CertificateID}, err
}

// Fits reports whether a key may be used beside a certificate of an agent.
func (a attestations) Fits(ctx context.Context, orgID, agentID, keyID string) (bool, error) {
	return a.agents.Fits(ctx, orgID, agentID, keyID)
}
