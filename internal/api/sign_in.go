package api

import (
	"context"
	"net/http"
	"net/url"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/go-json-experiment/json"

	"writ/internal/auth"
	"writ/internal/auth/federation"
	"writ/internal/fault"
	"writ/internal/principal"
	"writ/internal/throttle"
)

// The cookies of a sign-in elsewhere: what the browser keeps until it comes back,
// and its half of the code that a page then exchanges. They open nothing by
// themselves; credentials travel in headers.
const (
	attemptCookie = "writ_sign_in"
	codeCookie    = "writ_sign_in_code"
	cookiePath    = "/auth"

	// ownHost is the prefix with which browsers keep a cookie only from this very
	// host, with TLS: a page of a neighbour in the same domain could else plant a
	// sign-in of its own, and have a person's identity linked to its account.
	ownHost = "__Host-"
)

// mountSignIn serves signing in with an account elsewhere. Browsers open these
// paths by themselves, so they answer with redirects, and with a page where a
// sign-in came to nothing; a program that accepts JSON gets its tokens from the
// callback.
func (a *API) mountSignIn() {
	visit := func(path, summary string) Route {
		return Route{
			Method:   http.MethodGet,
			Path:     path,
			Tag:      "auth",
			Summary:  summary,
			Mode:     Public,
			Throttle: throttle.SignIn,
			Status:   http.StatusFound,
		}
	}
	comeBack := func(path string) Route {
		r := visit(path,
			"Come back from the identity provider: tokens for who accepts JSON, else to /ui/ with a code for a minute")
		r.GetChanges, r.Audit, r.Status = true, "session.created", http.StatusOK
		return r
	}
	brought := []string{"state", "code", "error", "iss"}
	a.browse(visit("/auth/google", "Sign in with Google"), a.departToGoogle)
	a.browse(comeBack("/auth/google/callback"), a.arriveFromGoogle, brought...)
	a.browse(visit("/auth/oidc", "Sign in with the identity provider of one's e-mail domain"), a.departByAddress,
		"email")
	a.browse(visit("/auth/oidc/{organization}", "Sign in with an organization's identity provider, by its id or slug"),
		a.departByName)
	a.browse(comeBack("/auth/oidc/{organization}/callback"), a.arriveFromProvider, brought...)
	handle(a, Route{
		Method: http.MethodPost, Path: "/auth/sign-in-code", Tag: "auth",
		Summary: "Exchange the code a sign-in elsewhere left in the address of /ui/",
		Mode:    Public, Throttle: throttle.SignIn, Audit: "session.created",
	}, a.exchangeCode)
}

// named is what the throttle counts a sign-in by.
type named string

func (n named) account() string { return string(n) }

// browse declares a route that a browser opens.
func (a *API) browse(r Route, handler func(w http.ResponseWriter, request *http.Request) error, queries ...string) {
	if err := r.check(); err != nil {
		panic(err) // a mistake in this package, found by any test
	}
	a.routes = append(a.routes, r)
	a.mux.HandleFunc(r.Method+" "+r.Path, func(w http.ResponseWriter, request *http.Request) {
		_, err := a.admit(request, r)
		if err == nil {
			err = a.throttle(request.Context(), r,
				named(request.PathValue("organization")+request.URL.Query().Get("email")))
		}
		if err == nil {
			err = handler(w, request)
		}
		if err != nil {
			a.writeVisitError(w, request, err)
		}
	})
	a.documentVisit(r, queries)
}

