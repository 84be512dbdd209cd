package accounts_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"writ/client"
	"writ/internal/database"
	"writ/internal/database/dbtest"
	"writ/internal/secret"
	"writ/internal/testserver"
)

var inlined = regexp.MustCompile(`(?s)<(script|style)>(.*?)</(?:script|style)>`)

// TestDevicePageIsClosed: its policy lets its own script and style run and nothing
// else, and it is the same whatever the address says.
func TestDevicePageIsClosed(t *testing.T) {
	t.Parallel()
	s := testserver.Start(t, dbtest.SQLite(t))
	page := s.Request(t, "GET", "/auth/device?user_code=BCDF-GHJK", "")
	if kind := page.Header.Get("Content-Type"); page.Status != http.StatusOK || kind != "text/html; charset=utf-8" {
		t.Fatalf("status %d, Content-Type %q", page.Status, kind)
	}
	want := "default-src 'none'"
	for _, part := range inlined.FindAllSubmatch(page.Body, -1) {
		sum := sha256.Sum256(part[2])
		if source := string(part[1]) + "-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) +
			"'"; !strings.Contains(page.Header.Get("Content-Security-Policy"), source) {
			t.Errorf("the policy does not let the page's own %s run", part[1])
		}
	}
	policy := page.Header.Get("Content-Security-Policy")
	for _, part := range []string{
		want, "connect-src 'self'", "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'",
	} {
		if !strings.Contains(policy, part) {
			t.Errorf("the policy %q lacks %s", policy, part)
		}
	}
	if strings.Contains(policy, "unsafe") || strings.Contains(policy, "http") ||
		len(inlined.FindAll(page.Body, -1)) != 2 {
		t.Errorf("the policy is %q", policy)
	}
	if elsewhere.Match(page.Body) || regexp.MustCompile(`(?i)\son\w+=|innerHTML|<script [^>]*src`).Match(page.Body) {
		t.Error("the page names another server, or makes a program of text")
	}
	hostile := s.Request(t, "GET", "/auth/device?user_code=<script>alert(1)</script>&product='\"><img>", "")
	if !bytes.Equal(page.Body, hostile.Body) {
		t.Error("what the address says is in the page")
	}
	if answer := s.Request(t, "HEAD", "/auth/device", ""); answer.Status != http.StatusOK {
		t.Errorf("HEAD: %d", answer.Status)
	}
}

// visit drives the page's own script, with as much of a browser as it needs, and
// gives what the page shows in the end.
func visit(t *testing.T, s *testserver.Server, steps m) m {
	t.Helper()
	return visitPage(t, s, "devicepage", steps)
}

func visitPage(t *testing.T, s *testserver.Server, page string, steps m) m {
	t.Helper()
	node := exec.CommandContext(t.Context(), "node", filepath.Join("testdata", page, "visit.mjs"))
	node.Env = append(os.Environ(), "SERVER="+s.Public.BaseURL, "STEPS="+testserver.JSON(t, steps), "NO_PROXY=*",
		"no_proxy=*")
	var complaint bytes.Buffer
	node.Stderr = &complaint
	output, err := node.Output()
	if err != nil {
		t.Fatalf("visit the page: %v\n%s%s", err, output, complaint.String())
	}
	var seen m
	if err := json.Unmarshal(output, &seen); err != nil {
		t.Fatalf("the page shows %q: %v", output, err)
	}
	return seen
}

