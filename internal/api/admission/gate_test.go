package admission

import (
	"context"
	"errors"
	"net/http/httptest"
	"strings"
	"testing"

	"writ/internal/api/route"
	"writ/internal/fault"
	"writ/internal/principal"
	"writ/internal/secret"
)

// TestProxyMode: routes of the proxy are closed to everybody else, and to all where no token is set.
func TestProxyMode(t *testing.T) {
	t.Parallel()
	const token = "0123456789abcdef0123456789abcdef"
	r := route.Post("/proxy", "").For(route.Proxy).Unrecorded()
	for _, test := range []struct {
		name, set string
		headers   []string
		admitted  bool
	}{
		{"nothing set, nothing sent", "", nil, false},
		{"nothing set, an empty token", "", []string{"Authorization", "Bearer "}, false},
		{"nothing set, a token", "", []string{"Authorization", "Bearer " + token}, false},
		{"nothing sent", token, nil, false},
		{"an empty token", token, []string{"Authorization", "Bearer "}, false},
		{"the token", token, []string{"Authorization", "Bearer " + token}, true},
		{"a wrong token", token, []string{"Authorization", "Bearer " + token + "0"}, false},
		{"half the token", token, []string{"Authorization", "Bearer " + token[:16]}, false},
		{"another scheme", token, []string{"Authorization", "Basic " + token}, false},
		{"the token as an API key", token, []string{"X-Api-Key", token}, false},
		{"an API key", token, []string{"X-Api-Key", "ak_test_" + strings.Repeat("0", 64)}, false},
		{
			"the token beside an API key", token,
			[]string{"Authorization", "Bearer " + token, "X-Api-Key", "ak_test_" + strings.Repeat("0", 64)}, false,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			gate := &Gate{}
			if test.set != "" {
				gate.ProxyToken = secret.Hash(test.set)
			}
			request := httptest.NewRequest(r.Method, r.Path, nil)
			for i := 0; i < len(test.headers); i += 2 {
				request.Header.Set(test.headers[i], test.headers[i+1])
			}
			caller, err := gate.Admit(request, r)
			isProxy := caller.Kind == principal.Proxy && !caller.May(principal.ReadOrganization)
			switch {
			case test.admitted && (err != nil || !isProxy):
				t.Errorf("caller %+v, err %v, want the proxy", caller, err)
			case !test.admitted && (!fault.Is(err, fault.Unauthenticated) || caller.Kind != ""):
				t.Errorf("caller %+v, err %v, want nobody and unauthenticated", caller, err)
			}
		})
	}
}

// someone is who an access token belongs to, and what is known of operators.
type someone struct {
	principal.Principal
	operates bool
	err      error
}

func (s someone) Authenticate(context.Context, string) (principal.Principal, error) {
	return s.Principal, nil
}

func (s someone) Is(_ context.Context, userID string) (bool, error) {
	return s.operates && userID == s.UserID, s.err
}

// TestOperatorsOnly: whatever is in doubt is no operator.
func TestOperatorsOnly(t *testing.T) {
	t.Parallel()
	r := route.Get("/admin", "").For(route.Person).ForOperators()
	person := principal.Principal{Kind: principal.User, UserID: "u"}
	owner, limited, key := person, person, person
	owner.OrgID, owner.Role = "o", principal.Owner
	limited.LimitedTo = "o"
	key.Kind = principal.Key
	for name, test := range map[string]struct {
		who  someone
		kind fault.Kind
	}{
		"an operator":              {someone{person, true, nil}, ""},
		"a person":                 {someone{person, false, nil}, fault.Forbidden},
		"an owner":                 {someone{owner, false, nil}, fault.Forbidden},
		"nobody":                   {someone{principal.Principal{}, true, nil}, fault.Forbidden},
		"a key":                    {someone{key, true, nil}, fault.Forbidden},
		"a limited sign-in":        {someone{limited, true, nil}, fault.Forbidden},
		"while it cannot be known": {someone{person, true, errors.New("away")}, fault.Internal},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			request := httptest.NewRequest(r.Method, r.Path, nil)
			request.Header.Set("Authorization", "Bearer x.y.z")
			caller, err := (&Gate{People: test.who, Operators: test.who}).Admit(request, r)
			if admitted := err == nil; admitted != (test.kind == "") || admitted != (caller.Kind != "") {
				t.Errorf("caller %+v, err %v", caller, err)
			}
			if err != nil && !fault.Is(err, test.kind) {
				t.Errorf("err %v, want %s", err, test.kind)
			}
			if _, err := (&Gate{People: test.who}).Admit(request, r); err == nil {
				t.Error("admitted where nobody is an operator")
			}
		})
	}
}