func (a *API) documentVisit(r Route, queries []string) {
	content := func(t reflect.Type) map[string]*huma.MediaType {
		return map[string]*huma.MediaType{
			"application/json": {Schema: a.huma.OpenAPI().Components.Schemas.Schema(t, true, "")},
		}
	}
	responses := map[string]*huma.Response{strconv.Itoa(http.StatusFound): {Description: "To another page."}}
	if r.GetChanges {
		responses[strconv.Itoa(http.StatusOK)] = &huma.Response{
			Description: "OK", Content: content(reflect.TypeFor[SignedInBody]()),
		}
	}
	for _, status := range append(errorsOf(r), http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound,
		http.StatusConflict) {
		responses[strconv.Itoa(status)] = &huma.Response{
			Description: http.StatusText(status), Content: content(reflect.TypeFor[ErrorBody]()),
		}
	}
	op := &huma.Operation{
		OperationID: operationID(r),
		Method:      r.Method,
		Path:        r.Path,
		Summary:     r.Summary,
		Tags:        []string{r.Tag},
		Responses:   responses,
	}
	if strings.Contains(r.Path, "{organization}") {
		op.Parameters = append(op.Parameters, &huma.Param{
			Name:        "organization",
			In:          "path",
			Required:    true,
			Description: "Id or slug.",
			Schema:      &huma.Schema{Type: huma.TypeString},
		})
	}
	for _, name := range queries {
		op.Parameters = append(op.Parameters, &huma.Param{
			Name: name, In: "query", Schema: &huma.Schema{Type: huma.TypeString},
		})
	}
	a.huma.OpenAPI().AddOperation(op)
}

func (a *API) departToGoogle(w http.ResponseWriter, request *http.Request) error {
	departure, err := a.Federation.Begin(request.Context(), "")
	return a.depart(w, departure, err)
}

func (a *API) departByName(w http.ResponseWriter, request *http.Request) error {
	orgID, err := a.Federation.ByName(request.Context(), request.PathValue("organization"))
	if err != nil {
		return err
	}
	departure, err := a.Federation.Begin(request.Context(), orgID)
	return a.depart(w, departure, err)
}

func (a *API) departByAddress(w http.ResponseWriter, request *http.Request) error {
	address := request.URL.Query().Get("email")
	if address == "" || len(address) > 300 {
		return fault.Field("email", "is required: an address, or its domain")
	}
	orgID, err := a.Federation.ByAddress(request.Context(), address)
	if err != nil {
		return err
	}
	departure, err := a.Federation.Begin(request.Context(), orgID)
	return a.depart(w, departure, err)
}

func (a *API) depart(w http.ResponseWriter, d federation.Redirect, err error) error {
	if err != nil {
		return err
	}
	http.SetCookie(w, a.departureCookie(d))
	w.Header().Set("Location", d.URL)
	w.WriteHeader(http.StatusFound)
	return nil
}

// departureCookie comes back with the browser that a provider sends here: a top
// level visit from another site, which Strict would leave out.
func (a *API) departureCookie(d federation.Redirect) *http.Cookie {
	return a.cookie(attemptCookie, d.Cookie.Reveal(), http.SameSiteLaxMode, d.Life)
}

func (a *API) cookie(name, value string, site http.SameSite, life time.Duration) *http.Cookie {
	c := &http.Cookie{
		Name:     name,
		Value:    value,
		Path:     cookiePath,
		MaxAge:   int(life.Seconds()),
		HttpOnly: true,
		SameSite: site,
		Secure:   a.usesTLS(),
	}
	if c.Secure && name != returnCookie {
		c.Name, c.Path = ownHost+name, "/" // the prefix wants this path
	}
	if value == "" {
		c.MaxAge = -1
	}
	return c
}

// usesTLS reports whether browsers reach this server with TLS.
func (a *API) usesTLS() bool { return a.UsesTLS || a.PublicURL.Scheme == "https" }

func (a *API) arriveFromGoogle(w http.ResponseWriter, request *http.Request) error {
	return a.arrive(w, request, "")
}

func (a *API) arriveFromProvider(w http.ResponseWriter, request *http.Request) error {
	orgID := request.PathValue("organization")
	if orgID == "" {
		return fault.New(fault.NotFound, "there is nothing at this path") // never Google's
	}
	return a.arrive(w, request, orgID)
}

