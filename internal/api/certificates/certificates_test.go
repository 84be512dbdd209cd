package certificates_test

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"writ/client"
	"writ/internal/certificate/authority"
	"writ/internal/database"
	"writ/internal/testserver"
)

func wantField(t *testing.T, what string, err error, field string) {
	t.Helper()
	testserver.WantStatus(t, what, err, http.StatusBadRequest)
	if err != nil && !strings.Contains(err.Error(), field+":") {
		t.Errorf("%s: %v does not name %s", what, err, field)
	}
}

// TestKeyOfItsOwnAgent: a key gets certificates with a request, for the agent that it is bound to.
func TestKeyOfItsOwnAgent(t *testing.T) {
	t.Parallel()
	eachWorld(t, func(t *testing.T, w *world) {
		ctx, key := t.Context(), w.Public.WithKey(w.key.APIKey)
		name := authority.Name{OrgID: w.ID, Kind: authority.Agent, ID: w.agent}
		csr, private := newRequest(t, name.SPIFFE())
		made, err := key.IssueCertificate(ctx, "", client.NewCertificate{AgentID: w.agent, CSR: csr})
		if err != nil || made.PrivateKey != "" || made.KeyID == nil || *made.KeyID != w.key.ID ||
			made.AgentID != w.agent || made.SPIFFEID != name.SPIFFE() || made.Status != "good" {
			t.Fatalf("%+v, %v", made, err)
		}
		life := made.ExpiresAt.Sub(made.CreatedAt)
		if life > 24*time.Hour || life < 24*time.Hour-time.Second {
			t.Errorf("it lives %v, want a day", life)
		}
		p, err := tls.X509KeyPair([]byte(made.Certificate.Certificate), []byte(private))
		if err != nil {
			t.Fatal(err)
		}
		w.want("with its own key", w.with(&p, w.key.APIKey), "", "files", "allow")

		other := w.register("other", w.AgentKey(w.Owner, w.ID).ID)
		_, err = key.IssueCertificate(ctx, "", client.NewCertificate{AgentID: other, CSR: csr})
		testserver.WantStatus(t, "another agent", err, http.StatusForbidden)
		_, err = key.IssueCertificate(ctx, "", client.NewCertificate{AgentID: "nobody", CSR: csr})
		testserver.WantStatus(t, "an agent that is not registered", err, http.StatusForbidden)
		_, err = key.IssueCertificate(ctx, "", client.NewCertificate{AgentID: w.agent})
		wantField(t, "without a request", err, "csr")
		server := w.pinned("files", "Reads.").MCPID
		_, err = key.IssueCertificate(ctx, "", client.NewCertificate{MCPID: server, CSR: csr})
		testserver.WantStatus(t, "a server", err, http.StatusForbidden)

		next, _ := newRequest(t, "")
		order := client.NewCertificate{CertificateID: made.CertificateID, CSR: next}
		rotated, err := key.RotateCertificate(ctx, "", order)
		if err != nil || *rotated.Replaces != made.CertificateID {
			t.Errorf("rotate: %+v, %v", rotated, err)
		}
		theirs := w.issue(client.NewCertificate{AgentID: other})
		_, err = key.RotateCertificate(ctx, "", client.NewCertificate{CertificateID: theirs.CertificateID, CSR: next})
		testserver.WantStatus(t, "rotate another agent's", err, http.StatusForbidden)
		if _, err := w.Owner.SetAgentStatus(ctx, w.ID, w.agent, "suspended", "odd calls"); err != nil {
			t.Fatal(err)
		}
		fresh, _ := newRequest(t, "")
		_, err = key.IssueCertificate(ctx, "", client.NewCertificate{AgentID: w.agent, CSR: fresh})
		testserver.WantStatus(t, "of a suspended agent", err, http.StatusConflict)
	})
}

