package accounts_test

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
	"writ/internal/testserver"
	"writ/internal/throttle"
)

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
func object(t *testing.T, s *testserver.Server, path, body string) (int, m) {
	t.Helper()
	answer := s.Request(t, "POST", path, body)
	if kind := answer.Header.Get("Content-Type"); kind != "application/json" {
		t.Errorf("POST %s: Content-Type %q", path, kind)
	}
	var got m
	if err := json.Unmarshal(answer.Body, &got); err != nil {
		t.Fatalf("POST %s: %v: %s", path, err, answer.Body)
	}
	return answer.Status, got
}

// TestPublishedCommandLinesSignIn replays a whole sign-in of each.
func TestPublishedCommandLinesSignIn(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		ada := s.Person("ada")
		org := s.Organization(ada, "Harbour")
		for name, sent := range publishedCommandLines {
			t.Run(name, func(t *testing.T) {
				status, begun := object(t, s, "/auth/device/code", sent.code)
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
					status, got := object(t, s, "/auth/device/token", poll)
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
				s.Advance(5 * time.Second)
				status, got := object(t, s, "/auth/device/token", poll)
				if keys := slices.Sorted(maps.Keys(got)); status != http.StatusOK ||
					!slices.Equal(keys, []string{"api_key", "email", "org_id", "user_id"}) {
					t.Fatalf("token: %d, members %q", status, keys)
				}
				if got["email"] != ada.Email || got["user_id"] != ada.ID || got["org_id"] != org ||
					!strings.HasPrefix(fmt.Sprint(got["api_key"]), "ak_") {
					t.Errorf("granted to %v", got)
				}
				s.Advance(5 * time.Second)
				ask("a second time", "invalid_grant")
				terminal := s.Public.WithKey(fmt.Sprint(got["api_key"]))
				key, err := terminal.CurrentKey(t.Context())
				if want := []string{
					"audit", "cli", "delegation.request", "enforce", "ingest", "profile.propose",
				}; err != nil ||
					!slices.Equal(key.Scopes, want) || key.Product != "" {
					t.Errorf("the key is %+v, %v, want the scopes %v", key, err, want)
				}
				if orgs := s.Request(t, "GET", "/iap/sdk/orgs", "",
					testserver.Credentials(terminal)...); orgs.Status != http.StatusOK ||
					!strings.Contains(string(orgs.Body), org) {
					t.Errorf("orgs with the key: %d %s", orgs.Status, orgs.Body)
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
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		ada := s.Person("ada")
		s.Organization(ada, "Harbour")
		grant := func(said string, keyOnly bool, name string) client.DeviceGrant {
			t.Helper()
			code := s.StartDevice(client.DeviceStart{Client: said})
			if err := ada.ApproveDevice(t.Context(), client.DeviceApproval{
				UserCode: code.UserCode, KeyOnly: keyOnly,
			}); err != nil {
				t.Fatal(err)
			}
			got, err := s.Public.PollDevice(t.Context(), code.DeviceCode, name)
			if err != nil || got.APIKey == "" {
				t.Fatalf("poll: %+v, %v", got, err)
			}
			return got
		}
		got := grant(client.WritClient, false, client.WritClient)
		me, err := s.Public.As(got.AccessToken).Me(t.Context())
		if err != nil || me.User.ID != ada.ID || got.ExpiresIn != 900 {
			t.Errorf("the session is of %+v, %v", me.User, err)
		}
		if _, err := s.Public.Refresh(t.Context(), got.RefreshToken); err != nil {
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

// TestWhoIsInNoOrganizationSignsIn: they get a session without a key, and accept their first invitation with it. A
// terminal that wants a key alone gets nothing.
func TestWhoIsInNoOrganizationSignsIn(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		ctx, owner, ada := t.Context(), s.Person("owner"), s.Person("ada")
		org := s.Organization(owner, "Harbour")
		approved := func() client.DeviceCode {
			t.Helper()
			code := s.StartDevice(client.DeviceStart{Client: client.WritClient})
			if err := ada.ApproveDevice(ctx, client.DeviceApproval{UserCode: code.UserCode}); err != nil {
				t.Fatal(err)
			}
			return code
		}
		for what, asked := range map[string]client.DeviceApproval{
			"a terminal that wants a key": {UserCode: s.StartDevice(client.DeviceStart{}).UserCode},
			"a key alone": {
				UserCode: s.StartDevice(client.DeviceStart{Client: client.WritClient}).UserCode, KeyOnly: true,
			},
		} {
			err := ada.ApproveDevice(ctx, asked)
			testserver.WantStatus(t, what, err, http.StatusBadRequest)
			if !strings.Contains(fmt.Sprint(err), "you are in no organization yet") {
				t.Errorf("%s: %v", what, err)
			}
		}
		if _, err := s.Public.PollDevice(ctx, approved().DeviceCode, ""); client.DeviceError(err) !=
			client.DeviceDenied {
			t.Errorf("one that would get nothing: %v", err)
		}
		got, err := s.Public.PollDevice(ctx, approved().DeviceCode, client.WritClient)
		if err != nil || got.APIKey != "" || got.OrganizationID != "" || got.Email != ada.Email {
			t.Fatalf("%+v, %v", got, err)
		}
		if _, err := owner.Invite(ctx, org, ada.Email, "member"); err != nil {
			t.Fatal(err)
		}
		joined, err := s.Public.As(got.AccessToken).AcceptInvite(ctx, s.TokenFor(ada.Email))
		if err != nil || joined.ID != org {
			t.Errorf("%+v, %v", joined, err)
		}
	})
}

// TestAViewerSignsIn: who may have no keys gives a terminal their session, which reads what they may read and changes
// nothing. A terminal that wants a key alone gets nothing.
func TestAViewerSignsIn(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		ctx, owner := t.Context(), s.Person("owner")
		org := s.Organization(owner, "Harbour")
		viewer := s.Join(owner, org, "viewer")
		for what, asked := range map[string]client.DeviceApproval{
			"a terminal that wants a key": {UserCode: s.StartDevice(client.DeviceStart{}).UserCode},
			"a key alone": {
				UserCode: s.StartDevice(client.DeviceStart{Client: client.WritClient}).UserCode, KeyOnly: true,
			},
		} {
			testserver.WantStatus(t, what, viewer.ApproveDevice(ctx, asked), http.StatusForbidden)
		}
		code := s.StartDevice(client.DeviceStart{Client: client.WritClient})
		if err := viewer.ApproveDevice(ctx, client.DeviceApproval{UserCode: code.UserCode}); err != nil {
			t.Fatal(err)
		}
		got, err := s.Public.PollDevice(ctx, code.DeviceCode, client.WritClient)
		if err != nil || got.APIKey != "" || got.OrganizationID != org || got.Email != viewer.Email {
			t.Fatalf("%+v, %v", got, err)
		}
		reading := s.Public.As(got.AccessToken)
		if _, err := reading.Policies(ctx, client.PolicyFilter{OrganizationID: org}, client.List{}); err != nil {
			t.Errorf("the terminal reads policies: %v", err)
		}
		_, err = reading.CreateKey(ctx, client.NewKey{Name: "mine", OrganizationID: org, Scopes: []string{"enforce"}})
		testserver.WantStatus(t, "the terminal makes a key", err, http.StatusForbidden)
	})
}

// TestALostRightIsNoKey: who may have no more keys when the terminal comes for its own gives it their session, if they
// allowed that, and else nothing.
func TestALostRightIsNoKey(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		ctx, owner := t.Context(), s.Person("owner")
		org := s.Organization(owner, "Harbour")
		member := s.Join(owner, org, "member")
		both, keyAlone := s.ApprovedDevice(member, org), s.StartDevice(client.DeviceStart{})
		if err := member.ApproveDevice(ctx, client.DeviceApproval{UserCode: keyAlone.UserCode}); err != nil {
			t.Fatal(err)
		}
		if _, err := owner.ChangeRole(ctx, org, member.ID, "viewer"); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Public.PollDevice(ctx, keyAlone.DeviceCode, ""); client.DeviceError(err) != client.DeviceDenied {
			t.Errorf("a terminal that gets no session is told %v", err)
		}
		got, err := s.Public.PollDevice(ctx, both.DeviceCode, client.WritClient)
		if err != nil || got.APIKey != "" || got.AccessToken == "" {
			t.Errorf("%+v, %v", got, err)
		}
	})
}

