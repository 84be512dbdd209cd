package certificates_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"writ/client"
	"writ/internal/certificate/authority"
	"writ/internal/testserver"
)

// TestRotatedAuthority: after a rotation both count until the overlap ends, and only the new one signs.
func TestRotatedAuthority(t *testing.T) {
	t.Parallel()
	eachWorld(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		none, err := w.Owner.CertificateAuthorities(ctx, w.ID)
		if err != nil || len(none) != 0 {
			t.Fatalf("before first use: %+v, %v", none, err)
		}
		old := w.issue(client.NewCertificate{AgentID: w.agent, LifeSeconds: 3600})
		overlap := int64(600)
		made, err := w.Owner.RotateCertificateAuthority(ctx, w.ID, "ed25519", &overlap)
		if err != nil || !made.Signs || made.Algorithm != "ed25519" {
			t.Fatalf("%+v, %v", made, err)
		}
		fresh := w.issue(client.NewCertificate{AgentID: w.agent, LifeSeconds: 3600})
		if fresh.AuthorityID != made.AuthorityID || fresh.AuthorityID == old.AuthorityID {
			t.Errorf("authorities %s and %s, want %s", old.AuthorityID, fresh.AuthorityID, made.AuthorityID)
		}
		trusted, err := w.Public.WithKey(w.key.APIKey).CertificateAuthorities(ctx, "")
		if err != nil || len(trusted) != 2 || !trusted[0].Signs || trusted[1].Signs || trusted[1].TrustedUntil == nil {
			t.Fatalf("trusted: %+v, %v", trusted, err)
		}
		before, after := w.with(pair(t, old), w.key.APIKey), w.with(pair(t, fresh), w.key.APIKey)
		w.want("the old one within the overlap", before, "", "files", "allow")
		w.want("the new one within the overlap", after, "", "files", "allow")
		for _, c := range []client.IssuedCertificate{old, fresh} {
			list := w.fetch("https://" + w.Address + "/certificate/crl/" + c.AuthorityID)
			if !opensslAccepts(t, parsed(t, c.Authority).Raw, list, c.Certificate.Certificate) {
				t.Errorf("openssl refuses a certificate of authority %s", c.AuthorityID)
			}
		}
		w.Advance(10*time.Minute + time.Second)
		w.wantRefused("the old one after the overlap", before, "the certificate is untrusted")
		w.want("the new one after the overlap", after, "", "files", "allow")
		trusted, err = w.Owner.CertificateAuthorities(ctx, w.ID)
		if err != nil || len(trusted) != 1 || trusted[0].AuthorityID != made.AuthorityID {
			t.Errorf("trusted after the overlap: %+v, %v", trusted, err)
		}
		_, err = w.Owner.RotateCertificateAuthority(ctx, w.ID, "rsa", nil)
		wantField(t, "another algorithm", err, "algorithm")
	})
}

// TestRotatedWithoutOverlap: nothing counts that was signed before, by whichever authority of the organization.
func TestRotatedWithoutOverlap(t *testing.T) {
	t.Parallel()
	eachWorld(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		there := w.Organization(w.Owner, "There")
		for range 2 {
			if _, err := w.Owner.RotateCertificateAuthority(ctx, there, "", nil); err != nil {
				t.Fatal(err)
			}
		}
		first := w.issue(client.NewCertificate{AgentID: w.agent, LifeSeconds: 3600})
		if _, err := w.Owner.RotateCertificateAuthority(ctx, w.ID, "", nil); err != nil {
			t.Fatal(err)
		}
		second := w.issue(client.NewCertificate{AgentID: w.agent, LifeSeconds: 3600})
		one, two := w.with(pair(t, first), w.key.APIKey), w.with(pair(t, second), w.key.APIKey)
		w.want("the first, replaced with an overlap", one, "", "files", "allow")
		w.want("the second, which signs", two, "", "files", "allow")
		made, err := w.Owner.RotateCertificateAuthority(ctx, w.ID, "", new(int64))
		if err != nil {
			t.Fatal(err)
		}
		w.wantRefused("the first", one, "the certificate is untrusted")
		w.wantRefused("the second", two, "the certificate is untrusted")
		trusted, err := w.Owner.CertificateAuthorities(ctx, w.ID)
		if err != nil || len(trusted) != 1 || trusted[0].AuthorityID != made.AuthorityID {
			t.Errorf("trusted: %+v, %v", trusted, err)
		}
		if elsewhere, err := w.Owner.CertificateAuthorities(ctx, there); err != nil || len(elsewhere) != 2 {
			t.Errorf("trusted elsewhere: %+v, %v", elsewhere, err)
		}
	})
}