// TestCallersWhoMayNot tries every route with people and keys who may not use it.
func TestCallersWhoMayNot(t *testing.T) {
	t.Parallel()
	eachWorld(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		made, server := w.issue(client.NewCertificate{AgentID: w.agent}), w.pinned("files", "Reads.")
		calls := map[string]func(c *client.Client, orgID string) error{
			"issue": func(c *client.Client, orgID string) error {
				_, err := c.IssueCertificate(ctx, orgID, client.NewCertificate{AgentID: w.agent})
				return err
			},
			"issue for a server": func(c *client.Client, orgID string) error {
				_, err := c.IssueServerCertificate(ctx, orgID, client.NewCertificate{MCPID: server.MCPID})
				return err
			},
			"rotate": func(c *client.Client, orgID string) error {
				_, err := c.RotateCertificate(ctx, orgID, client.NewCertificate{CertificateID: made.CertificateID})
				return err
			},
			"revoke": func(c *client.Client, orgID string) error {
				_, err := c.RevokeCertificate(ctx, orgID, made.CertificateID, "", "r")
				return err
			},
			"rotate the authority": func(c *client.Client, orgID string) error {
				_, err := c.RotateCertificateAuthority(ctx, orgID, "", nil)
				return err
			},
		}
		reads := map[string]func(c *client.Client, orgID string) error{
			"list": func(c *client.Client, orgID string) error {
				_, err := c.Certificates(ctx, orgID, client.CertificateFilter{}, client.List{})
				return err
			},
			"list those of servers": func(c *client.Client, orgID string) error {
				_, err := c.ServerCertificates(ctx, orgID, "", client.List{})
				return err
			},
			"read one": func(c *client.Client, orgID string) error {
				_, err := c.OneCertificate(ctx, orgID, made.CertificateID)
				return err
			},
		}
		before := w.Dump()
		stranger := w.Person("stranger")
		elsewhere := w.Organization(stranger, "Elsewhere")
		byKey := w.Public.WithKey(w.key.APIKey)
		for name, call := range calls {
			testserver.WantStatus(t, name+" without credentials", call(w.Public, w.ID), http.StatusUnauthorized)
			testserver.WantStatus(t, name+" of a stranger", call(stranger.Client, w.ID), http.StatusForbidden)
			if name != "issue" && name != "rotate" {
				testserver.WantStatus(t, name+" with a key", call(byKey, ""), http.StatusUnauthorized)
			}
		}
		for _, role := range []string{"approver", "member", "viewer"} {
			p := w.Join(w.Owner, w.ID, role)
			for name, call := range calls {
				testserver.WantStatus(t, name+" of a "+role, call(p.Client, w.ID), http.StatusForbidden)
			}
			for name, read := range reads {
				if err := read(p.Client, w.ID); err != nil {
					t.Errorf("%s of a %s: %v", name, role, err)
				}
			}
		}
		for name, read := range reads {
			testserver.WantStatus(t, name+" without credentials", read(w.Public, w.ID), http.StatusUnauthorized)
			testserver.WantStatus(t, name+" of a stranger", read(stranger.Client, w.ID), http.StatusForbidden)
			testserver.WantStatus(t, name+" with a key", read(byKey, ""), http.StatusUnauthorized)
		}
		// In the stranger's own organization the certificate does not exist.
		testserver.WantStatus(t, "read elsewhere", reads["read one"](stranger.Client, elsewhere), http.StatusNotFound)
		testserver.WantStatus(t, "revoke elsewhere", calls["revoke"](stranger.Client, elsewhere), http.StatusNotFound)
		testserver.WantStatus(t, "rotate elsewhere", calls["rotate"](stranger.Client, elsewhere), http.StatusNotFound)
		testserver.WantStatus(t, "issue elsewhere", calls["issue"](stranger.Client, elsewhere), http.StatusNotFound)
		checked, err := stranger.CheckCertificate(ctx, elsewhere, client.CertificateQuestion{
			Certificate: made.Certificate.Certificate,
		})
		if err != nil || checked.Status != "unknown" || checked.Certificate != nil {
			t.Errorf("check elsewhere: %+v, %v", checked, err)
		}
		for _, row := range w.Dump() {
			if strings.HasPrefix(row, "certificate") && !slices.Contains(before, row) {
				t.Errorf("somebody who may not has changed %.200s", row)
			}
		}
	})
}

// TestOrdersThatAreRefused: what is wrong is named, and nothing is issued.
func TestOrdersThatAreRefused(t *testing.T) {
	t.Parallel()
	eachWorld(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		other, _ := newRequest(t, "spiffe://"+w.ID+"/agent/admin")
		for what, c := range map[string]struct {
			order client.NewCertificate
			field string
		}{
			"another name":     {client.NewCertificate{AgentID: w.agent, CSR: other}, "csr"},
			"no request":       {client.NewCertificate{AgentID: w.agent, CSR: "x"}, "csr"},
			"both":             {client.NewCertificate{AgentID: w.agent, MCPID: "x"}, "agentId"},
			"neither":          {client.NewCertificate{}, "agentId"},
			"a short life":     {client.NewCertificate{AgentID: w.agent, LifeSeconds: 299}, "lifeSeconds"},
			"a long life":      {client.NewCertificate{AgentID: w.agent, LifeSeconds: 604801}, "lifeSeconds"},
			"another kind":     {client.NewCertificate{AgentID: w.agent, Algorithm: "rsa"}, "algorithm"},
			"a key of a CSR's": {client.NewCertificate{AgentID: w.agent, CSR: other, Algorithm: "p256"}, "algorithm"},
		} {
			_, err := w.Owner.IssueCertificate(ctx, w.ID, c.order)
			wantField(t, what, err, c.field)
		}
		_, err := w.Owner.IssueCertificate(ctx, w.ID, client.NewCertificate{AgentID: "nobody"})
		testserver.WantStatus(t, "an agent that is not registered", err, http.StatusNotFound)
		_, err = w.Owner.IssueCertificate(ctx, w.ID, client.NewCertificate{AgentID: "\x00"})
		testserver.WantStatus(t, "an impossible agent", err, http.StatusNotFound)
		_, err = w.Owner.IssueCertificate(ctx, w.ID, client.NewCertificate{MCPID: "nothing"})
		testserver.WantStatus(t, "a server that is not registered", err, http.StatusNotFound)
		found, err := w.Owner.Certificates(ctx, w.ID, client.CertificateFilter{}, client.List{})
		if err != nil || len(found.Items) != 0 {
			t.Errorf("certificates: %+v, %v", found, err)
		}
	})
}

