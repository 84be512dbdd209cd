package api_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"writ/client"
	"writ/internal/database/dbtest"
	"writ/internal/throttle"
)

// begin asks to sign in from a terminal.
func (s *server) begin(start client.DeviceStart) client.DeviceCode {
	s.t.Helper()
	code, err := s.public.StartDevice(s.t.Context(), start)
	if err != nil {
		s.t.Fatalf("ask to sign in from a terminal: %v", err)
	}
	return code
}

// letIn is a terminal that was let in and has not come for its key yet.
func (s *server) letIn(p *person, orgID string) client.DeviceCode {
	s.t.Helper()
	code := s.begin(client.DeviceStart{Client: client.WritClient})
	if err := p.ApproveDevice(s.t.Context(), client.DeviceApproval{
		UserCode: code.UserCode, OrganizationID: orgID,
	}); err != nil {
		s.t.Fatalf("let a terminal in: %v", err)
	}
	return code
}

// publishedCommandLines are the requests of both, byte for byte.
var publishedCommandLines = map[string]struct{ code, token string }{
	"TypeScript": {
		code:  `{"callback_url":"http://localhost:53211/callback?state=0123456789abcdef0123456789abcdef"}`,
		token: `{"deviceCode":"%s"}`,
	},
	"Python": {
		code:  `{"callback_url": "http://localhost:53211/callback?state=0123456789abcdef0123456789abcdef", "product": "gemini"}`,
		token: `{"deviceCode": "%s"}`,
	},
	"Python without a product": {
		code:  `{"callback_url": "http://localhost:53211/callback?state=0123456789abcdef0123456789abcdef", "product": null}`,
		token: `{"deviceCode": "%s"}`,
	},
}

// object sends a request and reads the object of its answer.
func (s *server) object(t *testing.T, path, body string) (int, m) {
	t.Helper()
	answer := s.wire(t, "POST", path, body)
	if kind := answer.header.Get("Content-Type"); kind != "application/json" {
		t.Errorf("POST %s: Content-Type %q", path, kind)
	}
	var got m
	if err := json.Unmarshal(answer.body, &got); err != nil {
		t.Fatalf("POST %s: %v: %s", path, err, answer.body)
	}
	return answer.status, got
}

// TestPublishedCommandLinesSignIn replays a whole sign-in of each.
func TestPublishedCommandLinesSignIn(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *server) {
		ada := s.person("ada")
		org := s.organization(ada, "Harbour")
		for name, sent := range publishedCommandLines {
			t.Run(name, func(t *testing.T) {
				status, begun := s.object(t, "/auth/device/code", sent.code)
				if status != http.StatusOK || begun["interval"] != 5.0 || begun["expires_in"] != 600.0 {
					t.Fatalf("code: %d %v", status, begun)
				}
				page := fmt.Sprint(begun["verification_uri_complete"])
				if want := "/auth/device?user_code=" +
					fmt.Sprint(begun["user_code"]); !strings.HasSuffix(page, want) ||
					begun["verification_uri"] != strings.TrimSuffix(page, want)+"/auth/device" {
					t.Errorf("the page is %q, want one that ends in %q", page, want)
				}
				poll := fmt.Sprintf(sent.token, begun["device_code"])
				ask := func(what, code string) {
					t.Helper()
					status, got := s.object(t, "/auth/device/token", poll)
					if status != http.StatusBadRequest || got["error"] != code || got["error_description"] == "" ||
						got["api_key"] != nil {
						t.Errorf("%s: %d %v, want %s", what, status, got, code)
					}
				}
				ask("before the answer", "authorization_pending")
				ask("too soon", "slow_down")
				if err := ada.ApproveDevice(t.Context(), client.DeviceApproval{
					UserCode: fmt.Sprint(begun["user_code"]),
				}); err != nil {
					t.Fatalf("approve: %v", err)
				}
				s.advance(5 * time.Second)
				status, got := s.object(t, "/auth/device/token", poll)
				if keys := slices.Sorted(maps.Keys(got)); status != http.StatusOK ||
					!slices.Equal(keys, []string{"api_key", "email", "org_id", "user_id"}) {
					t.Fatalf("token: %d, members %q", status, keys)
				}
				if got["email"] != ada.Email || got["user_id"] != ada.ID || got["org_id"] != org ||
					!strings.HasPrefix(fmt.Sprint(got["api_key"]), "ak_") {
					t.Errorf("granted to %v", got)
				}
				s.advance(5 * time.Second)
				ask("a second time", "invalid_grant")
				terminal := s.public.WithKey(fmt.Sprint(got["api_key"]))
				key, err := terminal.CurrentKey(t.Context())
				if want := []string{"audit", "cli", "delegation.request", "enforce", "ingest"}; err != nil ||
					!slices.Equal(key.Scopes, want) || key.Product != "" {
					t.Errorf("the key is %+v, %v, want the scopes %v", key, err, want)
				}
				if orgs := s.wire(t, "GET", "/iap/sdk/orgs", "",
					credentials(terminal)...); orgs.status != http.StatusOK ||
					!strings.Contains(string(orgs.body), org) {
					t.Errorf("orgs with the key: %d %s", orgs.status, orgs.body)
				}
			})
		}
	})
}

