package route

import (
	"fmt"
	"net/netip"
	"testing"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/go-cmp/cmp"

	"writ/internal/fault"
	"writ/internal/principal"
)

func TestClientAddress(t *testing.T) {
	t.Parallel()
	trusted := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8")}
	for _, test := range []struct {
		name, remote string
		forwarded    []string
		want         string
	}{
		{"no proxy", "203.0.113.7:1000", nil, "203.0.113.7"},
		{"a header from someone we do not trust", "203.0.113.7:1000", []string{"198.51.100.1"}, "203.0.113.7"},
		{"a proxy", "10.0.0.1:1000", []string{"198.51.100.1"}, "198.51.100.1"},
		{"a proxy that says nothing", "10.0.0.1:1000", nil, "10.0.0.1"},
		{"two proxies", "10.0.0.1:1000", []string{"198.51.100.1, 10.0.0.2"}, "198.51.100.1"},
		{"two proxies, two headers", "10.0.0.1:1000", []string{"198.51.100.1", "10.0.0.2"}, "198.51.100.1"},
		{"what the client claims to a proxy", "10.0.0.1:1000", []string{"1.2.3.4, 198.51.100.1"}, "198.51.100.1"},
		{
			"a client that claims to be a proxy", "10.0.0.1:1000", []string{"1.2.3.4, 10.0.0.9, 198.51.100.1"},
			"198.51.100.1",
		},
		{"no address", "10.0.0.1:1000", []string{"198.51.100.1, unknown"}, "10.0.0.1"},
		{"an address with a port", "10.0.0.1:1000", []string{"198.51.100.1:80"}, "10.0.0.1"},
		{"proxies only", "10.0.0.1:1000", []string{"10.0.0.3,10.0.0.2"}, "10.0.0.3"},
		{"IPv4 in IPv6", "[::ffff:10.0.0.1]:1000", []string{"::ffff:198.51.100.1"}, "198.51.100.1"},
		{"IPv6", "[fd00::1]:1000", []string{"2001:db8::7"}, "2001:db8::7"},
		{"no peer", "@", []string{"198.51.100.1"}, "invalid IP"},
	} {
		if got := clientAddress(test.remote, test.forwarded, trusted); got.String() != test.want {
			t.Errorf("%s: %s, want %s", test.name, got, test.want)
		}
	}
}

func TestCleanPath(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"":                     "",
		"*":                    "*",
		"/":                    "/",
		"//":                   "/",
		"/a/b":                 "/a/b",
		"/a/b/":                "/a/b/",
		"//a///b":              "/a/b",
		"/a//":                 "/a/",
		"/a/./b/../c":          "/a/c",
		"/../../etc/passwd":    "/etc/passwd",
		"/.well-known/jwks":    "/.well-known/jwks",
		"/a/..":                "/",
		"/a..b/...":            "/a..b/...",
		"//evil.example/%2e//": "/evil.example/%2e/",
	} {
		if got := cleanPath(path); got != want {
			t.Errorf("cleanPath(%q) = %q, want %q", path, got, want)
		}
	}
}