// TestWhatAPersonSeesOfATerminal before they answer.
func TestWhatAPersonSeesOfATerminal(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		ada := s.Person("ada")
		code := s.StartDevice(client.DeviceStart{Client: client.WritClient, Product: "gemini"})
		got, err := ada.FindDevice(t.Context(), strings.ToLower(code.UserCode))
		if err != nil || got.UserCode != code.UserCode || got.Product != "gemini" || got.Client != "writ" ||
			got.Address != "127.0.0.1" || got.UserAgent == "" || !slices.Contains(got.Scopes, "cli") {
			t.Errorf("sees %+v, %v", got, err)
		}
		if other, err := ada.FindDevice(t.Context(), s.StartDevice(client.DeviceStart{}).UserCode); err != nil ||
			other.Client != "" || other.Product != "" {
			t.Errorf("one that says nothing: %+v, %v", other, err)
		}
		if err := ada.DenyDevice(t.Context(), code.UserCode); err != nil {
			t.Fatal(err)
		}
		_, err = ada.FindDevice(t.Context(), code.UserCode)
		testserver.WantStatus(t, "after the answer", err, http.StatusBadRequest)
		if _, err := s.Public.PollDevice(t.Context(), code.DeviceCode,
			""); client.DeviceError(err) != client.DeviceDenied {
			t.Errorf("the terminal is told %v", err)
		}
		s.Advance(10 * time.Minute)
		late := s.StartDevice(client.DeviceStart{})
		s.Advance(10 * time.Minute)
		if _, err := s.Public.PollDevice(t.Context(), late.DeviceCode,
			""); client.DeviceError(err) != client.DeviceExpired {
			t.Errorf("a terminal that was not answered is told %v", err)
		}
	})
}