// sessionsOf is in how many places a person is signed in.
func sessionsOf(t *testing.T, s *testserver.Server, p *testserver.Person) int {
	t.Helper()
	all, err := p.Sessions(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return len(all)
}

// TestDevicePage: a person signs in, sees who asks for what, and answers.
func TestDevicePage(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		ada := s.Person("ada")
		s.Organization(ada, "Harbour")
		second := s.Organization(ada, "Quay")
		signIn := func(search, press string) m {
			return visit(t, s, m{
				"search": search, "email": ada.Email, "password": testserver.Password, "act": true, "press": press,
			})
		}
		before := sessionsOf(t, s, ada)
		code := s.StartDevice(client.DeviceStart{Client: client.WritClient})
		seen := signIn("?user_code="+code.UserCode+
			"&callback=http%3A%2F%2Flocalhost%3A1%2Fcallback&org=Quay&product=gemini", "approve")
		if seen["shown"] != code.UserCode || seen["address"] != "127.0.0.1" || seen["product"] != "gemini" ||
			seen["who"] != ada.Email || seen["session"] != true || seen["actingHidden"] != false {
			t.Errorf("the page shows %v", seen)
		}
		if rights, _ := seen["rights"].([]any); len(rights) != 6 ||
			!slices.ContainsFunc(rights, func(r any) bool {
				return strings.Contains(r.(string), "switch between your organizations")
			}) || !slices.ContainsFunc(rights, func(r any) bool {
			return strings.Contains(r.(string), "only when a person confirms")
		}) {
			t.Errorf("the page says that the key may %v", seen["rights"])
		}
		if message, _ := seen["message"].(string); !strings.Contains(message, "is signed in") ||
			seen["answerHidden"] != true {
			t.Errorf("after the yes the page says %v", seen)
		}
		got, err := s.Public.PollDevice(t.Context(), code.DeviceCode, client.WritClient)
		if err != nil || got.OrganizationID != second || got.AccessToken == "" {
			t.Errorf("the terminal gets %+v, %v; want a session and the organization that its link named", got, err)
		}
		if n := sessionsOf(t, s, ada); n != before+1 {
			t.Errorf("%d new sessions, want the terminal's alone: the page signs out", n-before)
		}

		denied := s.StartDevice(client.DeviceStart{})
		if seen := signIn("?user_code="+denied.UserCode, "deny"); seen["session"] != false ||
			seen["actingHidden"] != true || seen["product"] != "not told" {
			t.Errorf("of one that says nothing the page shows %v", seen)
		}
		if _, err := s.Public.PollDevice(t.Context(), denied.DeviceCode,
			""); client.DeviceError(err) != client.DeviceDenied {
			t.Errorf("the terminal is told %v", err)
		}
		if seen := signIn("?user_code=BBBB-BBBB", ""); !strings.Contains(seen["message"].(string), "userCode") ||
			seen["answerHidden"] != true {
			t.Errorf("a wrong code: %v", seen)
		}
		if n := sessionsOf(t, s, ada); n != before+1 {
			t.Errorf("%d sessions are left of visits that came to nothing", n-before-1)
		}
	})
}

// TestDevicePageOfWhoMayNotApprove: the page says that the terminal waits on, and how to end that. The terminal hears
// of it when it asks next.
func TestDevicePageOfWhoMayNotApprove(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		owner := s.Person("owner")
		viewer := s.Join(owner, s.Organization(owner, "Harbour"), "viewer")
		code := s.StartDevice(client.DeviceStart{}) // wants a key, which a viewer does not have
		seen := visit(t, s, m{
			"search": "?user_code=" + code.UserCode, "email": viewer.Email, "password": testserver.Password,
			"act": true, "press": "approve", "thenDeny": true,
		})
		if said := fmt.Sprint(seen["afterApproval"]); !strings.HasSuffix(said, "Deny ends that.") {
			t.Errorf("the page says %q", said)
		}
		if said := fmt.Sprint(seen["message"]); !strings.Contains(said, "turned away") {
			t.Errorf("after the no the page says %q", said)
		}
		_, err := s.Public.PollDevice(t.Context(), code.DeviceCode, "")
		if client.DeviceError(err) != client.DeviceDenied {
			t.Errorf("the terminal is told %v", err)
		}
	})
}

