package testserver

import (
	"net/http"
	"testing"

	"writ/client"
)

// WantPolicyStats wants what the policy aggregate says of a policy.
func (e *Org) WantPolicyStats(t *testing.T, policyID string, allowed, denied int64) {
	t.Helper()
	var got client.PolicyStats
	path := "/organization/" + e.ID + "/observability/policies/" + policyID
	if err := e.Owner.Call(t.Context(), http.MethodGet, path, nil, nil, &got); err != nil {
		t.Fatal(err)
	}
	if got.Calls != allowed+denied || got.Allowed != allowed || got.Denied != denied {
		t.Errorf("figures of %s: %+v, want %d allowed and %d denied", policyID, got, allowed, denied)
	}
}

// Org is an organization with an owner and an agent's key.
type Org struct {
	*Server
	Owner *Person
	ID    string
	Agent *client.Client
}

func EachOrg(t *testing.T, body func(t *testing.T, b *Org)) {
	t.Helper()
	Each(t, func(t *testing.T, s *Server) {
		b := &Org{Server: s, Owner: s.Person("owner")}
		b.ID = s.Organization(b.Owner, "Bank")
		b.Agent = s.Public.WithKey(s.AgentKey(b.Owner, b.ID).APIKey)
		body(t, b)
	})
}
