// Package api is the edge: it makes the handlers of every area with the services they need, mounts their routes on one
// router, and serves what belongs to no area (health, metrics, the document, the dashboard).
package api

import (
	"context"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"time"

	"writ/internal/api/admission"
	"writ/internal/api/organizations"
	"writ/internal/api/route"
	"writ/internal/api/traces"
	"writ/internal/apikey"
	"writ/internal/approval"
	"writ/internal/audit"
	"writ/internal/auth"
	"writ/internal/auth/federation"
	"writ/internal/database"
	"writ/internal/enforcement"
	"writ/internal/execution"
	"writ/internal/forwarding"
	"writ/internal/intent"
	"writ/internal/notification"
	"writ/internal/notification/webhook"
	"writ/internal/organization"
	"writ/internal/policy"
	"writ/internal/policy/drafting"
	"writ/internal/replay"
	"writ/internal/secret"
	"writ/internal/telemetry"
	"writ/internal/throttle"
)

// Config is what the edge needs: the areas it speaks for, and its own settings.
type Config struct {
	Database      *database.DB
	Auth          *auth.Service
	Federation    *federation.Service
	Organizations *organization.Service
	Keys          *apikey.Service
	Policies      *policy.Service
	Replays       *replay.Service
	Drafts        *drafting.Author
	Intent        *intent.Service
	Enforcement   *enforcement.Service
	Approvals     *approval.Service
	Limiter       *throttle.Limiter
	Telemetry     *telemetry.Service
	Audit         *audit.Service
	Executions    *execution.Service
	Notifications *notification.Service
	Webhooks      *webhook.Service
	Forwarding    *forwarding.Service
	Logger        *slog.Logger

	// TelemetryDatabase is measured beside Database; nil: it is not.
	TelemetryDatabase *database.DB
	// TelemetryBehind is how far telemetry may be behind decisions; nil: not told.
	TelemetryBehind func() time.Duration
	// CheckpointKeys are those of the audit log's checkpoints, newest first.
	CheckpointKeys func(ctx context.Context) ([]string, error)

	Version        string
	PublicURL      *url.URL
	TrustedProxies []netip.Prefix
	CORSOrigins    []string
	MaxBodyBytes   int64
	MaxIngestBytes int64       // of telemetry, decompressed
	SignUpOpen     bool        // whether anyone may register
	Documented     bool        // whether /openapi.json and /api-docs are served
	MetricsToken   secret.Text // opens /metrics on the main listener; unset: it is not served there
	ProxyToken     secret.Text // the enforcement proxy's credential; unset: proxy routes are closed
	UsesTLS        bool
}

// API is the assembled edge.
type API struct {
	Config
	router  *route.Router
	gate    *admission.Gate
	metrics *metrics
	bodies  *route.Bodies
	traces  *traces.Handlers
	polls   openPolls
}

// New assembles the routes.
func New(c Config) *API {
	a := &API{
		Config:  c,
		metrics: newMetrics(c),
		bodies:  &route.Bodies{},
	}
	a.gate = &admission.Gate{
		People:        c.Auth,
		Keys:          c.Keys,
		Organizations: c.Organizations,
		Providers:     c.Federation,
		Policies:      c.Policies,
		Plans:         c.Intent,
		ProxyToken:    c.ProxyToken,
	}
	a.router = route.New(route.Config{
		Gate:           a.gate,
		Limiter:        c.Limiter,
		Logger:         c.Logger,
		Observe:        a.metrics.observe,
		Version:        c.Version,
		PublicURL:      c.PublicURL,
		TrustedProxies: c.TrustedProxies,
		CORSOrigins:    c.CORSOrigins,
		MaxBodyBytes:   c.MaxBodyBytes,
		UsesTLS:        a.usesTLS(),
	})
	a.mountHealth()
	a.mountAuth()
	a.mountPassword()
	a.mountSessions()
	a.mountDevice()
	a.mountSignIn()
	a.mountIdentities()
	a.mountIdentityProvider()
	(&organizations.Handlers{
		Gate:          a.gate,
		Accounts:      c.Auth,
		Organizations: c.Organizations,
		Keys:          c.Keys,
		Now:           c.Database.Now,
	}).Mount(a.router)
	a.traces = &traces.Handlers{
		Telemetry:      c.Telemetry,
		Forwarding:     c.Forwarding,
		Database:       c.Database,
		Bodies:         a.bodies,
		Logger:         c.Logger,
		MaxIngestBytes: c.MaxIngestBytes,
	}
	a.traces.Mount(a.router)
	a.mountPolicies()
	a.mountIAP()
	a.mountDelegation()
	a.mountNotifications()
	a.mountWebhooks()
	a.traces.MountForwarding(a.router)
	a.mountExecutions()
	a.mountAuditLog()
	if c.Documented {
		a.mountDocs()
	}
	a.mountWeb()
	return a
}

// ServeHTTP answers a request.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) { a.router.ServeHTTP(w, r) }

// Routes lists what is served, in the order it was mounted.
func (a *API) Routes() []route.Route { return a.router.Routes() }
