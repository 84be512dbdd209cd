// Package standalone is the edge of an enforcement proxy in a process of its own: the MCP endpoint, POST /invoke, and
// what its operator asks. It has no database and decides nothing: the Writ server that it belongs to says who is
// calling and what they may do.
package standalone

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"time"

	"writ/internal/api/admission"
	"writ/internal/api/invoke"
	"writ/internal/api/proxy"
	"writ/internal/api/route"
	"writ/internal/carrier"
	"writ/internal/credential"
	"writ/internal/fault"
	"writ/internal/gateway"
	"writ/internal/guard/remote"
	"writ/internal/oauth"
	"writ/internal/principal"
	"writ/internal/secret"
)

// Config is what the edge needs.
type Config struct {
	Server  *remote.Server
	Carrier *carrier.Carrier
	Gateway *gateway.Gateway
	Bodies  *route.Bodies
	Logger  *slog.Logger

	Version        string
	PublicURL      *url.URL
	HostNames      []string // others under which programs reach it
	TrustedProxies []netip.Prefix
	CORSOrigins    []string
	MaxBodyBytes   int64
	UsesTLS        bool
	MetricsToken   secret.Text // opens /metrics on the main listener; unset: it is not served there
}

// API is the assembled edge.
type API struct {
	Config
	router  *route.Router
	metrics *proxy.Metrics
}

// New assembles the routes.
func New(c Config) *API {
	a := &API{Config: c, metrics: proxy.NewMetrics(c.Carrier, c.Gateway, c.Version)}
	a.router = route.New(route.Config{
		Gate:           gate{c.Server},
		Logger:         c.Logger,
		Stopped:        c.Server.RefuseStopped,
		Observe:        func(string, int, time.Duration) {},
		Version:        c.Version,
		PublicURL:      c.PublicURL,
		HostNames:      c.HostNames,
		TrustedProxies: c.TrustedProxies,
		CORSOrigins:    c.CORSOrigins,
		MaxBodyBytes:   c.MaxBodyBytes,
		UsesTLS:        c.UsesTLS,
	})
	a.router.Page("GET /health", a.health)
	a.router.Page("GET /ready", a.ready)
	if c.MetricsToken.IsSet() {
		a.router.Page("GET /metrics", a.MetricsHandler().ServeHTTP)
	}
	(&invoke.Handlers{Carrier: c.Carrier, Bodies: c.Bodies, MaxBodyBytes: c.MaxBodyBytes}).Mount(a.router)
	(&proxy.Handlers{Gateway: c.Gateway, Admit: a.admitToken}).Mount(a.router)
	return a
}

// ServeHTTP answers a request.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) { a.router.ServeHTTP(w, r) }

// Stopping makes /ready answer 503 from now on, and ends the sessions.
func (a *API) Stopping() {
	a.router.Stop()
	a.Gateway.Close()
}

// MetricsHandler serves the metrics. It asks for the token where there is one.
func (a *API) MetricsHandler() http.Handler {
	return a.metrics.Handler(a.MetricsToken, a.router.WriteError)
}

// say answers a probe.
func (a *API) say(w http.ResponseWriter, status string) {
	text, err := json.Marshal(map[string]string{"status": status, "version": a.Version})
	if err != nil {
		return // it is of two texts
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(text) // a probe that is gone cannot be told
}

func (a *API) health(w http.ResponseWriter, _ *http.Request) { a.say(w, "ok") }

// ready is 200 only while the server answers and knows this proxy: all calls are denied otherwise.
func (a *API) ready(w http.ResponseWriter, r *http.Request) {
	select {
	case <-a.router.Stopping():
		a.router.WriteError(w, r, fault.New(fault.Unavailable, "the proxy is stopping"))
		return
	default:
	}
	if err := a.Server.Ready(r.Context()); err != nil {
		a.router.WriteError(w, r, err)
		return
	}
	a.say(w, "ready")
}

// gate admits callers as the server says.
type gate struct{ server *remote.Server }

// Admit has the server say who a key is. Whoever comes with an access token, or with nothing, is for the handler.
func (g gate) Admit(r *http.Request, rt route.Route) (principal.Principal, error) {
	presented, err := credential.FromHeaders(r.Header.Values("Authorization"), r.Header.Values("X-Api-Key"))
	switch {
	case err != nil:
		return principal.Principal{}, err
	case presented.APIKey != "" && presented.Bearer != "":
		return principal.Principal{}, credential.Disagree()
	case presented.APIKey == "" && rt.Mode == route.Agent:
		return principal.Principal{}, nil
	case presented.APIKey == "":
		return principal.Principal{}, admission.Wanted(rt.Mode)
	}
	caller, err := g.server.Admit(r.Context(), presented.APIKey, "")
	if err == nil && caller.Stopped && !rt.ForStopped {
		err = fault.New(fault.Forbidden, "a person has stopped this API key")
	}
	if err != nil {
		return principal.Principal{}, err
	}
	return caller.Principal, nil
}

// admitToken authenticates a request by its access token.
func (a *API) admitToken(r *http.Request, mcpID string) (oauth.Granted, string, error) {
	presented, err := credential.FromHeaders(r.Header.Values("Authorization"), r.Header.Values("X-Api-Key"))
	if err != nil {
		return oauth.Granted{}, "", err
	}
	token := presented.Bearer
	if !oauth.IsAccessToken(token) {
		token = "" // the server says where to get one
	}
	caller, err := a.Server.Admit(r.Context(), token, mcpID)
	if err != nil {
		if token == "" && fault.Is(err, fault.Unauthenticated) {
			err = admission.Wanted(route.Agent)
		}
		return oauth.Granted{}, caller.Challenge, err
	}
	return oauth.Granted{Caller: caller.Principal, AgentID: caller.AgentID, ExpiresAt: caller.ExpiresAt}, "", nil
}
