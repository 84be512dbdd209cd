package api_test

import (
	"context"
	"net/http"
	"testing"

	"writ/client"
	"writ/internal/database"
	"writ/internal/testserver"
	"writ/internal/throttle"
)

// someCertificate is one of a new agent.
func someCertificate(s *testserver.Server, p *testserver.Person, orgID string) client.IssuedCertificate {
	s.T.Helper()
	made, err := p.IssueCertificate(s.T.Context(), orgID, client.NewCertificate{AgentID: someAgent(s, p, orgID)})
	if err != nil {
		s.T.Fatalf("issue a certificate: %v", err)
	}
	return made
}

// certifyTenant gives a tenant a certificate. Its authority and revocation list are for everybody who checks.
func certifyTenant(s *testserver.Server, w *tenant) map[string]map[string]string {
	s.T.Helper()
	made := someCertificate(s, w.owner, w.org)
	w.private = append(w.private, made.CertificateID, made.Serial, made.Fingerprint)
	return map[string]map[string]string{
		"GET /certificate/{certificateId}":   {"certificateId": made.CertificateID},
		"GET /certificate/crl/{authorityId}": {"authorityId": database.NewID()},
		"GET /certificate/ca/{authorityId}":  {"authorityId": database.NewID()},
	}
}

func (w *changes) certificateScenarios() map[string]scenario {
	return map[string]scenario{
		"POST /certificate/issue":            w.issueCertificate,
		"POST /certificate/rotate":           w.rotateCertificate,
		"POST /certificate/revoke":           w.revokeCertificate,
		"POST /certificate/check":            w.checkCertificate,
		"POST /certificate/authority/rotate": w.rotateAuthority,
		"POST /mcp/certificates":             w.issueServerCertificate,
	}
}

func (w *changes) issueCertificate() func(context.Context) (string, error) {
	someCertificate(w.Server, w.owner, w.org) // the first makes the authority, which is recorded too
	id := someAgent(w.Server, w.owner, w.org)
	return inLog(w.org, func(ctx context.Context) error {
		_, err := w.owner.IssueCertificate(ctx, w.org, client.NewCertificate{AgentID: id})
		return err
	})
}

func (w *changes) issueServerCertificate() func(context.Context) (string, error) {
	someCertificate(w.Server, w.owner, w.org)
	id := someServer(w.Server, w.owner, w.org).MCPID
	return inLog(w.org, func(ctx context.Context) error {
		_, err := w.owner.IssueServerCertificate(ctx, w.org, client.NewCertificate{MCPID: id})
		return err
	})
}

// rotateCertificate keeps the one before, whose revocation would be recorded too.
func (w *changes) rotateCertificate() func(context.Context) (string, error) {
	id := someCertificate(w.Server, w.owner, w.org).CertificateID
	return inLog(w.org, func(ctx context.Context) error {
		_, err := w.owner.RotateCertificate(ctx, w.org, client.NewCertificate{CertificateID: id, Keep: true})
		return err
	})
}

func (w *changes) revokeCertificate() func(context.Context) (string, error) {
	id := someCertificate(w.Server, w.owner, w.org).CertificateID
	return inLog(w.org, func(ctx context.Context) error {
		_, err := w.owner.RevokeCertificate(ctx, w.org, id, "", "the machine was lost")
		return err
	})
}

func (w *changes) checkCertificate() func(context.Context) (string, error) {
	id := someCertificate(w.Server, w.owner, w.org).CertificateID
	return inLog("", func(ctx context.Context) error {
		_, err := w.owner.CheckCertificate(ctx, w.org, client.CertificateQuestion{CertificateID: id})
		return err
	})
}

func (w *changes) rotateAuthority() func(context.Context) (string, error) {
	return inLog(w.org, func(ctx context.Context) error {
		_, err := w.owner.RotateCertificateAuthority(ctx, w.org, "", nil)
		return err
	})
}

// TestRevocationListsAreThrottled: anyone may fetch them, by address.
func TestRevocationListsAreThrottled(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		owner := s.Person("ada")
		made := someCertificate(s, owner, s.Organization(owner, "Harbour"))
		s.NextMinute()
		path := "/certificate/crl/" + made.AuthorityID
		for n := 1; n <= throttle.FetchRevocations.PerMinute; n++ {
			if answer := s.Request(t, "GET", path, ""); answer.Status != http.StatusOK {
				t.Fatalf("request %d is answered with %d", n, answer.Status)
			}
		}
		if answer := s.Request(t, "GET", path, ""); answer.Status != http.StatusTooManyRequests {
			t.Errorf("one more is answered with %d", answer.Status)
		}
		s.NextMinute()
		if answer := s.Request(t, "GET", path, ""); answer.Status != http.StatusOK {
			t.Errorf("a minute later it is answered with %d", answer.Status)
		}
	})
}
