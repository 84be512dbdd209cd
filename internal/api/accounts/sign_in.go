package accounts

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/go-json-experiment/json"

	"writ/internal/api/organizations"
	"writ/internal/api/route"
	"writ/internal/auth"
	"writ/internal/auth/federation"
	"writ/internal/fault"
	"writ/internal/principal"
	"writ/internal/throttle"
)

// The cookies of a sign-in at an identity provider: the state until the browser returns, and the browser's half of the
// code that a page then exchanges. Neither is a credential; those are sent in headers.
const (
	attemptCookie = "writ_sign_in"
	codeCookie    = "writ_sign_in_code"
	cookiePath    = "/auth"

	// ownHost is the prefix of cookies that browsers accept only from this host and with TLS. Otherwise another host in
	// the same domain could set a sign-in of its own, and link a person's identity to its account.
	ownHost = "__Host-"
)

// mountSignIn serves signing in with an identity provider. Browsers open these paths, so they answer with redirects, or
// with a page if a sign-in failed. A program that accepts JSON gets its tokens from the callback.
func (h *Handlers) mountSignIn(r *route.Router) {
	const back = "Return from the identity provider: tokens for programs that accept JSON, else to /ui/ with a code"
	brought := []string{"state", "code", "error", "iss"}
	visit(r, route.Get("/auth/google", "Sign in with Google"), h.redirectToGoogle)
	callback(r, route.Get("/auth/google/callback", back), h.callbackFromGoogle, brought)
	visit(r, route.Get("/auth/oidc", "Sign in with the identity provider of an e-mail domain"), h.redirectByAddress,
		"email")
	visit(r, route.Get("/auth/oidc/{organization}",
		"Sign in with an organization's identity provider, by its id or slug"), h.redirectByName)
	callback(r, route.Get("/auth/oidc/{organization}/callback", back), h.callbackFromProvider, brought)
	route.HandleOutput(r, route.Post("/auth/sign-in-code",
		"Exchange the code that a sign-in put into the URL of /ui/").
		For(route.Public).Throttled(throttle.SignIn).Records("session.created"), h.exchangeCode)
}

// browsed handles a request that a browser makes by opening a page.
type browsed func(w http.ResponseWriter, request *http.Request) error

// visit mounts a route that redirects a browser to an identity provider.
func visit(r *route.Router, rt route.Route, handler browsed, queries ...string) {
	browse(r, rt.Answers(http.StatusFound), handler, queries, map[string]*huma.Response{})
}

// callback mounts a route to which an identity provider sends the browser back.
func callback(r *route.Router, rt route.Route, handler browsed, queries []string) {
	done := &huma.Schema{OneOf: []*huma.Schema{route.Schema[SignedInBody](r), route.Schema[StatusBody](r)}}
	browse(r, rt.Changing().Records("session.created"), handler, queries, map[string]*huma.Response{
		strconv.Itoa(http.StatusOK): {
			Description: "Signed in, or an identity was linked",
			Content:     map[string]*huma.MediaType{route.JSONType: {Schema: done}},
		},
	})
}

// browse mounts a route that browsers open, to which identity providers add parameters of their own. The throttle
// counts requests by the organization or address they name.
func browse(
	r *route.Router, rt route.Route, handler browsed, queries []string, responses map[string]*huma.Response,
) {
	rt = rt.For(route.Public).AnyQuery().Throttled(throttle.SignIn).WritesErrors(writeVisitError).
		CountedBy(func(request *http.Request) string {
			return request.PathValue("organization") + request.URL.Query().Get("email")
		})
	r.Serve(rt, func(w http.ResponseWriter, request *http.Request, _ principal.Principal) error {
		return handler(w, request)
	})
	responses[strconv.Itoa(http.StatusFound)] = &huma.Response{Description: "To another page."}
	op := huma.Operation{Responses: responses}
	text := &huma.Schema{Type: huma.TypeString}
	if strings.Contains(rt.Path, "{organization}") {
		op.Parameters = append(op.Parameters, &huma.Param{
			Name:        "organization",
			In:          "path",
			Required:    true,
			Description: "Id or slug.",
			Schema:      text,
		})
	}
	for _, name := range queries {
		op.Parameters = append(op.Parameters, &huma.Param{Name: name, In: "query", Schema: text})
	}
	r.Document(rt, op, http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusConflict)
}

func (h *Handlers) redirectToGoogle(w http.ResponseWriter, request *http.Request) error {
	return h.redirect(w, request, "")
}

func (h *Handlers) redirectByName(w http.ResponseWriter, request *http.Request) error {
	orgID, err := h.Federation.ByName(request.Context(), request.PathValue("organization"))
	if err != nil {
		return err
	}
	return h.redirect(w, request, orgID)
}

func (h *Handlers) redirectByAddress(w http.ResponseWriter, request *http.Request) error {
	address := request.URL.Query().Get("email")
	if address == "" || len(address) > 300 {
		return fault.Field("email", "is required: an address, or its domain")
	}
	orgID, err := h.Federation.ByAddress(request.Context(), address)
	if err != nil {
		return err
	}
	return h.redirect(w, request, orgID)
}

// redirect sends the browser to the identity provider of an organization, or to Google if that is empty.
func (h *Handlers) redirect(w http.ResponseWriter, request *http.Request, orgID string) error {
	d, err := h.Federation.Begin(request.Context(), orgID)
	if err != nil {
		return err
	}
	http.SetCookie(w, h.stateCookie(d))
	w.Header().Set("Location", d.URL)
	w.WriteHeader(http.StatusFound)
	return nil
}

