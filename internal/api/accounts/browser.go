package accounts

import (
	"context"
	"net/http"

	"writ/internal/api/route"
	"writ/internal/auth"
	"writ/internal/fault"
)

// sessionCookie holds the refresh token of a browser. It counts at /auth/refresh alone, and only for pages of this
// server that ask for it.
const sessionCookie = "writ_session"

// BrowserInput is how a page of this server asks that its refresh token be kept in a cookie. Scripts cannot read it
// there, and pages of other servers cannot send this header.
type BrowserInput struct {
	Session string `header:"Writ-Session" enum:"cookie" doc:"For pages of this server: the refresh token is a cookie, and not in bodies."`
}

// CookieInput is a request that may bring the cookie.
type CookieInput struct {
	BrowserInput
	Cookie  string `cookie:"__Host-writ_session" maxLength:"200" doc:"The refresh token of a browser."`
	InClear string `cookie:"writ_session" maxLength:"200" doc:"The same if the server has no TLS."`
}

// tokenOf is the refresh token in the cookie. With TLS only a cookie that no neighbour can plant counts.
func (h *Handlers) tokenOf(in CookieInput) string {
	if h.SecureCookies {
		return in.Cookie
	}
	return in.InClear
}

func (in BrowserInput) cookie() bool { return in.Session != "" }

// device is where a request comes from. A session in a cookie is for pages of this server.
func (in BrowserInput) device(ctx context.Context) (auth.Device, error) {
	device := deviceOf(ctx)
	if !in.cookie() {
		return device, nil
	}
	if !route.RequestOf(ctx).SameOrigin() {
		return auth.Device{}, fault.New(fault.Forbidden, "a session in a cookie is for pages of this server only")
	}
	device.Cookie = true
	return device, nil
}

// deviceOf is the address and browser of a request.
func deviceOf(ctx context.Context) auth.Device {
	request := route.RequestOf(ctx)
	return auth.Device{Address: request.Address.String(), UserAgent: request.Agent}
}

// sessionOutput is an answer with tokens, of which the cookies may hold one.
type sessionOutput[B any] struct {
	Cookies []string `header:"Set-Cookie"`
	Body    B
}

// sessionCookies keep the refresh token of a browser, or delete it if there is none.
func (h *Handlers) sessionCookies(in BrowserInput, tokens auth.Tokens) []string {
	if !in.cookie() {
		return nil
	}
	cookie := h.cookie(sessionCookie, tokens.Refresh.Reveal(), http.SameSiteStrictMode, tokens.Life)
	return []string{cookie.String()}
}