// TestSealBroken: an authority whose key cannot be unsealed signs nothing. All else works, and a new one can be made.
func TestSealBroken(t *testing.T) {
	t.Parallel()
	eachWorld(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		made := w.issue(client.NewCertificate{AgentID: w.agent})
		certified := w.with(pair(t, made), w.key.APIKey)
		w.Insert(`UPDATE certificate_authority SET sealed = $1`, []byte("not what was sealed"))

		_, err := w.Owner.IssueCertificate(ctx, w.ID, client.NewCertificate{AgentID: w.agent})
		testserver.WantStatus(t, "issue", err, http.StatusServiceUnavailable)
		_, err = w.Owner.RotateCertificate(ctx, w.ID, client.NewCertificate{CertificateID: made.CertificateID})
		testserver.WantStatus(t, "rotate", err, http.StatusServiceUnavailable)
		response, err := w.web(nil).Get("https://" + w.Address + "/certificate/crl/" + made.AuthorityID)
		if err != nil || response.StatusCode != http.StatusServiceUnavailable {
			t.Errorf("the revocation list: %v, %v", response, err)
		}
		response.Body.Close()
		found, err := w.Owner.Certificates(ctx, w.ID, client.CertificateFilter{}, client.List{})
		if err != nil || len(found.Items) != 1 || found.Items[0].Status != "good" {
			t.Errorf("certificates: %+v, %v; want the one from before, which is not revoked", found, err)
		}

		w.want("a decision with the certificate", certified, "", "files", "allow")
		w.want("a new connection", w.with(pair(t, made), w.key.APIKey), "", "files", "allow")
		w.want("a decision without", w.Public.WithKey(w.key.APIKey), w.agent, "open", "allow")
		question := client.CertificateQuestion{CertificateID: made.CertificateID}
		checked, err := w.Owner.CheckCertificate(ctx, w.ID, question)
		if err != nil || checked.Status != "good" {
			t.Errorf("check: %+v, %v", checked, err)
		}
		if _, err := w.Owner.RotateCertificateAuthority(ctx, w.ID, "", nil); err != nil {
			t.Fatalf("rotate the authority: %v", err)
		}
		w.issue(client.NewCertificate{AgentID: w.agent})
		if _, err := w.Owner.RevokeCertificate(ctx, w.ID, made.CertificateID, "", "lost"); err != nil {
			t.Fatal(err)
		}
		w.wantRefused("after it was revoked", certified, "the certificate is revoked")
	})
}

