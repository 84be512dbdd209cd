package operators_test

import (
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"writ/internal/principal"
	"writ/internal/testserver"
)

// TestOperatorsSeeEachOther, as long as they are operators. What other people get is in TestOperatorsOnly.
func TestOperatorsSeeEachOther(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		first, second, other := s.Person("first"), s.Person("second"), s.Person("other")
		for _, p := range []*testserver.Person{first, second} {
			if err := s.Operators.Add(t.Context(), principal.Operator(), p.ID); err != nil {
				t.Fatal(err)
			}
		}
		list := func(p *testserver.Person) ([]string, error) {
			var body struct {
				Items []struct{ ID, Email, Name, Since string }
			}
			err := p.Call(t.Context(), http.MethodGet, "/admin/operators", nil, nil, &body)
			var all []string
			for _, o := range body.Items {
				if all = append(all, o.ID); o.Email == "" || o.Since == "" {
					t.Errorf("%+v is not complete", o)
				}
			}
			return all, err
		}
		got, err := list(second)
		if diff := cmp.Diff([]string{first.ID, second.ID}, got); diff != "" || err != nil {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
		_, err = list(other)
		testserver.WantStatus(t, "who is none", err, http.StatusForbidden)
		if err := s.Operators.Remove(t.Context(), principal.Operator(), second.ID); err != nil {
			t.Fatal(err)
		}
		_, err = list(second)
		testserver.WantStatus(t, "who was one", err, http.StatusForbidden)
	})
}
