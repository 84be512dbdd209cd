package api

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"writ/internal/principal"
	"writ/internal/throttle"
)

// Mode is who may call a route. Every route states one; the zero value is
// refused when the route is declared.
type Mode string

// The modes of callers.
const (
	Public Mode = "public" // anyone
	JWT    Mode = "jwt"    // a signed-in person
	Key    Mode = "key"    // an API key
	Either Mode = "either" // a person or an API key
	Proxy  Mode = "proxy"  // the enforcement proxy
	// PlanToken is an API key, or nobody: then the plan's token in the body is the
	// credential, and the handler checks it before anything else.
	PlanToken Mode = "plan-token"
)

// orgParameter in a path makes a route organization-scoped: the caller must be
// a member of the organization it names.
const orgParameter = "{orgId}"

// Other ways to say which organization a route with an Action is about: the
// policy or plan in its path, or else this query parameter.
const (
	policyParameter   = "{policyId}"
	planParameter     = "{planId}"
	organizationQuery = "organizationId"
)

// Route declares one endpoint.
type Route struct {
	Method  string
	Path    string
	Tag     string
	Summary string

	Mode     Mode
	Action   principal.Action // what a person needs in the organization the route is about
	Scope    principal.Scope  // what a key needs
	Throttle throttle.Rule
	// OpenThrottle is counted by the handler itself, and only where a request opens
	// something new.
	OpenThrottle throttle.Rule

	Audit    string // the action it records; empty for reads, notRecorded for what changes no right
	Status   int    // of success; 200 unless set
	MaxBytes int64  // of the body; the server's usual limit unless set

	// ForLimited lets in a person whose sign-in is good for one organization alone,
	// where the route names none: its handler keeps to that one.
	ForLimited bool

	// writeError answers what fails, where the one shape of errors is not what clients
	// of the route understand; only routes that are declared raw have it.
	writeError func(w http.ResponseWriter, r *http.Request, body *ErrorBody)

	// GetChanges marks a GET that changes something, because published clients send
	// it so. It records what it changes, and a HEAD of it is refused.
	GetChanges bool
}

// anyScope lets every valid key in, whatever its scopes.
const anyScope principal.Scope = "any"

// notRecorded marks a change that gives and takes nothing: a code mailed again,
// a token replaced by its like.
const notRecorded = "-"

// OrganizationScoped reports whether the path names an organization.
func (r Route) OrganizationScoped() bool { return strings.Contains(r.Path, orgParameter) }

// Limits is how the route table shows what limits the route.
func (r Route) Limits() string {
	if r.OpenThrottle.IsZero() {
		return r.Throttle.String()
	}
	return r.OpenThrottle.String() + " new"
}

// check refuses a declaration that would leave something open.
func (r Route) check() error {
	switch {
	case r.Mode == "":
		return fmt.Errorf("%s %s states no mode", r.Method, r.Path)
	case r.OrganizationScoped() && (r.Mode != JWT || r.Action == ""):
		return fmt.Errorf("%s %s is organization-scoped: it must be for people and name an action", r.Method, r.Path)
	case strings.Contains(r.Path, policyParameter) && r.Action == "":
		return fmt.Errorf("%s %s is about a policy and names no action", r.Method, r.Path)
	case strings.Contains(r.Path, planParameter) && r.Action == "":
		return fmt.Errorf("%s %s is about a plan and names no action", r.Method, r.Path)
	case (r.Mode == Key || r.Mode == Either || r.Mode == PlanToken) && r.Scope == "":
		return fmt.Errorf("%s %s takes keys and names no scope", r.Method, r.Path)
	case (r.Method == http.MethodGet && !r.GetChanges) != (r.Audit == ""):
		return fmt.Errorf("%s %s: what changes something says what it records, and only that", r.Method, r.Path)
	}
	return nil
}

// accounted is a request that says which account it is about, for the throttle.
type accounted interface{ account() string }

// handle declares a route with its typed handler.
func handle[I, O any](
	a *API, r Route, handler func(ctx context.Context, caller principal.Principal, in *I) (*O, error),
) {
	if err := r.check(); err != nil {
		panic(err) // a mistake in this package, found by any test
	}
	if r.Status == 0 {
		r.Status = http.StatusOK
	}
	a.routes = append(a.routes, r)
	op := huma.Operation{
		OperationID:   operationID(r),
		Method:        r.Method,
		Path:          r.Path,
		Summary:       r.Summary,
		Tags:          []string{r.Tag},
		DefaultStatus: r.Status,
		MaxBodyBytes:  a.limitOf(r) + 1, // huma refuses a body that reaches the limit
		Security:      security(r.Mode),
		Errors:        errorsOf(r),
		Middlewares:   huma.Middlewares{a.guard(r)},
	}
	huma.Register(a.huma, op, func(ctx context.Context, in *I) (*O, error) {
		if err := a.throttle(ctx, r, in); err != nil {
			return nil, a.render(ctx, err)
		}
		out, err := handler(ctx, callerOf(ctx), in)
		if err != nil {
			return nil, a.render(ctx, err)
		}
		return out, nil
	})
	undocument422(a.huma.OpenAPI().Paths[r.Path], r.Method)
}

// limitOf is how large a route's body may be.
func (a *API) limitOf(r Route) int64 {
	if r.MaxBytes != 0 {
		return min(r.MaxBytes, a.MaxBodyBytes)
	}
	return a.MaxBodyBytes
}

func (a *API) throttle(ctx context.Context, r Route, in any) error {
	if r.Throttle.IsZero() {
		return nil
	}
	account := callerOf(ctx).UserID
	if who, ok := in.(accounted); ok {
		account = who.account()
	}
	return a.Limiter.Take(ctx, r.Throttle, account, requestOf(ctx).address)
}

// operationID is "get-organization-members" for GET /organization/{orgId}/members.
func operationID(r Route) string {
	words := []string{strings.ToLower(r.Method)}
	for _, part := range strings.FieldsFunc(r.Path, func(c rune) bool { return c == '/' || c == '.' || c == '_' }) {
		switch {
		case part == orgParameter:
		case strings.HasPrefix(part, "{"):
			words = append(words, "one")
		default:
			words = append(words, part)
		}
	}
	if strings.HasSuffix(r.Path, orgParameter) {
		words = append(words, "one")
	}
	return strings.Join(words, "-")
}
