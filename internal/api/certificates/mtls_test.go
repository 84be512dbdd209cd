package certificates_test

import (
	"bytes"
	"crypto/tls"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptrace"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"writ/client"
	"writ/internal/certificate/authority"
	"writ/internal/enforcement"
	"writ/internal/principal"
	"writ/internal/verdict"
)

// TestAgentsProveWhoTheyAre: conditions see that a call came with the agent's certificate, and only then.
func TestAgentsProveWhoTheyAre(t *testing.T) {
	t.Parallel()
	eachWorld(t, func(t *testing.T, w *world) {
		made := w.issue(client.NewCertificate{AgentID: w.agent})
		certified := w.with(pair(t, made), w.key.APIKey)
		w.want("with a certificate", certified, w.agent, "files", "allow")
		w.want("without naming the agent", certified, "", "files", "allow")
		w.want("naming another agent", certified, "somebody-else", "open", "deny")
		plain := w.Public.WithKey(w.key.APIKey)
		w.want("without a certificate", plain, w.agent, "files", "deny")
		w.want("without a certificate, another tool", plain, w.agent, "open", "allow")

		found := certificatesInLog(t, w)
		if len(found) != 2 || found[0] != made.CertificateID || found[1] != made.CertificateID {
			t.Errorf("decisions were recorded with the certificates %v, want twice %s", found, made.CertificateID)
		}
		// What is public needs no key, and the rest of the API is for people.
		if err := certified.Call(t.Context(), http.MethodGet, "/health", nil, nil, nil); err != nil {
			t.Errorf("health: %v", err)
		}
		w.wantRefused("without a key", w.with(pair(t, made), ""), "needs an API key")
		person := (&client.Client{BaseURL: "https://" + w.AgentsAddress, HTTP: w.web(pair(t, made))}).
			As(w.Owner.Tokens.AccessToken)
		_, err := person.MCPServers(t.Context(), w.ID, "")
		if client.StatusOf(err) != http.StatusUnauthorized {
			t.Errorf("a person with an agent's certificate: %v", err)
		}
	})
}

// certificatesInLog are the certificates with which allowed calls were recorded.
func certificatesInLog(t *testing.T, w *world) (found []string) {
	t.Helper()
	for _, row := range w.Dump() {
		if _, rest, ok := strings.Cut(row, `"agentCertificate":"`); ok {
			id, _, _ := strings.Cut(rest, `"`)
			found = append(found, id)
		}
	}
	return found
}

// TestCredentialsOfTwoAgents: certificate and key must be of one agent and one organization.
func TestCredentialsOfTwoAgents(t *testing.T) {
	t.Parallel()
	eachWorld(t, func(t *testing.T, w *world) {
		made := pair(t, w.issue(client.NewCertificate{AgentID: w.agent}))
		const disagree = "are not of one agent"
		others := w.AgentKey(w.Owner, w.ID)
		w.register("second", others.ID)
		w.wantRefused("the key of another agent", w.with(made, others.APIKey), disagree)
		loose := w.AgentKey(w.Owner, w.ID)
		w.wantRefused("a key of nobody", w.with(made, loose.APIKey), disagree)
		elsewhere := w.Organization(w.Owner, "Elsewhere")
		w.wantRefused("the key of another organization", w.with(made, w.AgentKey(w.Owner, elsewhere).APIKey), disagree)

		// An agent without keys has any key that is nobody's.
		free := w.register("free")
		freely := pair(t, w.issue(client.NewCertificate{AgentID: free}))
		w.want("a key of nobody with an agent that has none", w.with(freely, loose.APIKey), free, "files", "allow")
		w.wantRefused("the key of another agent with one that has none", w.with(freely, others.APIKey), disagree)

		// The key is taken from the agent while a connection is open.
		certified := w.with(made, w.key.APIKey)
		w.want("before", certified, "", "files", "allow")
		if _, err := w.Owner.UpdateAgent(t.Context(), w.ID, w.agent, m{"keys": []string{loose.ID}}); err != nil {
			t.Fatal(err)
		}
		w.wantRefused("after the key was taken away", certified, disagree)
	})
}

