package certificates_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"writ/client"
	"writ/internal/certificate"
	"writ/internal/certificate/authority"
	"writ/internal/fault"
	"writ/internal/principal"
	"writ/internal/testserver"
)

// TestHowManyCertificates: nobody fills revocation lists by replacing a certificate again and again.
func TestHowManyCertificates(t *testing.T) {
	t.Parallel()
	eachWorld(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		owner := principal.Principal{Kind: principal.User, UserID: w.Owner.ID, OrgID: w.ID, Role: principal.Owner}
		order := certificate.Order{Kind: authority.Agent, Subject: w.agent, Life: time.Hour}
		var last certificate.Issued
		for n := range certificate.MaxLive {
			var err error
			if last, err = w.Certificates.Issue(ctx, owner, order); err != nil {
				t.Fatalf("certificate %d: %v", n+1, err)
			}
		}
		if _, err := w.Certificates.Issue(ctx, owner, order); !fault.Is(err, fault.Conflict) {
			t.Errorf("one more than may be valid: %v", err)
		}
		replaced, err := 0, error(nil)
		for ; err == nil && replaced < 500; replaced++ {
			var next certificate.Issued
			if next, err = w.Certificates.Rotate(ctx, owner, last.ID, order); err == nil {
				last = next
			}
		}
		if !fault.Is(err, fault.Conflict) || replaced < 100 {
			t.Errorf("replaced %d times: %v; want that it ends, and not soon", replaced, err)
		}
		w.Advance(time.Hour + time.Second)
		if _, err := w.Certificates.Issue(ctx, owner, order); err != nil {
			t.Errorf("after all have expired: %v", err)
		}
		list, err := w.Certificates.RevocationList(ctx, last.AuthorityID)
		if err != nil || len(list) == 0 {
			t.Errorf("the revocation list: %v", err)
		}
	})
}

// TestRotationOfWhatWasRevoked: a revocation is not undone by replacing what was revoked, and of several who replace a
// certificate at once only one gets another.
func TestRotationOfWhatWasRevoked(t *testing.T) {
	t.Parallel()
	eachWorld(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		made := w.issue(client.NewCertificate{AgentID: w.agent})
		if _, err := w.Owner.RevokeCertificate(ctx, w.ID, made.CertificateID, "", "lost"); err != nil {
			t.Fatal(err)
		}
		for _, keep := range []bool{false, true} {
			order := client.NewCertificate{CertificateID: made.CertificateID, Keep: keep}
			_, err := w.Owner.RotateCertificate(ctx, w.ID, order)
			testserver.WantStatus(t, "rotate what was revoked", err, http.StatusConflict)
			if err != nil && !strings.Contains(err.Error(), "issue a new one") {
				t.Errorf("%v does not say what to do", err)
			}
		}
		order := client.NewCertificate{CertificateID: w.issue(client.NewCertificate{AgentID: w.agent}).CertificateID}
		failures := make(chan error)
		for range 4 {
			go func() {
				_, err := w.Owner.RotateCertificate(ctx, w.ID, order)
				failures <- err
			}()
		}
		replaced := 0
		for range 4 {
			if err := <-failures; err == nil {
				replaced++
			} else {
				testserver.WantStatus(t, "rotate what another has replaced", err, http.StatusConflict)
			}
		}
		if replaced != 1 {
			t.Errorf("replaced %d times, want once", replaced)
		}
	})
}
