// Package api is the edge: every HTTP route of the server, one file an area.
//
// A route is declared once with who may call it (Mode), what that caller needs
// (an action of their role in the organization of the path, or a scope of their
// key), its throttle and the audit action it leaves. A request passes, in order:
// request id and security headers, path and host checks, authentication,
// membership and rights, then decoding and validation, throttle, and the handler,
// which only calls an area and shapes the answer. Nothing of a body is read for
// a caller who is not allowed.
//
// Every error, from any of these, leaves in the one shape of errors.go.
package api

import (
	"context"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

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
	huma    huma.API
	mux     *http.ServeMux
	metrics *metrics
	routes  []Route
	ready   readiness
	bodies  bodyBudget
	streams openStreams // of approvals
	tails   openStreams
	exports openExports
	// patience is how long a reader of a stream may take for a part, in nanoseconds.
	patience atomic.Int64
	polls    openPolls

	refusals logGate
}

// New assembles the routes.
func New(c Config) *API {
	setUpHuma()
	a := &API{Config: c, mux: http.NewServeMux(), metrics: newMetrics(c), ready: readiness{begun: make(chan struct{})}}
	a.patience.Store(int64(streamWrite))
	a.huma = humago.New(a.mux, humaConfig(c.Version))
	a.mountHealth()
	a.mountAuth()
	a.mountPassword()
	a.mountSessions()
	a.mountDevice()
	a.mountSignIn()
	a.mountIdentities()
	a.mountIdentityProvider()
	a.mountOrganizations()
	a.mountMembers()
	a.mountKeys()
	a.mountTerminal()
	a.mountObservability()
	a.mountOTLP()
	a.mountExports()
	a.mountTail()
	a.mountPolicies()
	a.mountIAP()
	a.mountDelegation()
	a.mountNotifications()
	a.mountWebhooks()
	a.mountForwarding()
	a.mountExecutions()
	a.mountAuditLog()
	if c.Documented {
		a.mountDocs()
	}
	a.mountWeb()
	return a
}

// Routes lists what is served, in the order it was declared.
func (a *API) Routes() []Route { return a.routes }

// humaConfig is huma without its defaults: strict JSON only, unknown members
// accepted (published clients send them), no links added to answers.
func humaConfig(version string) huma.Config {
	config := huma.Config{
		OpenAPI: &huma.OpenAPI{
			OpenAPI: "3.1.0",
			Info: &huma.Info{
				Title:       "Writ",
				Version:     version,
				Description: "Intent-based security for AI agents: plans, decisions, evidence.",
			},
			Components: &huma.Components{
				Schemas:         huma.NewMapRegistry("#/components/schemas/", huma.DefaultSchemaNamer),
				SecuritySchemes: securitySchemes(),
			},
		},
		Formats:       map[string]huma.Format{"application/json": strictJSON, "json": strictJSON},
		DefaultFormat: "application/json",
	}
	config.AllowAdditionalPropertiesByDefault = true
	return config
}
