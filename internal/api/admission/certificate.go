package admission

import (
	"context"
	"crypto/x509"
	"net/http"
	"slices"

	"writ/internal/api/route"
	"writ/internal/credential"
	"writ/internal/fault"
	"writ/internal/principal"
)

// Certificates authenticate agents. Only the listener for agents asks for certificates, so that a request has one if
// and only if it came there, and its sender has the private key.
type Certificates interface {
	// Authenticate is the organization and agent of a certificate that counts now.
	Authenticate(ctx context.Context, presented *x509.Certificate) (orgID string, of principal.Attestation, err error)
	// Fits reports whether a key may be used beside a certificate of an agent.
	Fits(ctx context.Context, orgID, agentID, keyID string) (bool, error)
}

// presentedCertificate is the certificate of a request; nil: none.
func presentedCertificate(request *http.Request) *x509.Certificate {
	if request.TLS == nil || len(request.TLS.PeerCertificates) == 0 {
		return nil
	}
	return request.TLS.PeerCertificates[0]
}

// authenticateCertified authenticates a caller with a certificate. It is looked up for every request, because it may
// be revoked or expire while a connection is open. A certificate gives no rights: the key beside it does, and both must
// be of one agent.
func (g *Gate) authenticateCertified(
	request *http.Request, r route.Route, certificate *x509.Certificate,
) (principal.Principal, error) {
	ctx := request.Context()
	if g.Certificates == nil {
		return principal.Principal{}, fault.New(fault.Unauthenticated, "this server takes no certificates")
	}
	orgID, attested, err := g.Certificates.Authenticate(ctx, certificate)
	if err != nil {
		return principal.Principal{}, err
	}
	presented, err := credential.FromHeaders(request.Header.Values("Authorization"), request.Header.Values("X-Api-Key"))
	if err != nil {
		return principal.Principal{}, err
	}
	takesKeys := slices.Contains([]route.Mode{route.Key, route.PersonOrKey, route.PlanToken, route.Agent}, r.Mode)
	if presented.APIKey == "" || !takesKeys {
		return principal.Principal{}, fault.New(fault.Unauthenticated,
			"a request with an agent's certificate needs an API key too, in x-api-key, and a route that takes keys")
	}
	caller, err := g.authenticate(request, r)
	if err != nil {
		return principal.Principal{}, err
	}
	fits := caller.Kind == principal.Key && caller.OrgID == orgID
	if fits {
		if fits, err = g.Certificates.Fits(ctx, orgID, attested.AgentID, caller.KeyID); err != nil {
			return principal.Principal{}, err
		}
	}
	if !fits {
		return principal.Principal{}, fault.New(fault.Unauthenticated,
			"the certificate and the API key are not of one agent: a person binds the key to the agent")
	}
	caller.Attested = attested
	return caller, nil
}
