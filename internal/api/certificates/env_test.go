package certificates_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"writ/client"
	"writ/internal/certificate/authority"
	"writ/internal/database"
	"writ/internal/database/dbtest"
	"writ/internal/testserver"
)

type m = map[string]any

// attestedOnly allows calls of agents that have proven who they are.
const attestedOnly = `
version: v1
name: attested
default: deny
rules:
  - {id: proven, effect: allow, tools: ["files.*"], when: agent.attested}
  - {id: anyone, effect: allow, tools: ["open.*"]}
`

// world is an organization on a server that takes certificates, with an agent and its key.
type world struct {
	*testserver.Org
	t     *testing.T
	roots *x509.CertPool // of the server's own certificate
	pem   string         // of that
	agent string
	key   client.IssuedKey // that is bound to the agent
}

// eachWorld runs a test on each database.
func eachWorld(t *testing.T, body func(t *testing.T, w *world)) {
	t.Helper()
	dbtest.EachOptions(t, func(t *testing.T, o database.Options) {
		cert, key := selfSigned(t)
		s := testserver.Start(t, o, "WRIT_TLS_CERT", cert, "WRIT_TLS_KEY", key, "WRIT_AGENTS_LISTEN", "127.0.0.1:0")
		w := &world{t: t, roots: x509.NewCertPool(), pem: cert}
		w.roots.AppendCertsFromPEM([]byte(cert))
		s.Public = &client.Client{BaseURL: "https://" + s.Address, HTTP: w.web(nil)}
		owner := s.Person("owner")
		w.Org = &testserver.Org{Server: s, Owner: owner, ID: s.Organization(owner, "Harbour")}
		w.key = s.AgentKey(owner, w.ID)
		w.agent = w.register("harbour_pilot 1", w.key.ID)
		s.ActivePolicy(owner, w.ID, attestedOnly)
		body(t, w)
	})
}

// web is a client of HTTP that trusts the server, with a certificate or without.
func (w *world) web(certificate *tls.Certificate) *http.Client {
	c := &tls.Config{RootCAs: w.roots}
	if certificate != nil {
		c.Certificates = []tls.Certificate{*certificate}
	}
	transport := &http.Transport{TLSClientConfig: c}
	w.t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// register registers an agent with keys.
func (w *world) register(id string, keys ...string) string {
	w.t.Helper()
	made, err := w.Owner.RegisterAgent(w.t.Context(), w.ID, client.NewAgent{AgentID: id, Keys: keys})
	if err != nil {
		w.t.Fatal(err)
	}
	return made.AgentID
}

func (w *world) issue(n client.NewCertificate) client.IssuedCertificate {
	w.t.Helper()
	made, err := w.Owner.IssueCertificate(w.t.Context(), w.ID, n)
	if err != nil {
		w.t.Fatalf("issue a certificate: %v", err)
	}
	return made
}

// pair is a certificate with its key, as TLS takes it.
func pair(t *testing.T, made client.IssuedCertificate) *tls.Certificate {
	t.Helper()
	p, err := tls.X509KeyPair([]byte(made.Certificate.Certificate), []byte(made.PrivateKey))
	if err != nil {
		t.Fatal(err)
	}
	return &p
}

// with is a client of the listener for agents, with a certificate and a key.
func (w *world) with(certificate *tls.Certificate, key string) *client.Client {
	return (&client.Client{BaseURL: "https://" + w.AgentsAddress, HTTP: w.web(certificate)}).WithKey(key)
}

func enforceBody(agentID, server string) m {
	body := m{"tool_name": "read", "tool_input": m{}, "mcp_context": m{"server_name": server, "tool_name": "read"}}
	if agentID != "" {
		body["agent_id"] = agentID
	}
	return body
}

type answer struct {
	Action  string `json:"action"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

// ask asks for a decision.
func (w *world) ask(by *client.Client, agentID, server string) (a answer, err error) {
	w.t.Helper()
	err = by.Call(w.t.Context(), http.MethodPost, "/iap/enforce", nil, enforceBody(agentID, server), &a)
	return a, err
}

// want checks a decision.
func (w *world) want(what string, by *client.Client, agentID, server, action string) {
	w.t.Helper()
	got, err := w.ask(by, agentID, server)
	if err != nil || got.Action != action {
		w.t.Errorf("%s: %+v, %v; want %s", what, got, err, action)
	}
}

// wantRefused checks that a caller is not let in, and gets no decision.
func (w *world) wantRefused(what string, by *client.Client, message string) {
	w.t.Helper()
	got, err := w.ask(by, "", "open")
	if client.StatusOf(err) != http.StatusUnauthorized || got.Action == "allow" ||
		!strings.Contains(err.Error(), message) {
		w.t.Errorf("%s: %+v, %v; want 401 with %q", what, got, err, message)
	}
}

// selfSigned is the server's own certificate.
func selfSigned(t *testing.T) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "the server"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	own, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return authority.PEM(authority.CertificateBlock, der), authority.PEM(authority.KeyBlock, own)
}

// newRequest is a certificate request for a name, with its key.
func newRequest(t *testing.T, spiffeID string) (csr, key string) {
	t.Helper()
	private, err := authority.NewKey(authority.P256)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.CertificateRequest{}
	if spiffeID != "" {
		u, err := url.Parse(spiffeID)
		if err != nil {
			t.Fatal(err)
		}
		template.URIs = []*url.URL{u}
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, template, private)
	if err != nil {
		t.Fatal(err)
	}
	own, err := authority.MarshalKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return authority.PEM(authority.RequestBlock, der), authority.PEM(authority.KeyBlock, own)
}

func parsed(t *testing.T, text string) *x509.Certificate {
	t.Helper()
	block, _ := pem.Decode([]byte(text))
	if block == nil {
		t.Fatalf("no PEM: %q", text)
	}
	c, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	return c
}