// TestWhoMayLetATerminalIn: who may have keys in the organization, and still may
// when the terminal comes for its own.
func TestWhoMayLetATerminalIn(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		owner := s.Person("owner")
		org, other := s.Organization(owner, "Here"), s.Organization(owner, "There")
		code := s.StartDevice(client.DeviceStart{})
		yes := client.DeviceApproval{UserCode: code.UserCode, OrganizationID: org}
		testserver.WantStatus(t, "a viewer", s.Join(owner, org, "viewer").ApproveDevice(t.Context(), yes),
			http.StatusForbidden)
		testserver.WantStatus(t, "an outsider", s.Person("outsider").ApproveDevice(t.Context(), yes),
			http.StatusForbidden)
		testserver.WantStatus(t, "a terminal", s.TerminalKey(owner, org).ApproveDevice(t.Context(), yes),
			http.StatusUnauthorized)
		testserver.WantStatus(t, "who is in two and names none",
			owner.ApproveDevice(t.Context(), client.DeviceApproval{UserCode: code.UserCode}), http.StatusBadRequest)
		testserver.WantStatus(t, "who is in none",
			s.Person("loner").ApproveDevice(t.Context(), client.DeviceApproval{UserCode: code.UserCode}),
			http.StatusBadRequest)
		if _, err := s.Public.PollDevice(t.Context(), code.DeviceCode,
			""); client.DeviceError(err) != client.DevicePending {
			t.Errorf("after all who may not: %v", err)
		}

		member := s.Join(owner, other, "member")
		collected := s.ApprovedDevice(member, other)
		if err := owner.RemoveMember(t.Context(), other, member.ID); err != nil {
			t.Fatal(err)
		}
		before := s.Dump()
		if _, err := s.Public.PollDevice(t.Context(), collected.DeviceCode,
			client.WritClient); client.DeviceError(err) != client.DeviceDenied {
			t.Errorf("the terminal of a former member is told %v", err)
		}
		if after := s.Dump(); !slices.Equal(before, after) {
			t.Error("it left something behind")
		}
	})
}