// TestStatements: what is said of a server's tools ends when one of them changes, and does not come back.
func TestStatements(t *testing.T) {
	t.Parallel()
	eachWorld(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		server := w.pinned("files", "Reads.")
		made, err := w.Owner.IssueServerCertificate(ctx, w.ID, client.NewCertificate{MCPID: "files"})
		if err != nil || made.MCPID != server.MCPID || made.Statement == nil || !made.Statement.Holds {
			t.Fatalf("%+v, %v", made, err)
		}
		root := &authority.Authority{Certificate: parsed(t, made.Authority)}
		said, err := root.ReadStatement(made.Statement.Statement, parsed(t, made.Certificate.Certificate), time.Now())
		if err != nil || said.Definitions != made.Statement.Definitions || said.SPIFFEID != made.SPIFFEID ||
			said.Definitions == "" {
			t.Errorf("the statement: %+v, %v", said, err)
		}
		w.wantStatement(made, "good", true)
		// Nothing has changed.
		w.report(server.MCPID, "Reads.")
		w.wantStatement(made, "good", true)
		w.report(server.MCPID, "Reads, and sends what it read elsewhere.")
		w.wantStatement(made, "good", false)
		_, err = w.Owner.IssueServerCertificate(ctx, w.ID, client.NewCertificate{MCPID: "files"})
		testserver.WantStatus(t, "a certificate while a tool is held", err, http.StatusConflict)

		// The tool is as it was. Whoever saw the other one meanwhile must not believe the statement again.
		w.report(server.MCPID, "Reads.")
		w.accept(server.MCPID)
		w.wantStatement(made, "good", false)
		next, err := w.Owner.RotateCertificate(ctx, w.ID, client.NewCertificate{CertificateID: made.CertificateID})
		if err != nil || next.Statement.Definitions != made.Statement.Definitions {
			t.Fatalf("%+v, %v; want the same tools", next, err)
		}
		w.wantStatement(made, "revoked", false)
		w.wantStatement(next, "good", true)
		found, err := w.Owner.ServerCertificates(ctx, w.ID, server.MCPID, client.List{})
		if err != nil || len(found.Items) != 2 || !found.Items[0].Statement.Holds || found.Items[1].Statement.Holds {
			t.Errorf("certificates of servers: %+v, %v", found, err)
		}
		w.report(server.MCPID, "Reads more.")
		w.accept(server.MCPID)
		w.wantStatement(next, "good", false)
		last, err := w.Owner.RotateCertificate(ctx, w.ID, client.NewCertificate{CertificateID: next.CertificateID})
		if err != nil || last.Statement.Definitions == made.Statement.Definitions {
			t.Fatalf("%+v, %v; want other tools", last, err)
		}
	})
}

// TestServersThatAreGone: a server that was denied or removed has no certificates.
func TestServersThatAreGone(t *testing.T) {
	t.Parallel()
	eachWorld(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		denied, removed := w.serverCertificate("denied"), w.serverCertificate("removed")
		if _, err := w.Owner.UpdateMCPServer(ctx, w.ID, "denied", m{"status": "denied", "reason": "odd"}); err != nil {
			t.Fatal(err)
		}
		if err := w.Owner.RemoveMCPServer(ctx, w.ID, "removed"); err != nil {
			t.Fatal(err)
		}
		w.wantStatement(denied, "revoked", false)
		w.wantStatement(removed, "revoked", false)
		_, err := w.Owner.IssueServerCertificate(ctx, w.ID, client.NewCertificate{MCPID: "denied"})
		testserver.WantStatus(t, "a denied server", err, http.StatusConflict)
		list := w.fetch("https://" + w.Address + "/certificate/crl/" + denied.AuthorityID)
		for _, c := range []client.IssuedCertificate{denied, removed} {
			if opensslAccepts(t, parsed(t, c.Authority).Raw, list, c.Certificate.Certificate) {
				t.Error("openssl accepts the certificate of a server that is gone")
			}
		}
	})
}

func (w *world) report(id, description string) {
	w.t.Helper()
	if _, err := w.Owner.ReportMCPServer(w.t.Context(), w.ID, id, listed(description)); err != nil {
		w.t.Fatal(err)
	}
}

// accept accepts the one tool of a server as it is listed.
func (w *world) accept(id string) {
	w.t.Helper()
	tools, err := w.Owner.MCPTools(w.t.Context(), w.ID, id)
	if err != nil {
		w.t.Fatal(err)
	}
	if !tools[0].Held {
		return
	}
	if _, err := w.Owner.AcceptMCPTool(w.t.Context(), w.ID, id, "read", tools[0].Hash, "it is meant so"); err != nil &&
		!strings.Contains(err.Error(), "already") {
		w.t.Fatal(err)
	}
}

func (w *world) wantStatement(c client.IssuedCertificate, status string, holds bool) {
	w.t.Helper()
	question := client.CertificateQuestion{CertificateID: c.CertificateID}
	checked, err := w.Owner.CheckCertificate(w.t.Context(), w.ID, question)
	if err != nil || checked.Status != status || checked.Certificate.Statement.Holds != holds {
		w.t.Errorf("check: %+v, %v; want %s, and that the statement holds: %v", checked, err, status, holds)
	}
	one, err := w.Owner.OneCertificate(w.t.Context(), w.ID, c.CertificateID)
	if err != nil || one.Statement.Holds != holds {
		w.t.Errorf("read: %+v, %v; want that the statement holds: %v", one, err, holds)
	}
}