// TestDevicePageOfAViewer: a viewer has no keys, and the page says what the terminal gets instead.
func TestDevicePageOfAViewer(t *testing.T) {
	t.Parallel()
	testserver.EachOrg(t, func(t *testing.T, o *testserver.Org) {
		vera := o.Join(o.Owner, o.ID, "viewer")
		look := func(start client.DeviceStart, press string) (client.DeviceCode, m) {
			code := o.StartDevice(start)
			return code, visit(t, o.Server, m{
				"search": "?user_code=" + code.UserCode, "email": vera.Email, "password": testserver.Password,
				"act": true, "press": press,
			})
		}
		_, seen := look(client.DeviceStart{}, "")
		if said, _ := seen["keyless"].(string); !strings.HasPrefix(said, "nothing, because it wants a key") ||
			seen["rightsHidden"] != true || seen["approveDisabled"] != true {
			t.Errorf("of a program that wants a key the page shows %v", seen)
		}
		code, seen := look(client.DeviceStart{Client: client.WritClient}, "approve")
		if said, _ := seen["keyless"].(string); !strings.HasPrefix(said, "no key, because a viewer has none") ||
			seen["rightsHidden"] != true || seen["approveDisabled"] != false || seen["actingHidden"] != true {
			t.Errorf("of writ the page shows %v", seen)
		}
		got, err := o.Public.PollDevice(t.Context(), code.DeviceCode, client.WritClient)
		if err != nil || got.AccessToken == "" || got.APIKey != "" {
			t.Errorf("the terminal gets %+v, %v; want a session without a key", got, err)
		}
	})
}

// TestDevicePageSendsPeopleElsewhere: who has no password signs in with a provider,
// comes back with a code, and goes on with the request they left.
func TestDevicePageSendsPeopleElsewhere(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		ada := s.Person("ada")
		s.Organization(ada, "Harbour")
		code := s.StartDevice(client.DeviceStart{})
		away := visit(t, s, m{
			"search": "?user_code=" + code.UserCode + "&product=gemini",
			"email":  "ada+x@example.org",
			"leave":  "provider",
		})
		if away["left"] != "/auth/oidc?email=ada%2Bx%40example.org" ||
			away["cookie"] != "writ_return=device; path=/auth; max-age=600; samesite=lax" ||
			away["googleHidden"] != true {
			t.Fatalf("the page sends to %v", away)
		}
		if nowhere := visit(t, s, m{
			"search": "?user_code=" + code.UserCode, "leave": "provider",
		}); nowhere["left"] != "" || !strings.Contains(nowhere["message"].(string), "e-mail") {
			t.Errorf("without an address the page does %v", nowhere)
		}

		failed := visit(t, s, m{
			"search": "", "stored": away["stored"], "email": ada.Email, "password": testserver.Password, "act": true,
		})
		if failed["shown"] != code.UserCode || failed["product"] != "gemini" {
			t.Errorf("back on the page after a sign-in elsewhere that failed: %v", failed)
		}

		// As the callback leaves it: a code in the address, half of it in a cookie.
		err := s.Database.Write(t.Context(), database.Change{Do: func(ctx context.Context, tx *database.Tx) error {
			_, err := tx.Exec(ctx,
				`INSERT INTO sign_in_code (hash, user_id, org_id, expires_at) VALUES ($1, $2, '', $3)`,
				secret.Hash("one.half"), ada.ID, database.Micros(tx.Now().Add(time.Minute)))
			return err
		}})
		if err != nil {
			t.Fatal(err)
		}
		before := sessionsOf(t, s, ada)
		back := visit(t, s, m{
			"search": "",
			"hash":   "#code=one",
			"cookie": "writ_sign_in_code=half",
			"stored": away["stored"],
			"press":  "approve",
		})
		if back["shown"] != code.UserCode || back["product"] != "gemini" || back["who"] != ada.Email ||
			back["hash"] != "" || len(back["stored"].(map[string]any)) != 0 {
			t.Errorf("back on the page: %v", back)
		}
		if got, err := s.Public.PollDevice(t.Context(), code.DeviceCode, ""); err != nil || got.UserID != ada.ID {
			t.Errorf("the terminal gets %+v, %v", got, err)
		}
		if n := sessionsOf(t, s, ada); n != before {
			t.Errorf("%d sessions are left of the visit", n-before)
		}
	})
}