// TestTokenErrorsSpeakOAuth: whatever goes wrong, a terminal reads a code it knows.
func TestTokenErrorsSpeakOAuth(t *testing.T) {
	t.Parallel()
	s := testserver.Start(t, dbtest.SQLite(t))
	for name, test := range map[string]struct {
		body, code string
		status     int
	}{
		"no body":             {"", "invalid_request", 400},
		"no JSON":             {`{"deviceCode":`, "invalid_request", 400},
		"an array":            {`["` + testserver.TypedSecret + `"]`, "invalid_request", 400},
		"no code":             {`{}`, "invalid_request", 400},
		"another name":        {`{"device_code":"` + testserver.TypedSecret + `"}`, "invalid_request", 400},
		"a code of no text":   {`{"deviceCode":424242}`, "invalid_request", 400},
		"a code that is null": {`{"deviceCode":null}`, "invalid_request", 400},
		"an empty code":       {`{"deviceCode":""}`, "invalid_request", 400},
		"a code twice":        {`{"deviceCode":"a","deviceCode":"a"}`, "invalid_request", 400},
		"a long code": {
			`{"deviceCode":"` + testserver.TypedSecret + strings.Repeat("x", 200) + `"}`, "invalid_request", 400,
		},
		"an unknown code":    {`{"deviceCode":"` + testserver.TypedSecret + `"}`, "invalid_grant", 400},
		"a code with a zero": {`{"deviceCode":"a\u0000b"}`, "invalid_grant", 400},
		"a large body":       {`{"deviceCode":"` + strings.Repeat("x", 2<<20) + `"}`, "invalid_request", 413},
		"unknown members":    {`{"deviceCode":"x","unheardOf":{"a":[1]},"client":null}`, "invalid_grant", 400},
	} {
		for _, path := range []string{"/auth/device/token", "//auth/device/token"} {
			status, got := object(t, s, path, test.body)
			if status != test.status || got["error"] != test.code || got["error_description"] == "" ||
				got["message"] != got["error_description"] || got["requestId"] == nil {
				t.Errorf("%s: %d %v, want %d %s", name, status, got, test.status, test.code)
			}
			if strings.Contains(fmt.Sprint(got), testserver.TypedSecret) {
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
	s := testserver.Start(t, options)
	ada := s.Person("ada")
	code := s.ApprovedDevice(ada, s.Organization(ada, "Harbour"))
	line.Cut()
	_, err := s.Public.PollDevice(t.Context(), code.DeviceCode, "")
	testserver.WantStatus(t, "during the outage", err, http.StatusServiceUnavailable)
	if client.DeviceError(err) != client.DeviceSlowDown {
		t.Errorf("during the outage the terminal is told %q", client.DeviceError(err))
	}
	line.Mend()
	err = testserver.Eventually(func() error {
		_, err := s.Public.PollDevice(t.Context(), code.DeviceCode, "")
		return err
	})
	if err != nil {
		t.Errorf("after the outage: %v", err)
	}
}

// TestDeviceThrottles: asking for codes is counted by address, trying them by
// person; polling is not, whatever the rest has used up.
func TestDeviceThrottles(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		ada := s.Person("ada")
		s.NextMinute()
		code := s.StartDevice(client.DeviceStart{})
		s.NextMinute()
		testserver.WantThrottled(t,
			testserver.Throttled{Rule: throttle.StartDevice,
				Call: func(t *testing.T, c *client.Client, _ string) error {
					_, err := c.StartDevice(t.Context(), client.DeviceStart{})
					return err
				}}, s.Public, "")
		testserver.WantThrottled(t,
			testserver.Throttled{Rule: throttle.AnswerDevice,
				Call: func(t *testing.T, c *client.Client, _ string) error {
					return c.ApproveDevice(t.Context(), client.DeviceApproval{UserCode: "BBBB-BBBB"})
				}}, ada.Client, "")
		testserver.WantStatus(t, "deny", ada.DenyDevice(t.Context(), code.UserCode), http.StatusTooManyRequests)
		_, err := ada.FindDevice(t.Context(), code.UserCode)
		testserver.WantStatus(t, "look", err, http.StatusTooManyRequests)
		for range 40 {
			if _, err := s.Public.PollDevice(t.Context(), code.DeviceCode,
				""); client.StatusOf(err) != http.StatusBadRequest {
				t.Fatalf("poll: %v", err)
			}
		}
		s.NextMinute()
		testserver.WantFree(t, "a minute later", ada.DenyDevice(t.Context(), code.UserCode))
	})
}
