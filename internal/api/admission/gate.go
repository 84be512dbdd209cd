// Package admission admits the callers of routes. It reads their credentials, finds the role that they have in the
// organization a route is about, and checks what the route needs. Areas whose routes name an organization in another
// way (in a body, by a key) ask the same Gate.
package admission

import (
	"context"
	"net/http"
	"slices"
	"time"

	"writ/internal/api/route"
	"writ/internal/fault"
	"writ/internal/organization"
	"writ/internal/principal"
)

// Gate admits callers.
type Gate struct {
	// People authenticates an access token.
	People interface {
		Authenticate(ctx context.Context, token string) (principal.Principal, error)
	}
	// Keys authenticates an API key.
	Keys interface {
		Resolve(ctx context.Context, key string) (principal.Principal, error)
	}
	Organizations interface {
		RoleOf(ctx context.Context, orgID, userID string) (principal.Role, error)
		ListForUser(ctx context.Context, userID string) ([]organization.Membership, error)
		// RequiresSecondFactor tells whether an organization wants its members to have proved a second factor.
		RequiresSecondFactor(ctx context.Context, orgID string) (bool, error)
	}
	// Factors tells who has a second factor.
	Factors interface {
		Enrolled(ctx context.Context, userID string) (bool, error)
	}
	// Now is the server's clock.
	Now func() time.Time
	// Providers tells whether an organization wants its members to sign in with its identity provider.
	Providers interface {
		Enforces(ctx context.Context, orgID string) (bool, error)
	}
	Policies Owned
	Plans    interface {
		Owned
		// KeyOf is the key that declared the plan of a JWT; empty: the JWT is not one that was issued.
		KeyOf(ctx context.Context, jwt string) (string, error)
	}
	// Stops tells whether the kill switch has stopped a key.
	Stops interface {
		KeyStopped(ctx context.Context, orgID, keyID string) (bool, error)
	}
	// Certificates authenticate agents; nil: none are taken.
	Certificates Certificates
	// Operators tells who runs this installation; nil: nobody does.
	Operators interface {
		Is(ctx context.Context, userID string) (bool, error)
	}
	// ProxyToken is the hash of the enforcement proxy's token; nil: its routes are closed.
	ProxyToken []byte
}

// Owned finds the organization that something belongs to.
type Owned interface {
	OrgOf(ctx context.Context, id string) (string, error)
}

// Admit authenticates the caller of a route and checks what the route needs.
func (g *Gate) Admit(request *http.Request, r route.Route) (principal.Principal, error) {
	caller, err := g.caller(request, r)
	if err != nil {
		return principal.Principal{}, err
	}
	if caller.Kind == principal.Key && r.Scope != route.AnyScope && !caller.HasScope(r.Scope) {
		return principal.Principal{}, fault.New(fault.Forbidden, "this API key does not have the scope %q", r.Scope)
	}
	if err := g.refuseStopped(request.Context(), caller, r); err != nil {
		return principal.Principal{}, err
	}
	if r.Operators {
		if caller, err = g.operator(request.Context(), caller); err != nil {
			return principal.Principal{}, err
		}
		return caller, g.checkFresh(caller, r)
	}
	if r.Action == "" {
		if err := checkLimit(caller, r); err != nil {
			return caller, err
		}
		return caller, g.checkFresh(caller, r)
	}
	return g.admitToOrganization(request, caller, r)
}

// admitToOrganization checks what the route needs in the organization it is about.
func (g *Gate) admitToOrganization(
	request *http.Request, caller principal.Principal, r route.Route,
) (principal.Principal, error) {
	caller, err := g.inOrganizationOf(request, caller, r)
	if err == nil && caller.Kind == principal.Key && r.Scope.WritesPolicies() {
		// Reading and writing policies is a person's work: the key may do no more than its owner still may.
		caller, err = g.InOrganization(request.Context(), caller, caller.OrgID)
	} else if caller.Kind == principal.Key {
		return caller, err // its scopes say what it may do
	}
	if err != nil {
		return principal.Principal{}, err
	}
	if err := caller.Require(r.Action); err != nil {
		return caller, err
	}
	return caller, g.checkFresh(caller, r)
}