// TestOneKeyOneAgent: nobody gets a certificate for somebody else's key, nor for one that others are known to have.
func TestOneKeyOneAgent(t *testing.T) {
	t.Parallel()
	eachWorld(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		csr, _ := newRequest(t, "")
		first := w.issue(client.NewCertificate{AgentID: w.agent, CSR: csr})
		_, err := w.Owner.IssueCertificate(ctx, w.ID, client.NewCertificate{AgentID: w.register("second"), CSR: csr})
		wantField(t, "the key of another agent", err, "csr")
		w.issue(client.NewCertificate{AgentID: w.agent, CSR: csr}) // its own key, again
		if _, err := w.Owner.RevokeCertificate(ctx, w.ID, first.CertificateID, "key_compromise", "lost"); err != nil {
			t.Fatal(err)
		}
		_, err = w.Owner.IssueCertificate(ctx, w.ID, client.NewCertificate{AgentID: w.agent, CSR: csr})
		wantField(t, "a key that others have", err, "csr")
		_, err = w.Owner.RevokeCertificate(ctx, w.ID, first.CertificateID, "", "again")
		testserver.WantStatus(t, "revoke twice", err, http.StatusConflict)
		_, err = w.Owner.RevokeCertificate(ctx, w.ID, first.CertificateID, "bored", "again")
		wantField(t, "an unknown cause", err, "cause")
	})
}

// TestStrangeNames: ids are any text, and each agent has a name of its own.
func TestStrangeNames(t *testing.T) {
	t.Parallel()
	eachWorld(t, func(t *testing.T, w *world) {
		seen := map[string]bool{}
		for _, id := range []string{
			"a/b", "a%2Fb", "a_2fb", "Größe 🚢", "*.example.org", `x" CN=admin,O="y`, "a+b=c;d", "...", "_",
			strings.Repeat("ü", 100),
		} {
			key := w.AgentKey(w.Owner, w.ID)
			made := w.issue(client.NewCertificate{AgentID: w.register(id, key.ID)})
			if seen[made.SPIFFEID] || made.AgentID != id {
				t.Errorf("%q: %s", id, made.SPIFFEID)
			}
			seen[made.SPIFFEID] = true
			if got := parsed(t, made.Certificate.Certificate).URIs[0].String(); got != made.SPIFFEID {
				t.Errorf("%q: the certificate says %s, the answer %s", id, got, made.SPIFFEID)
			}
			w.want(id, w.with(pair(t, made), key.APIKey), id, "files", "allow")
			found, err := w.Owner.Certificates(t.Context(), w.ID, client.CertificateFilter{AgentID: id}, client.List{})
			if err != nil || len(found.Items) != 1 {
				t.Errorf("%q: listed %+v, %v", id, found, err)
			}
		}
	})
}

// TestPrivateKeysAreNotKept: a key that was made is shown once, and neither it nor the authority's is stored as it is.
func TestPrivateKeysAreNotKept(t *testing.T) {
	t.Parallel()
	eachWorld(t, func(t *testing.T, w *world) {
		made := w.issue(client.NewCertificate{AgentID: w.agent, Algorithm: "ed25519"})
		secret := strings.Split(made.PrivateKey, "\n")[1]
		again, err := w.Owner.OneCertificate(t.Context(), w.ID, made.CertificateID)
		if err != nil || again.Serial != made.Serial {
			t.Fatalf("%+v, %v", again, err)
		}
		if pair(t, made).PrivateKey == nil {
			t.Error("the key does not fit the certificate")
		}
		for _, row := range w.Dump() {
			if strings.Contains(row, secret) || strings.Contains(row, "PRIVATE KEY") {
				t.Errorf("a private key is stored: %.100s", row)
			}
		}
	})
}