// TestRouteDeclarations: a declaration that leaves something open does not start.
func TestRouteDeclarations(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name  string
		route Route
		ok    bool
	}{
		{"a read", Route{Method: "GET", Path: "/a", Mode: Person}, true},
		{"a change", Route{Method: "POST", Path: "/a", Mode: Person, Audit: "a.done"}, true},
		{"a change that changes no right", Route{Method: "POST", Path: "/a", Mode: Person, Audit: notRecorded}, true},
		{"no mode", Route{Method: "GET", Path: "/a"}, false},
		{
			"an organization's",
			Route{Method: "GET", Path: "/o/{orgId}", Mode: Person, Action: principal.ReadOrganization}, true,
		},
		{"an organization's without an action", Route{Method: "GET", Path: "/o/{orgId}", Mode: Person}, false},
		{
			"an organization's for everyone",
			Route{Method: "GET", Path: "/o/{orgId}", Mode: Public, Action: principal.ReadOrganization}, false,
		},
		{"an organization's for keys", Route{
			Method: "GET",
			Path:   "/o/{orgId}",
			Mode:   PersonOrKey,
			Scope:  principal.CLI,
			Action: principal.ReadOrganization,
		}, false},
		{"keys with a scope", Route{Method: "GET", Path: "/a", Mode: Key, Scope: AnyScope}, true},
		{"keys without a scope", Route{Method: "GET", Path: "/a", Mode: Key}, false},
		{"either without a scope", Route{Method: "GET", Path: "/a", Mode: PersonOrKey}, false},
		{"a change that is not recorded", Route{Method: "DELETE", Path: "/a", Mode: Person}, false},
		{"a read that is recorded", Route{Method: "GET", Path: "/a", Mode: Person, Audit: "a.read"}, false},
	} {
		if err := test.route.check(); (err == nil) != test.ok {
			t.Errorf("%s: %v, want accepted: %v", test.name, err, test.ok)
		}
	}
}

func TestDetailOf(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		from huma.ErrorDetail
		want fault.Detail
	}{
		{
			huma.ErrorDetail{Location: "body.email", Message: "expected string"},
			fault.Detail{Field: "email", Message: "expected string"},
		},
		{
			huma.ErrorDetail{Location: "body", Message: "is not valid JSON"},
			fault.Detail{Field: "body", Message: "is not valid JSON"},
		},
		{
			huma.ErrorDetail{Location: "query.limit", Message: "expected integer"},
			fault.Detail{Field: "limit", Message: "expected integer"},
		},
		{
			huma.ErrorDetail{Location: "body", Message: "expected required property name to be present"},
			fault.Detail{Field: "name", Message: "is required"},
		},
		{
			huma.ErrorDetail{Location: "body.steps[2]", Message: "expected required property name to be present"},
			fault.Detail{Field: "steps[2].name", Message: "is required"},
		},
	} {
		test.from.Value = "hunter2"
		if diff := cmp.Diff(test.want, detailOf(&test.from)); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", test.from, diff)
		}
	}
}

// TestOperatorsAreDeclaredAlone: a route for operators is for people who signed in whole, and about no organization.
func TestOperatorsAreDeclaredAlone(t *testing.T) {
	t.Parallel()
	if err := Get("/admin", "").For(Person).ForOperators().check(); err != nil {
		t.Error(err)
	}
	for name, r := range map[string]Route{
		"anyone":         Get("/admin", "").For(Public).ForOperators(),
		"keys too":       Get("/admin", "").For(PersonOrKey).Scoped(AnyScope).ForOperators(),
		"a role":         Get("/admin", "").For(Person).Needs(principal.ReadOrganization).ForOperators(),
		"limited":        Get("/admin", "").For(Person).LimitedToo().ForOperators(),
		"no mode at all": Get("/admin", "").ForOperators(),
	} {
		if r.check() == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

// TestOnlyPaidRoutesAskForPayment: elsewhere a quota that is reached is our own mistake.
func TestOnlyPaidRoutesAskForPayment(t *testing.T) {
	t.Parallel()
	reached := fmt.Errorf("store: %w", fault.New(fault.QuotaReached, "no room"))
	if err := Post("/spans", "").MayAskForPayment().payable(reached); !fault.Is(err, fault.QuotaReached) {
		t.Errorf("a route that may ask: %v", err)
	}
	for _, err := range []error{reached, fault.New(fault.Conflict, "other"), nil} {
		got := fault.KindOf(Post("/iap/enforce", "").payable(err))
		isSame := (err == nil) == (got == "") && fault.Is(err, fault.Conflict) == (got == fault.Conflict)
		if got == fault.QuotaReached || !isSame {
			t.Errorf("a route that may not ask, of %v: %s", err, got)
		}
	}
}