// stateCookie holds the state of a sign-in. It is not Strict, because the provider sends the browser back from
// another site.
func (h *Handlers) stateCookie(d federation.Redirect) *http.Cookie {
	return h.cookie(attemptCookie, d.Cookie.Reveal(), http.SameSiteLaxMode, d.Life)
}

func (h *Handlers) cookie(name, value string, site http.SameSite, life time.Duration) *http.Cookie {
	c := &http.Cookie{
		Name:     name,
		Value:    value,
		Path:     cookiePath,
		MaxAge:   int(life.Seconds()),
		HttpOnly: true,
		SameSite: site,
		Secure:   h.SecureCookies,
	}
	if c.Secure && name != returnCookie {
		c.Name, c.Path = ownHost+name, "/" // the prefix requires this path
	}
	if value == "" {
		c.MaxAge = -1
	}
	return c
}

func (h *Handlers) callbackFromGoogle(w http.ResponseWriter, request *http.Request) error {
	return h.finishSignIn(w, request, "")
}

func (h *Handlers) callbackFromProvider(w http.ResponseWriter, request *http.Request) error {
	orgID := request.PathValue("organization")
	if orgID == "" {
		return fault.New(fault.NotFound, "there is nothing at this path") // never Google's
	}
	return h.finishSignIn(w, request, orgID)
}

// finishSignIn completes a sign-in and deletes its cookie, whether the sign-in succeeds or not.
func (h *Handlers) finishSignIn(w http.ResponseWriter, request *http.Request, orgID string) error {
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
	if h.SecureCookies {
		name = ownHost + name
	}
	if kept, err := request.Cookie(name); err == nil {
		r.Cookie = kept.Value
	}
	http.SetCookie(w, h.cookie(attemptCookie, "", http.SameSiteLaxMode, 0))
	finished, err := h.Federation.Finish(request.Context(), r)
	if err != nil {
		return err
	}
	if r.ForTokens {
		return h.answerFinished(w, request, finished)
	}
	// The code is in the fragment, which browsers do not send to servers.
	page := url.Values{}
	if finished.Linked {
		page.Set("linked", "true")
	} else {
		page.Set("code", finished.Code.Reveal())
		http.SetCookie(w, h.cookie(codeCookie, finished.Browser.Reveal(), http.SameSiteStrictMode, finished.Life))
	}
	w.Header().Set("Location", landing(request)+"#"+page.Encode())
	http.SetCookie(w, h.cookie(returnCookie, "", http.SameSiteLaxMode, 0))
	w.WriteHeader(http.StatusSeeOther)
	return nil
}

func (h *Handlers) answerFinished(w http.ResponseWriter, request *http.Request, finished federation.Result) error {
	var body any = StatusBody{"linked"}
	if !finished.Linked {
		signedIn, err := h.signedIn(request.Context(), finished.User, finished.Tokens, finished.OrgID, BrowserInput{})
		if err != nil {
			return err
		}
		body = signedIn
	}
	w.Header().Set("Content-Type", "application/json")
	// If the client has disconnected, the session still exists and is in the person's list.
	_ = json.MarshalWrite(w, body)
	return nil
}

// SignedInBody is a new session with the account and its organizations.
type SignedInBody struct {
	TokensBody
	User          UserBody                         `json:"user"`
	Organizations []organizations.OrganizationBody `json:"organizations" nullable:"false"`
	LimitedTo     *string                          `json:"limitedTo" doc:"The only organization of the session; null: all of the person's."`
}

func (h *Handlers) signedIn(
	ctx context.Context, user auth.User, tokens auth.Tokens, orgID string, keeps BrowserInput,
) (SignedInBody, error) {
	mine, err := h.Gate.Mine(ctx, principal.Principal{Kind: principal.User, UserID: user.ID, LimitedTo: orgID})
	if err != nil {
		return SignedInBody{}, err
	}
	body := SignedInBody{
		TokensBody: tokensBody(tokens, keeps), User: userBody(user), Organizations: organizations.Bodies(mine),
	}
	if orgID != "" {
		body.LimitedTo = &orgID
	}
	return body, nil
}

type exchangeInput struct {
	BrowserInput
	Browser string `cookie:"__Host-writ_sign_in_code" maxLength:"200" doc:"The browser's half, from the callback."`
	InClear string `cookie:"writ_sign_in_code" maxLength:"200" doc:"The same if the server has no TLS."`
	Body    struct {
		Code string `json:"code" minLength:"1" maxLength:"200"`
	}
}

func (h *Handlers) exchangeCode(
	ctx context.Context, _ principal.Principal, in *exchangeInput,
) (*sessionOutput[SignedInBody], error) {
	device, err := in.device(ctx)
	if err != nil {
		return nil, err
	}
	browser := in.Browser
	if !h.SecureCookies {
		browser = in.InClear
	}
	user, tokens, orgID, err := h.Federation.Exchange(ctx, in.Body.Code, browser, device)
	if err != nil {
		return nil, err
	}
	body, err := h.signedIn(ctx, user, tokens, orgID, in.BrowserInput)
	done := h.cookie(codeCookie, "", http.SameSiteStrictMode, 0).String()
	return &sessionOutput[SignedInBody]{append(h.sessionCookies(in.BrowserInput, tokens), done), body}, err
}
