package testserver

import (
	"net/http"
	"testing"

	"writ/client"
)

// Org is an organization with an owner and an agent's key.
type Org struct {
	*Server
	Owner *Person
	ID    string
	Agent *client.Client
}

// EachOrg runs the body for an organization on each database.
func EachOrg(t *testing.T, body func(t *testing.T, o *Org)) {
	t.Helper()
	Each(t, func(t *testing.T, s *Server) {
		o := &Org{Server: s, Owner: s.Person("owner")}
		o.ID = s.Organization(o.Owner, "Bank")
		o.Agent = s.Public.WithKey(s.AgentKey(o.Owner, o.ID).APIKey)
		body(t, o)
	})
}

// WantPolicyStats checks the statistics of a policy.
func (o *Org) WantPolicyStats(t *testing.T, policyID string, allowed, denied int64) {
	t.Helper()
	var got client.PolicyStats
	path := "/organization/" + o.ID + "/observability/policies/" + policyID
	if err := o.Owner.Call(t.Context(), http.MethodGet, path, nil, nil, &got); err != nil {
		t.Fatal(err)
	}
	if got.Calls != allowed+denied || got.Allowed != allowed || got.Denied != denied {
		t.Errorf("statistics of %s: %+v, want %d allowed and %d denied", policyID, got, allowed, denied)
	}
}
