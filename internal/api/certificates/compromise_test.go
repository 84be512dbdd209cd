package certificates_test

import (
	"context"
	"net/http"
	"testing"

	"writ/client"
	"writ/internal/certificate"
	"writ/internal/database"
	"writ/internal/testserver"
)

// revokeLost revokes a certificate whose private key others have.
func (w *world) revokeLost(certificateID string) {
	w.t.Helper()
	if _, err := w.Owner.RevokeCertificate(w.t.Context(), w.ID, certificateID, "key_compromise", "lost"); err != nil {
		w.t.Errorf("revoke: %v", err)
	}
}

func (w *world) wantStatus(what, certificateID, status string) {
	w.t.Helper()
	c, err := w.Owner.OneCertificate(w.t.Context(), w.ID, certificateID)
	if err != nil || string(c.Status) != status {
		w.t.Errorf("%s: %s, %v; want %s", what, c.Status, err, status)
	}
}

// TestALostKeyEndsAllItsCertificates: whoever has a private key has it for every certificate of it.
func TestALostKeyEndsAllItsCertificates(t *testing.T) {
	t.Parallel()
	eachWorld(t, func(t *testing.T, w *world) {
		csr, _ := newRequest(t, "")
		first := w.issue(client.NewCertificate{AgentID: w.agent, CSR: csr})
		second := w.issue(client.NewCertificate{AgentID: w.agent, CSR: csr})
		other := w.issue(client.NewCertificate{AgentID: w.agent})
		w.revokeLost(first.CertificateID)
		w.wantStatus("the other certificate of the key", second.CertificateID, "revoked")
		w.wantStatus("a certificate of another key", other.CertificateID, "good")
	})
}

// TestAKeyIsFoundToBeLostLater: a certificate that was replaced, or revoked for another cause, may have had a key that
// others have.
func TestAKeyIsFoundToBeLostLater(t *testing.T) {
	t.Parallel()
	eachWorld(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		csr, _ := newRequest(t, "")
		first := w.issue(client.NewCertificate{AgentID: w.agent, CSR: csr})
		next, _ := newRequest(t, "")
		order := client.NewCertificate{CertificateID: first.CertificateID, CSR: next}
		if _, err := w.Owner.RotateCertificate(ctx, w.ID, order); err != nil {
			t.Fatal(err)
		}
		replaced, err := w.Owner.OneCertificate(ctx, w.ID, first.CertificateID)
		if err != nil || replaced.RevokedAt == nil {
			t.Fatalf("%+v, %v", replaced, err)
		}
		_, err = w.Owner.RevokeCertificate(ctx, w.ID, first.CertificateID, "unspecified", "again")
		testserver.WantStatus(t, "revoke twice", err, http.StatusConflict)
		w.revokeLost(first.CertificateID)
		lost, err := w.Owner.OneCertificate(ctx, w.ID, first.CertificateID)
		if err != nil || lost.Cause != "key_compromise" || !lost.RevokedAt.Equal(*replaced.RevokedAt) {
			t.Errorf("%+v, %v", lost, err)
		}
		_, err = w.Owner.IssueCertificate(ctx, w.ID, client.NewCertificate{AgentID: w.agent, CSR: csr})
		wantField(t, "a key that others have", err, "csr")
		_, err = w.Owner.RevokeCertificate(ctx, w.ID, first.CertificateID, "key_compromise", "again")
		testserver.WantStatus(t, "found twice", err, http.StatusConflict)
	})
}

// TestALostKeyIsNotForgotten with the certificates that expired long ago.
func TestALostKeyIsNotForgotten(t *testing.T) {
	t.Parallel()
	eachWorld(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		csr, _ := newRequest(t, "")
		lost := w.issue(client.NewCertificate{AgentID: w.agent, CSR: csr})
		old := w.issue(client.NewCertificate{AgentID: w.agent})
		w.revokeLost(lost.CertificateID)
		err := w.Database.Write(ctx, database.Change{Do: func(ctx context.Context, tx *database.Tx) error {
			_, err := tx.Exec(ctx, `UPDATE certificate SET expires_at = 1`)
			return err
		}})
		if err != nil {
			t.Fatal(err)
		}
		if err := certificate.New(certificate.Options{Database: w.Database}).Prune(ctx); err != nil {
			t.Fatal(err)
		}
		_, err = w.Owner.OneCertificate(ctx, w.ID, old.CertificateID)
		testserver.WantStatus(t, "an old certificate", err, http.StatusNotFound)
		_, err = w.Owner.IssueCertificate(ctx, w.ID, client.NewCertificate{AgentID: w.agent, CSR: csr})
		wantField(t, "a key that others have", err, "csr")
	})
}