// TestWritGetsASession: with client writ in both requests the answer has tokens as
// well, unless the person gave the key alone. A program that was shown as one that
// wants a key cannot turn the yes into more.
func TestWritGetsASession(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *server) {
		ada := s.person("ada")
		s.organization(ada, "Harbour")
		grant := func(said string, keyOnly bool, name string) client.DeviceGrant {
			t.Helper()
			code := s.begin(client.DeviceStart{Client: said})
			if err := ada.ApproveDevice(t.Context(), client.DeviceApproval{
				UserCode: code.UserCode, KeyOnly: keyOnly,
			}); err != nil {
				t.Fatal(err)
			}
			got, err := s.public.PollDevice(t.Context(), code.DeviceCode, name)
			if err != nil || got.APIKey == "" {
				t.Fatalf("poll: %+v, %v", got, err)
			}
			return got
		}
		got := grant(client.WritClient, false, client.WritClient)
		me, err := s.public.As(got.AccessToken).Me(t.Context())
		if err != nil || me.User.ID != ada.ID || got.ExpiresIn != 900 {
			t.Errorf("the session is of %+v, %v", me.User, err)
		}
		if _, err := s.public.Refresh(t.Context(), got.RefreshToken); err != nil {
			t.Errorf("refresh: %v", err)
		}
		for what, got := range map[string]client.DeviceGrant{
			"key only":                grant(client.WritClient, true, client.WritClient),
			"another client":          grant(client.WritClient, false, "other"),
			"no client":               grant(client.WritClient, false, ""),
			"one that did not say so": grant("", false, client.WritClient),
		} {
			if got.AccessToken != "" || got.RefreshToken != "" || got.ExpiresIn != 0 {
				t.Errorf("%s: has a session", what)
			}
		}
	})
}

// TestWhatAPersonSeesOfATerminal before they answer.
func TestWhatAPersonSeesOfATerminal(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *server) {
		ada := s.person("ada")
		code := s.begin(client.DeviceStart{Client: client.WritClient, Product: "gemini"})
		got, err := ada.FindDevice(t.Context(), strings.ToLower(code.UserCode))
		if err != nil || got.UserCode != code.UserCode || got.Product != "gemini" || got.Client != "writ" ||
			got.Address != "127.0.0.1" || got.UserAgent == "" || !slices.Contains(got.Scopes, "cli") {
			t.Errorf("sees %+v, %v", got, err)
		}
		if other, err := ada.FindDevice(t.Context(), s.begin(client.DeviceStart{}).UserCode); err != nil ||
			other.Client != "" || other.Product != "" {
			t.Errorf("one that says nothing: %+v, %v", other, err)
		}
		if err := ada.DenyDevice(t.Context(), code.UserCode); err != nil {
			t.Fatal(err)
		}
		_, err = ada.FindDevice(t.Context(), code.UserCode)
		wantStatus(t, "after the answer", err, http.StatusBadRequest)
		if _, err := s.public.PollDevice(t.Context(), code.DeviceCode,
			""); client.DeviceError(err) != client.DeviceDenied {
			t.Errorf("the terminal is told %v", err)
		}
		s.advance(10 * time.Minute)
		late := s.begin(client.DeviceStart{})
		s.advance(10 * time.Minute)
		if _, err := s.public.PollDevice(t.Context(), late.DeviceCode,
			""); client.DeviceError(err) != client.DeviceExpired {
			t.Errorf("a terminal that was not answered is told %v", err)
		}
	})
}

// TestWhoMayLetATerminalIn: who may have keys in the organization, and still may
// when the terminal comes for its own.
func TestWhoMayLetATerminalIn(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *server) {
		owner := s.person("owner")
		org, other := s.organization(owner, "Here"), s.organization(owner, "There")
		code := s.begin(client.DeviceStart{})
		yes := client.DeviceApproval{UserCode: code.UserCode, OrganizationID: org}
		wantStatus(t, "a viewer", s.join(owner, org, "viewer").ApproveDevice(t.Context(), yes), http.StatusForbidden)
		wantStatus(t, "an outsider", s.person("outsider").ApproveDevice(t.Context(), yes), http.StatusForbidden)
		wantStatus(t, "a terminal", s.terminalKey(owner, org).ApproveDevice(t.Context(), yes), http.StatusUnauthorized)
		wantStatus(t, "who is in two and names none",
			owner.ApproveDevice(t.Context(), client.DeviceApproval{UserCode: code.UserCode}), http.StatusBadRequest)
		wantStatus(t, "who is in none",
			s.person("loner").ApproveDevice(t.Context(), client.DeviceApproval{UserCode: code.UserCode}),
			http.StatusBadRequest)
		if _, err := s.public.PollDevice(t.Context(), code.DeviceCode,
			""); client.DeviceError(err) != client.DevicePending {
			t.Errorf("after all who may not: %v", err)
		}

		member := s.join(owner, other, "member")
		collected := s.letIn(member, other)
		if err := owner.RemoveMember(t.Context(), other, member.ID); err != nil {
			t.Fatal(err)
		}
		before := s.dump()
		if _, err := s.public.PollDevice(t.Context(), collected.DeviceCode,
			client.WritClient); client.DeviceError(err) != client.DeviceDenied {
			t.Errorf("the terminal of a former member is told %v", err)
		}
		if after := s.dump(); !slices.Equal(before, after) {
			t.Error("it left something behind")
		}
	})
}