// fetch reads what anyone may.
func (w *world) fetch(url string) []byte {
	w.t.Helper()
	response, err := w.web(nil).Get(url)
	if err != nil {
		w.t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		w.t.Fatalf("%s: %d, %s, %v", url, response.StatusCode, body, err)
	}
	return body
}

// TestRevocation compares the check with what openssl and Go's crypto/x509 make of the served list.
func TestRevocation(t *testing.T) {
	t.Parallel()
	eachWorld(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		good, bad := w.issue(client.NewCertificate{AgentID: w.agent}), w.issue(client.NewCertificate{AgentID: w.agent})
		if _, err := w.Owner.RevokeCertificate(ctx, w.ID, bad.CertificateID, "key_compromise", "lost"); err != nil {
			t.Fatal(err)
		}
		leaf := parsed(t, good.Certificate.Certificate)
		base := "https://" + w.Address
		list := w.fetch(base + "/certificate/crl/" + good.AuthorityID)
		root := w.fetch(base + "/certificate/ca/" + good.AuthorityID)
		if !strings.HasSuffix(leaf.CRLDistributionPoints[0], "/certificate/crl/"+good.AuthorityID) ||
			!strings.HasSuffix(leaf.IssuingCertificateURL[0], "/certificate/ca/"+good.AuthorityID) {
			t.Errorf("the certificate points to %v and %v", leaf.CRLDistributionPoints, leaf.IssuingCertificateURL)
		}
		if string(root) != string(parsed(t, good.Authority).Raw) {
			t.Error("the authority is served as another than the one that was sent with the certificate")
		}
		read, err := x509.ParseRevocationList(list)
		if err != nil || read.CheckSignatureFrom(parsed(t, good.Authority)) != nil ||
			!read.NextUpdate.After(time.Now()) || read.ThisUpdate.After(time.Now()) {
			t.Errorf("the list: %v", err)
		}
		if len(read.RevokedCertificateEntries) != 1 || read.RevokedCertificateEntries[0].ReasonCode != 1 ||
			authority.Serial(read.RevokedCertificateEntries[0].SerialNumber) != bad.Serial {
			t.Errorf("the list has %+v", read.RevokedCertificateEntries)
		}
		for _, c := range []struct {
			made   client.IssuedCertificate
			status string
		}{{good, "good"}, {bad, "revoked"}} {
			for _, q := range []client.CertificateQuestion{
				{CertificateID: c.made.CertificateID}, {Serial: strings.ToUpper(c.made.Serial)},
				{Certificate: c.made.Certificate.Certificate},
			} {
				checked, err := w.Public.WithKey(w.key.APIKey).CheckCertificate(ctx, "", q)
				if err != nil || checked.Status != c.status || checked.Certificate.AgentID != w.agent {
					t.Errorf("check %+v: %+v, %v; want %s", q, checked, err, c.status)
				}
			}
			if got := opensslAccepts(t, root, list, c.made.Certificate.Certificate); got != (c.status == "good") {
				t.Errorf("openssl accepts the %s certificate: %v", c.status, got)
			}
		}
		w.checkOdd(good)
	})
}

// checkOdd asks about what is no certificate of ours.
func (w *world) checkOdd(good client.IssuedCertificate) {
	w.t.Helper()
	own, _ := selfSigned(w.t)
	for what, q := range map[string]client.CertificateQuestion{
		"an unknown id": {CertificateID: database.NewID()}, "no id": {CertificateID: "'\x00"},
		"an unknown serial": {Serial: "01"}, "no serial": {Serial: "zz'\x00"}, "a stranger's": {Certificate: own},
		"the authority's": {Certificate: good.Authority},
	} {
		checked, err := w.Owner.CheckCertificate(w.t.Context(), w.ID, q)
		if err != nil || checked.Status != "unknown" {
			w.t.Errorf("%s: %+v, %v", what, checked, err)
		}
	}
	for what, q := range map[string]client.CertificateQuestion{
		"nothing": {}, "no certificate": {Certificate: "x"}, "two": {Serial: "01", CertificateID: "x"},
	} {
		_, err := w.Owner.CheckCertificate(w.t.Context(), w.ID, q)
		wantField(w.t, what, err, "certificate")
	}
}

func opensslAccepts(t *testing.T, root, list []byte, leaf string) bool {
	t.Helper()
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	out, err := exec.Command("openssl", "verify", "-x509_strict", "-crl_check", "-purpose", "sslclient",
		"-CAfile", write("ca.pem", authority.PEM(authority.CertificateBlock, root)),
		"-CRLfile", write("crl.pem", authority.PEM("X509 CRL", list)), write("leaf.pem", leaf)).CombinedOutput()
	if err != nil && !strings.Contains(string(out), "error ") {
		t.Fatalf("openssl did not run: %v\n%s", err, out)
	}
	return err == nil
}