// TestLiveConnections: a certificate that ends does not live on with its connection.
func TestLiveConnections(t *testing.T) {
	t.Parallel()
	eachWorld(t, func(t *testing.T, w *world) {
		for name, c := range map[string]struct {
			end  func(made client.IssuedCertificate)
			want string
		}{
			"revoked": {func(made client.IssuedCertificate) {
				if _, err := w.Owner.RevokeCertificate(t.Context(), w.ID, made.CertificateID, "", "lost"); err != nil {
					t.Fatal(err)
				}
			}, "the certificate is revoked"},
			"rotated": {func(made client.IssuedCertificate) {
				order := client.NewCertificate{CertificateID: made.CertificateID}
				if _, err := w.Owner.RotateCertificate(t.Context(), w.ID, order); err != nil {
					t.Fatal(err)
				}
			}, "the certificate is revoked"},
			"expired": {func(client.IssuedCertificate) { w.Advance(5*time.Minute + time.Second) },
				"the certificate is expired"},
			"of an authority that has ended": {func(client.IssuedCertificate) {
				if _, err := w.Owner.RotateCertificateAuthority(t.Context(), w.ID, "", new(int64)); err != nil {
					t.Fatal(err)
				}
			}, "the certificate is untrusted"},
		} {
			made := w.issue(client.NewCertificate{AgentID: w.agent, LifeSeconds: 300})
			certified := w.with(pair(t, made), w.key.APIKey)
			w.want(name+", before", certified, "", "files", "allow")
			c.end(made)
			reused := false
			ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{
				GotConn: func(info httptrace.GotConnInfo) { reused = info.Reused },
			})
			err := certified.Call(ctx, http.MethodPost, "/iap/enforce", nil, enforceBody("", "open"), nil)
			if client.StatusOf(err) != http.StatusUnauthorized || !strings.Contains(err.Error(), c.want) || !reused {
				t.Errorf("%s: %v (the same connection: %v), want 401 with %q", name, err, reused, c.want)
			}
			_, err = w.ask(w.with(pair(t, made), w.key.APIKey), "", "open")
			if client.StatusOf(err) != 0 || err == nil {
				t.Errorf("%s: a new connection is answered: %v", name, err)
			}
		}
	})
}

// TestRevokedWhileJudged: a caller who was admitted before the revocation is judged after it.
func TestRevokedWhileJudged(t *testing.T) {
	t.Parallel()
	eachWorld(t, func(t *testing.T, w *world) {
		made := w.issue(client.NewCertificate{AgentID: w.agent, LifeSeconds: 300})
		caller, err := w.Keys.Resolve(t.Context(), w.key.APIKey)
		if err != nil {
			t.Fatal(err)
		}
		caller.Attested = principal.Attestation{AgentID: w.agent, CertificateID: made.CertificateID}
		decide := func() enforcement.Answer {
			return w.Enforcement.Decide(t.Context(), caller, enforcement.Request{Server: "files", Tool: "read"})
		}
		if got := decide(); got.Verdict != verdict.Allow {
			t.Fatalf("before: %+v", got)
		}
		offset := w.Offset.Load()
		w.Advance(5*time.Minute + time.Second)
		if got := decide(); got.Verdict == verdict.Allow || got.Rule != "certificate" {
			t.Errorf("expired: %+v", got)
		}
		w.Offset.Store(offset)
		if _, err := w.Owner.RevokeCertificate(t.Context(), w.ID, made.CertificateID, "", "lost"); err != nil {
			t.Fatal(err)
		}
		if got := decide(); got.Verdict == verdict.Allow || got.Rule != "certificate" {
			t.Errorf("revoked: %+v", got)
		}
		caller.Attested.CertificateID = "unknown"
		if got := decide(); got.Verdict == verdict.Allow || got.Rule != "certificate" {
			t.Errorf("a certificate that nobody knows: %+v", got)
		}
	})
}

