package admission

import (
	"net/http/httptest"
	"strings"
	"testing"

	"writ/internal/api/route"
	"writ/internal/fault"
	"writ/internal/principal"
	"writ/internal/secret"
)

// TestProxyMode: no route is for the proxy yet, and the day one is it must not
// be open where no token is set.
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
			gate := &Gate{ProxyToken: secret.NewText(test.set)}
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