// TestTokenErrorsSpeakOAuth: whatever goes wrong, a terminal reads a code it knows.
func TestTokenErrorsSpeakOAuth(t *testing.T) {
	t.Parallel()
	s := start(t, dbtest.SQLite(t))
	for name, test := range map[string]struct {
		body, code string
		status     int
	}{
		"no body":             {"", "invalid_request", 400},
		"no JSON":             {`{"deviceCode":`, "invalid_request", 400},
		"an array":            {`["` + typedSecret + `"]`, "invalid_request", 400},
		"no code":             {`{}`, "invalid_request", 400},
		"another name":        {`{"device_code":"` + typedSecret + `"}`, "invalid_request", 400},
		"a code of no text":   {`{"deviceCode":424242}`, "invalid_request", 400},
		"a code that is null": {`{"deviceCode":null}`, "invalid_request", 400},
		"an empty code":       {`{"deviceCode":""}`, "invalid_request", 400},
		"a code twice":        {`{"deviceCode":"a","deviceCode":"a"}`, "invalid_request", 400},
		"a long code": {
			`{"deviceCode":"` + typedSecret + strings.Repeat("x", 200) + `"}`, "invalid_request", 400,
		},
		"an unknown code":    {`{"deviceCode":"` + typedSecret + `"}`, "invalid_grant", 400},
		"a code with a zero": {`{"deviceCode":"a\u0000b"}`, "invalid_grant", 400},
		"a large body":       {`{"deviceCode":"` + strings.Repeat("x", 2<<20) + `"}`, "invalid_request", 413},
		"unknown members":    {`{"deviceCode":"x","unheardOf":{"a":[1]},"client":null}`, "invalid_grant", 400},
	} {
		for _, path := range []string{"/auth/device/token", "//auth/device/token"} {
			status, got := s.object(t, path, test.body)
			if status != test.status || got["error"] != test.code || got["error_description"] == "" ||
				got["message"] != got["error_description"] || got["requestId"] == nil {
				t.Errorf("%s: %d %v, want %d %s", name, status, got, test.status, test.code)
			}
			if strings.Contains(fmt.Sprint(got), typedSecret) {
				t.Errorf("%s: the answer repeats what was sent: %v", name, got)
			}
		}
	}
}

// TestTerminalsWaitOutAnOutage: a published command line gives up after any other
// code than these.
func TestTerminalsWaitOutAnOutage(t *testing.T) {
	t.Parallel()
	options, line := dbtest.PostgresOnALine(t)
	s := start(t, options)
	ada := s.person("ada")
	code := s.letIn(ada, s.organization(ada, "Harbour"))
	line.Cut()
	_, err := s.public.PollDevice(t.Context(), code.DeviceCode, "")
	wantStatus(t, "during the outage", err, http.StatusServiceUnavailable)
	if client.DeviceError(err) != client.DeviceSlowDown {
		t.Errorf("during the outage the terminal is told %q", client.DeviceError(err))
	}
	line.Mend()
	err = eventually(func() error { _, err := s.public.PollDevice(t.Context(), code.DeviceCode, ""); return err })
	if err != nil {
		t.Errorf("after the outage: %v", err)
	}
}

// TestDeviceThrottles: asking for codes is counted by address, trying them by
// person; polling is not, whatever the rest has used up.
func TestDeviceThrottles(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *server) {
		ada := s.person("ada")
		s.nextMinute()
		code := s.begin(client.DeviceStart{})
		s.nextMinute()
		wantThrottled(t, throttled{throttle.StartDevice, func(t *testing.T, c *client.Client, _ string) error {
			_, err := c.StartDevice(t.Context(), client.DeviceStart{})
			return err
		}}, s.public, "")
		wantThrottled(t, throttled{throttle.AnswerDevice, func(t *testing.T, c *client.Client, _ string) error {
			return c.ApproveDevice(t.Context(), client.DeviceApproval{UserCode: "BBBB-BBBB"})
		}}, ada.Client, "")
		wantStatus(t, "deny", ada.DenyDevice(t.Context(), code.UserCode), http.StatusTooManyRequests)
		_, err := ada.FindDevice(t.Context(), code.UserCode)
		wantStatus(t, "look", err, http.StatusTooManyRequests)
		for range 40 {
			if _, err := s.public.PollDevice(t.Context(), code.DeviceCode,
				""); client.StatusOf(err) != http.StatusBadRequest {
				t.Fatalf("poll: %v", err)
			}
		}
		s.nextMinute()
		wantFree(t, "a minute later", ada.DenyDevice(t.Context(), code.UserCode))
	})
}