// caller authenticates whoever sends a request.
func (g *Gate) caller(request *http.Request, r route.Route) (principal.Principal, error) {
	if certificate := presentedCertificate(request); certificate != nil {
		return g.authenticateCertified(request, r, certificate)
	}
	return g.authenticate(request, r)
}

// Operates reports whether a caller may call the routes of operators.
func (g *Gate) Operates(ctx context.Context, caller principal.Principal) (bool, error) {
	_, err := g.operator(ctx, caller)
	if fault.Is(err, fault.Forbidden) {
		return false, nil
	}
	return err == nil, err
}

// operator is the caller, if it is a person who runs this installation. What an organization's identity provider
// vouches for does not count: it would make its administrators operators.
func (g *Gate) operator(ctx context.Context, caller principal.Principal) (principal.Principal, error) {
	refused := fault.New(fault.Forbidden, "this is for the operators of this installation")
	if g.Operators == nil || caller.Kind != principal.User || caller.UserID == "" || caller.LimitedTo != "" {
		return principal.Principal{}, refused
	}
	is, err := g.Operators.Is(ctx, caller.UserID)
	if err != nil {
		return principal.Principal{}, err
	}
	if !is {
		return principal.Principal{}, refused
	}
	return caller, nil
}

// refuseStopped refuses a key that the kill switch has stopped, but for the few routes that admit it. It does not say
// why: agents read it.
func (g *Gate) refuseStopped(ctx context.Context, caller principal.Principal, r route.Route) error {
	if caller.Kind != principal.Key || r.ForStopped {
		return nil
	}
	stopped, err := g.Stops.KeyStopped(ctx, caller.OrgID, caller.KeyID)
	if err == nil && stopped {
		return fault.New(fault.Forbidden,
			"a person has stopped this API key: it may only ask for decisions, which are denied, and report what it did")
	}
	return err
}

// checkLimit refuses a limited sign-in where no organization is named, unless the route keeps to the one: what an
// organization's identity provider vouches for must not reach the rest of a person's account.
func checkLimit(caller principal.Principal, r route.Route) error {
	if caller.Kind != principal.User || caller.LimitedTo == "" || r.ForLimited {
		return nil
	}
	return fault.New(fault.Forbidden,
		"you signed in with an organization's identity provider, which does not vouch for this; sign in with your password")
}

// inOrganizationOf is the caller in the organization a route is about: that of the path, or of the policy or plan in
// the path, or the one that the query names.
func (g *Gate) inOrganizationOf(
	request *http.Request, caller principal.Principal, r route.Route,
) (principal.Principal, error) {
	ctx := request.Context()
	switch {
	case r.OrganizationScoped():
		return g.InOrganization(ctx, caller, request.PathValue("orgId"))
	case r.AboutPolicy():
		return g.inOrganizationThatOwns(ctx, caller, g.Policies, "policy", request.PathValue("policyId"))
	case r.AboutPlan():
		return g.inOrganizationThatOwns(ctx, caller, g.Plans, "plan", request.PathValue("planId"))
	}
	return g.InNamed(ctx, caller, request.URL.Query().Get(route.OrganizationParameter))
}

// InOrganization is the caller with the role they have in an organization. A key acts for its owner, and in its own
// organization only: when the owner leaves, it may do no more.
func (g *Gate) InOrganization(
	ctx context.Context, caller principal.Principal, orgID string,
) (principal.Principal, error) {
	if caller.Kind == principal.Key && caller.OrgID != orgID {
		return principal.Principal{}, fault.New(fault.Forbidden,
			"this API key belongs to another organization; switch to that one")
	}
	if caller.LimitedTo != "" && caller.LimitedTo != orgID {
		return principal.Principal{}, fault.New(fault.Forbidden, "this sign-in is good for another organization only")
	}
	role, err := g.Organizations.RoleOf(ctx, orgID, caller.UserID)
	if err != nil {
		return principal.Principal{}, err
	}
	if err := g.CheckSignIn(ctx, caller, orgID, role); err != nil {
		return principal.Principal{}, err
	}
	caller.OrgID, caller.Role = orgID, role
	return caller, nil
}