// arrive ends a sign-in, whether it succeeds or not: what the browser kept is gone.
func (a *API) arrive(w http.ResponseWriter, request *http.Request, orgID string) error {
	query := request.URL.Query()
	r := federation.Callback{
		OrgID:     orgID,
		State:     query.Get("state"),
		Code:      query.Get("code"),
		Problem:   query.Get("error"),
		Issuer:    query.Get("iss"),
		Device:    deviceOf(request.Context()),
		ForTokens: wantsTokens(request),
	}
	name := attemptCookie
	if a.usesTLS() {
		name = ownHost + name
	}
	if kept, err := request.Cookie(name); err == nil {
		r.Cookie = kept.Value
	}
	http.SetCookie(w, a.cookie(attemptCookie, "", http.SameSiteLaxMode, 0))
	arrival, err := a.Federation.Finish(request.Context(), r)
	if err != nil {
		return err
	}
	if r.ForTokens {
		return a.answerArrival(w, request, arrival)
	}
	// In the fragment, which no server and no log sees.
	page := url.Values{}
	if arrival.Linked {
		page.Set("linked", "true")
	} else {
		page.Set("code", arrival.Code.Reveal())
		http.SetCookie(w, a.cookie(codeCookie, arrival.Browser.Reveal(), http.SameSiteStrictMode, arrival.Life))
	}
	w.Header().Set("Location", landing(request)+"#"+page.Encode())
	http.SetCookie(w, a.cookie(returnCookie, "", http.SameSiteLaxMode, 0))
	w.WriteHeader(http.StatusSeeOther)
	return nil
}

func (a *API) answerArrival(w http.ResponseWriter, request *http.Request, arrival federation.Result) error {
	var body any = struct {
		Status string `json:"status"`
	}{"linked"}
	if !arrival.Linked {
		signedIn, err := a.signedIn(request.Context(), arrival.User, arrival.Tokens, arrival.OrgID)
		if err != nil {
			return err
		}
		body = signedIn
	}
	w.Header().Set("Content-Type", "application/json")
	// Whoever is gone cannot be told; the session is there, and in their list.
	_ = json.MarshalWrite(w, body)
	return nil
}

// SignedInBody is a new session with what it opens.
type SignedInBody struct {
	TokensBody
	User          UserBody           `json:"user"`
	Organizations []OrganizationBody `json:"organizations" nullable:"false"`
	LimitedTo     *string            `json:"limitedTo" doc:"The one organization the session is good for; null: any of the person's."`
}

func (a *API) signedIn(ctx context.Context, user auth.User, tokens auth.Tokens, orgID string) (SignedInBody, error) {
	mine, err := a.mine(ctx, principal.Principal{Kind: principal.User, UserID: user.ID, LimitedTo: orgID})
	if err != nil {
		return SignedInBody{}, err
	}
	body := SignedInBody{TokensBody: tokensBody(tokens), User: userBody(user), Organizations: organizationBodies(mine)}
	if orgID != "" {
		body.LimitedTo = &orgID
	}
	return body, nil
}

type exchangeInput struct {
	Browser string `cookie:"__Host-writ_sign_in_code" maxLength:"200" doc:"The browser's half, from the callback."`
	InClear string `cookie:"writ_sign_in_code" maxLength:"200" doc:"The same where the server has no TLS."`
	Body    struct {
		Code string `json:"code" minLength:"1" maxLength:"200"`
	}
}

type exchangeOutput struct {
	Cookie string `header:"Set-Cookie"`
	Body   SignedInBody
}

func (a *API) exchangeCode(ctx context.Context, _ principal.Principal, in *exchangeInput) (*exchangeOutput, error) {
	browser := in.Browser
	if !a.usesTLS() {
		browser = in.InClear
	}
	user, tokens, orgID, err := a.Federation.Exchange(ctx, in.Body.Code, browser, deviceOf(ctx))
	if err != nil {
		return nil, err
	}
	body, err := a.signedIn(ctx, user, tokens, orgID)
	return &exchangeOutput{Cookie: a.cookie(codeCookie, "", http.SameSiteStrictMode, 0).String(), Body: body}, err
}
