package route

import (
	"maps"
	"net/http"
	"net/url"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"writ/internal/fault"
	"writ/internal/principal"
)

// AnyQuery takes query parameters that the document does not name. Every other route refuses them: a misspelled
// filter would otherwise show everything. It is for addresses to which others add parameters of their own.
func (r Route) AnyQuery() Route { r.OpenQuery = true; return r }

// readsOrganization reports whether the gate takes the route's organization from the query.
func (r Route) readsOrganization() bool {
	return r.Action != "" && !r.OrganizationScoped() && !r.AboutPolicy() && !r.AboutPlan()
}

// checkQuery refuses query parameters that the document of a route does not name. Clients may name the organization
// everywhere, if it is the one that the caller is admitted to.
func (s *server) checkQuery(rt Route, request *http.Request, caller principal.Principal) error {
	if request.URL.RawQuery == "" || rt.OpenQuery {
		return nil
	}
	sent, err := url.ParseQuery(request.URL.RawQuery)
	if err != nil { // what cannot be read would be left out
		return fault.New(fault.Invalid,
			"the query of the address cannot be read: separate parameters with &, and escape ; and %% in them")
	}
	known := s.documentedQuery(rt)
	var unknown []fault.Detail
	for _, name := range slices.Sorted(maps.Keys(sent)) {
		inOwn := name == OrganizationParameter && caller.OrgID != "" &&
			!slices.ContainsFunc(sent[name], func(id string) bool { return id != caller.OrgID })
		if !inOwn && !slices.Contains(known, name) {
			unknown = append(unknown, fault.Detail{Field: name, Message: "unknown query parameter"})
		}
	}
	if unknown != nil {
		return fault.Fields(unknown...)
	}
	return nil
}

// documentedQuery names the query parameters of a route.
func (s *server) documentedQuery(rt Route) []string {
	var names []string
	if rt.readsOrganization() {
		names = append(names, OrganizationParameter)
	}
	var documented []*huma.Param
	if s.OpenAPI().Paths[rt.Path] != nil {
		if op := s.operation(rt); op != nil {
			documented = op.Parameters
		}
	}
	for _, p := range documented {
		if p.In == "query" {
			names = append(names, p.Name)
		}
	}
	return names
}
