package organizations_test

import (
	"net/http"
	"slices"
	"testing"

	"writ/internal/testserver"
)

// TestRoles: every member can read what each role allows; one's own rights are among them.
func TestRoles(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		owner := s.Person("owner")
		org := s.Organization(owner, "Here")
		viewer := s.Join(owner, org, "viewer")
		var answer struct {
			Items []struct {
				Role   string
				Rights []string
			}
		}
		if err := viewer.Call(t.Context(), http.MethodGet, "/organization/"+org+"/roles", nil, nil,
			&answer); err != nil {
			t.Fatal(err)
		}
		roles := []string{}
		for i, r := range answer.Items {
			roles = append(roles, r.Role)
			if i > 0 && len(r.Rights) > len(answer.Items[i-1].Rights) {
				t.Errorf("%s may more than %s", r.Role, roles[i-1])
			}
			if closes := slices.Contains(r.Rights, "organization.close"); closes != (r.Role == "owner") {
				t.Errorf("%s: may close the organization: %t", r.Role, closes)
			}
		}
		if want := []string{"owner", "admin", "approver", "member", "viewer"}; !slices.Equal(roles, want) {
			t.Errorf("roles %q, want %q", roles, want)
		}
		stranger := s.Person("stranger")
		err := stranger.Call(t.Context(), http.MethodGet, "/organization/"+org+"/roles", nil, nil, nil)
		testserver.WantStatus(t, "a stranger", err, http.StatusForbidden)
	})
}