// CheckVouched enforces an organization's wish that its members, and their terminals, sign in with its own identity
// provider. Owners are exempt: a provider that fails must not lock out the people who can replace it.
func (g *Gate) CheckVouched(ctx context.Context, caller principal.Principal, orgID string, role principal.Role) error {
	isAgent := caller.Kind == principal.Key && !caller.HasScope(principal.CLI)
	if isAgent || caller.LimitedTo == orgID || role == principal.Owner {
		return nil
	}
	return RefuseEnforced(g.Providers.Enforces(ctx, orgID))
}

// RefuseEnforced refuses a caller who did not sign in with the identity provider, where the organization wants that.
func RefuseEnforced(enforced bool, err error) error {
	if err != nil || !enforced {
		return err
	}
	return fault.New(fault.Forbidden, "this organization wants its members to sign in with its identity provider")
}

// Mine are the organizations of a caller for which the sign-in is valid.
func (g *Gate) Mine(ctx context.Context, caller principal.Principal) ([]organization.Membership, error) {
	mine, err := g.Organizations.ListForUser(ctx, caller.UserID)
	if err != nil || caller.LimitedTo == "" {
		return mine, err
	}
	return slices.DeleteFunc(mine, func(m organization.Membership) bool { return m.ID != caller.LimitedTo }), nil
}

// InOptional is InOrganization where the organization may be none. A limited sign-in always has one.
func (g *Gate) InOptional(ctx context.Context, caller principal.Principal, orgID string) (principal.Principal, error) {
	if orgID == "" && caller.LimitedTo != "" {
		return principal.Principal{}, fault.New(fault.Forbidden,
			"this sign-in is good for one organization only: name it")
	}
	if orgID == "" && (caller.Kind == principal.User || caller.OrgID == "") {
		caller.OrgID, caller.Role = "", ""
		return caller, nil
	}
	return g.InOrganization(ctx, caller, orgID)
}

// InNamed is the caller in the organization they name. A key has only its own and need not name it; nor need a person
// who is in one organization only: demo data beside it counts only if it is named. A key that does not act for its
// owner still works after the owner leaves.
func (g *Gate) InNamed(ctx context.Context, caller principal.Principal, orgID string) (principal.Principal, error) {
	if caller.Kind == principal.Key {
		if caller.OrgID == "" || orgID != "" && orgID != caller.OrgID {
			return principal.Principal{}, fault.New(fault.Forbidden, "this API key does not belong to the organization")
		}
		return caller, nil
	}
	if orgID == "" {
		mine, err := g.Mine(ctx, caller)
		if err != nil {
			return principal.Principal{}, err
		}
		if len(mine) > 1 {
			mine = slices.DeleteFunc(mine, func(m organization.Membership) bool { return m.IsDemo() })
		}
		if len(mine) == 0 {
			return principal.Principal{}, fault.Field(route.OrganizationParameter,
				"is required, and you are in no organization yet: make one, or accept an invitation")
		}
		if len(mine) != 1 {
			return principal.Principal{}, fault.Field(route.OrganizationParameter,
				"is required: you are in %d organizations", len(mine))
		}
		orgID = mine[0].ID
	}
	return g.InOrganization(ctx, caller, orgID)
}

// inOrganizationThatOwns is the caller in the organization of a policy or a plan. To others it does not exist.
func (g *Gate) inOrganizationThatOwns(
	ctx context.Context, caller principal.Principal, things Owned, kind, id string,
) (principal.Principal, error) {
	orgID, err := things.OrgOf(ctx, id)
	if err != nil {
		return principal.Principal{}, err
	}
	inOrg, err := g.InNamed(ctx, caller, orgID)
	if fault.Is(err, fault.Forbidden) && fault.CodeOf(err) == "" { // a code is for members only
		return principal.Principal{}, fault.New(fault.NotFound, "no such %s", kind)
	}
	return inOrg, err
}