// TestStrangersDoNotConnect: what this server has not signed for an agent, it does not speak with.
func TestStrangersDoNotConnect(t *testing.T) {
	t.Parallel()
	eachWorld(t, func(t *testing.T, w *world) {
		made := w.issue(client.NewCertificate{AgentID: w.agent})
		name := authority.Name{OrgID: w.ID, Kind: authority.Agent, ID: w.agent}
		twin, err := authority.New(w.ID, authority.P256, time.Now()) // says that it is the organization's authority
		if err != nil {
			t.Fatal(err)
		}
		key, err := authority.NewKey(authority.P256)
		if err != nil {
			t.Fatal(err)
		}
		forged, err := twin.Issue(authority.Order{
			Name: name, Public: key.Public(), Now: time.Now(), Expires: time.Now().Add(time.Hour),
		})
		if err != nil {
			t.Fatal(err)
		}
		for what, certificate := range map[string]*tls.Certificate{
			"no certificate":            nil,
			"one of a forged authority": {Certificate: [][]byte{forged.Raw}, PrivateKey: key},
			"the authority's":           {Certificate: [][]byte{parsed(t, made.Authority).Raw}, PrivateKey: key},
			"a server's":                pair(t, w.serverCertificate("files")),
		} {
			_, err := w.ask(w.with(certificate, w.key.APIKey), "", "open")
			if err == nil || client.StatusOf(err) != 0 {
				t.Errorf("%s: %v, want no connection", what, err)
			}
		}
		// A certificate without its private key.
		stolen := &tls.Certificate{Certificate: [][]byte{parsed(t, made.Certificate.Certificate).Raw}, PrivateKey: key}
		if _, err := w.ask(w.with(stolen, w.key.APIKey), "", "open"); err == nil || client.StatusOf(err) != 0 {
			t.Errorf("without the private key: %v, want no connection", err)
		}
	})
}

func (w *world) serverCertificate(name string) client.IssuedCertificate {
	w.t.Helper()
	server := w.pinned(name, "Reads.")
	made, err := w.Owner.IssueServerCertificate(w.t.Context(), w.ID, client.NewCertificate{MCPID: server.MCPID})
	if err != nil {
		w.t.Fatal(err)
	}
	return made
}

// pinned is a registered MCP server with one tool.
func (w *world) pinned(name, description string) client.MCPServer {
	w.t.Helper()
	made, err := w.Owner.RegisterMCPServer(w.t.Context(), w.ID, client.NewMCPServer{
		Name: name, Transport: "stdio", Command: []string{"files-server"}, Definition: listed(description),
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return made
}

// listed is what a server with one tool lists.
func listed(description string) json.RawMessage {
	text, err := json.Marshal(m{"tools": []m{{"name": "read", "description": description, "inputSchema": m{}}}})
	if err != nil {
		panic(err)
	}
	return text
}

// TestCurl asks for a decision as an agent does whose owner has curl.
func TestCurl(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("curl"); err != nil {
		t.Fatal("curl is not installed: scripts/install curl")
	}
	eachWorld(t, func(t *testing.T, w *world) {
		dir := t.TempDir()
		write := func(name, text string) string {
			path := filepath.Join(dir, name)
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			return path
		}
		made := w.issue(client.NewCertificate{AgentID: w.agent})
		body, err := json.Marshal(enforceBody("", "files"))
		if err != nil {
			t.Fatal(err)
		}
		curl := func(more ...string) (string, int) {
			args := append([]string{
				"--silent", "--show-error", "--noproxy", "*", "--cacert", write("server.pem", w.pem),
				"--header", "Content-Type: application/json", "--header", "x-api-key: " + w.key.APIKey,
				"--data", string(body),
			}, more...)
			var out bytes.Buffer
			cmd := exec.CommandContext(t.Context(), "curl", append(args, "https://"+w.AgentsAddress+"/iap/enforce")...)
			cmd.Stdout, cmd.Stderr = &out, &out
			err := cmd.Run()
			if failed, ok := errors.AsType[*exec.ExitError](err); ok {
				return out.String(), failed.ExitCode()
			}
			if err != nil {
				t.Fatal(err)
			}
			return out.String(), 0
		}
		certificate := []string{
			"--cert", write("agent.pem", made.Certificate.Certificate), "--key", write("agent.key", made.PrivateKey),
		}
		if out, code := curl(certificate...); code != 0 || !strings.Contains(out, `"action":"allow"`) {
			t.Errorf("with the certificate: %d, %s", code, out)
		}
		if out, code := curl(); code == 0 {
			t.Errorf("without a certificate: %s", out)
		}
		if _, err := w.Owner.RevokeCertificate(t.Context(), w.ID, made.CertificateID, "", "lost"); err != nil {
			t.Fatal(err)
		}
		if out, code := curl(certificate...); code == 0 {
			t.Errorf("with a revoked certificate: %s", out)
		}
	})
}
