package app_test

import (
	"crypto/x509"
	"testing"

	"writ/internal/agent"
	"writ/internal/app"
	certificates "writ/internal/certificate"
	"writ/internal/certificate/authority"
	"writ/internal/fault"
	"writ/internal/principal"
)

// TestRestoreEndsCertificates: a certificate that was revoked after the backup must not count again, and nobody knows
// which ones were.
func TestRestoreEndsCertificates(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, o app.Options) {
		ctx, server := t.Context(), start(t, o)
		in, err := server.public.Login(ctx, server.FirstRun.Email, server.FirstRun.Password)
		if err != nil {
			t.Fatal(err)
		}
		owner := principal.Principal{Kind: principal.User, UserID: in.User.ID, Role: principal.Owner}
		owner.OrgID = server.FirstRun.OrganizationID
		if _, err := server.Agents.Register(ctx, owner, "pilot", "", agent.Profile{}); err != nil {
			t.Fatal(err)
		}
		order := certificates.Order{Kind: authority.Agent, Subject: "pilot"}
		made, err := server.Certificates.Issue(ctx, owner, order)
		if err != nil {
			t.Fatal(err)
		}
		presented, err := x509.ParseCertificate(made.DER)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := server.Certificates.Authenticate(ctx, presented); err != nil {
			t.Fatalf("before: %v", err)
		}
		path := backup(t, o)
		if _, err := server.Certificates.Revoke(ctx, owner, made.ID, "", "lost"); err != nil {
			t.Fatal(err)
		}
		server.stop()
		there := elsewhere(t, o)
		if report := restore(t, there, path); report.EndedCertificates != 1 {
			t.Errorf("the restore ended %d certificates, want 1", report.EndedCertificates)
		}
		restored := start(t, there)
		if _, err := restored.Certificates.Authenticate(ctx, presented); !fault.Is(err, fault.Unauthenticated) {
			t.Errorf("after the restore: %v, want that it does not count", err)
		}
		fresh, err := restored.Certificates.Issue(ctx, owner, order)
		if err != nil || fresh.AuthorityID == made.AuthorityID {
			t.Errorf("a certificate after the restore: %+v, %v; want one of a new authority", fresh.Certificate, err)
		}
	})
}
