package accounts_test

import (
	"bytes"
	"fmt"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"writ/client"
	"writ/internal/testserver"
)

// dex is a real identity provider on this machine. It lets in one person, whom its
// own test connector knows.
type dex struct {
	issuer string
	exited chan error
	said   *bytes.Buffer
}

const (
	dexClient = "writ"
	dexSecret = "dex-client-secret"
	dexPerson = "kilgore@kilgore.trout"
)

// startDex builds it when it is absent, and runs it until the test ends.
func startDex(t *testing.T) *dex {
	t.Helper()
	build := exec.CommandContext(t.Context(), "../../../scripts/dex")
	var complaint bytes.Buffer
	build.Stderr = &complaint
	path, err := build.Output()
	if err != nil {
		t.Fatalf("build dex: %v\n%s", err, complaint.String())
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	d := &dex{issuer: "http://" + address + "/dex", exited: make(chan error, 1), said: &bytes.Buffer{}}
	run := exec.CommandContext(t.Context(), strings.TrimSpace(string(path)), "serve", d.configure(t, address))
	run.Stdout, run.Stderr = d.said, d.said
	if err := run.Start(); err != nil {
		t.Fatalf("start dex: %v", err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		d.exited <- run.Wait()
	}()
	t.Cleanup(func() {
		_ = run.Process.Kill()
		<-done
	})
	d.wait(t)
	return d
}

// configure writes its settings. A client that is public may come back to any page
// of this machine, which suits a server on whatever port was free.
func (d *dex) configure(t *testing.T, address string) string {
	t.Helper()
	text := fmt.Sprintf(`
issuer: %s
storage: {type: memory}
web: {http: %s}
oauth2: {skipApprovalScreen: true}
staticClients: [{id: %s, secret: %s, name: Writ, public: true}]
connectors: [{type: mockCallback, id: mock, name: Mock}]
`, d.issuer, address, dexClient, dexSecret)
	path := filepath.Join(t.TempDir(), "dex.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// wait returns once it answers.
func (d *dex) wait(t *testing.T) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(10 * time.Millisecond) {
		response, err := http.Get(d.issuer + "/.well-known/openid-configuration")
		if err == nil {
			response.Body.Close()
			if response.StatusCode == http.StatusOK {
				return
			}
		}
		select {
		case err := <-d.exited:
			t.Fatalf("dex ended: %v\n%s", err, d.said)
		default:
		}
		if time.Now().After(deadline) {
			t.Fatalf("dex does not answer: %v", err)
		}
	}
}

// signInThere follows its pages until they lead back to us, and gives the path and
// query of where.
func (d *dex) signInThere(t *testing.T, address string) string {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	var back *url.URL
	visitor := &http.Client{Jar: jar, CheckRedirect: func(r *http.Request, _ []*http.Request) error {
		if !strings.HasPrefix(r.URL.String(), d.issuer) {
			back = r.URL
			return http.ErrUseLastResponse
		}
		return nil
	}}
	response, err := visitor.Get(address)
	if err != nil {
		t.Fatalf("visit dex: %v", err)
	}
	defer response.Body.Close()
	if back == nil {
		t.Fatalf("dex did not lead back: status %d at %s", response.StatusCode, response.Request.URL.Path)
	}
	return back.RequestURI()
}

// TestSignInWithDex signs in end to end: as an organization's provider, and as the
// one the operator chose.
func TestSignInWithDex(t *testing.T) {
	t.Parallel()
	d := startDex(t)
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		owner := s.Person("owner")
		org := s.Organization(owner, "Trout")
		_, err := owner.SetIdentityProvider(t.Context(), org, client.ProviderSettings{
			Issuer:       d.issuer,
			ClientID:     dexClient,
			ClientSecret: dexSecret,
			Slug:         "trout",
			Domains:      []string{"kilgore.trout"},
			DefaultRole:  "approver",
		})
		if err != nil {
			t.Fatalf("set up: %v", err)
		}
		if tested, err := owner.TestIdentityProvider(t.Context(), org); err != nil || tested.TestedAt == nil {
			t.Fatalf("test the connection: %+v, %v", tested, err)
		}
		visit := func(path string) (testserver.SignedIn, error) {
			b := s.Browser()
			return b.FinishSignIn(d.signInThere(t, b.StartSignIn(path)))
		}
		first, err := visit("/auth/oidc/trout")
		if err != nil {
			t.Fatalf("sign in: %v", err)
		}
		if first.User.Email != dexPerson || first.LimitedTo == nil || *first.LimitedTo != org ||
			first.Organizations[0].Role != "approver" {
			t.Errorf("signed in as %+v", first)
		}
		again, err := visit("/auth/oidc/" + org)
		if err != nil || again.User.ID != first.User.ID {
			t.Errorf("again: %+v, %v", again, err)
		}
		tokens, err := s.Public.Refresh(t.Context(), again.RefreshToken)
		if err != nil {
			t.Fatal(err)
		}
		_, err = s.Public.As(tokens.AccessToken).CreateOrganization(t.Context(), "Escape")
		testserver.WantStatus(t, "what it does not vouch for, after a refresh", err, http.StatusForbidden)

		_, err = visit("/auth/google")
		testserver.WantStatus(t, "the same person as the operator's provider knows them", err, http.StatusConflict)
	},
		append([]string{
			"WRIT_GOOGLE_CLIENT_ID", dexClient, "WRIT_GOOGLE_CLIENT_SECRET", dexSecret, "WRIT_GOOGLE_ISSUER", d.issuer,
		}, testserver.PermitLoopback...)...)
}
