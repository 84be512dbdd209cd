// Package api is the edge: it makes the handlers of every area with the services they need, mounts their routes on one
// router, and serves what belongs to no area (health, metrics, the document, the dashboard).
package api

import (
	"context"
	"io/fs"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"time"

	"writ/internal/accessrequest"
	"writ/internal/agent"
	"writ/internal/api/accessrequests"
	"writ/internal/api/accounts"
	"writ/internal/api/admission"
	"writ/internal/api/agents"
	"writ/internal/api/approvals"
	"writ/internal/api/auditlog"
	billingapi "writ/internal/api/billing"
	blogapi "writ/internal/api/blog"
	"writ/internal/api/certificates"
	"writ/internal/api/connections"
	"writ/internal/api/decisions"
	guardapi "writ/internal/api/guard"
	"writ/internal/api/invoke"
	"writ/internal/api/notifications"
	oauthapi "writ/internal/api/oauth"
	"writ/internal/api/operators"
	"writ/internal/api/organizations"
	"writ/internal/api/policies"
	"writ/internal/api/proxy"
	"writ/internal/api/referrals"
	"writ/internal/api/route"
	"writ/internal/api/search"
	"writ/internal/api/servers"
	"writ/internal/api/traces"
	"writ/internal/api/usage"
	"writ/internal/api/users"
	"writ/internal/apikey"
	"writ/internal/approval"
	"writ/internal/audit"
	"writ/internal/auth"
	"writ/internal/auth/account"
	"writ/internal/auth/federation"
	"writ/internal/billing"
	"writ/internal/blog"
	"writ/internal/carrier"
	"writ/internal/certificate"
	"writ/internal/connection"
	"writ/internal/database"
	"writ/internal/enforcement"
	"writ/internal/execution"
	"writ/internal/forwarding"
	"writ/internal/gateway"
	"writ/internal/guard"
	"writ/internal/intent"
	"writ/internal/mcp"
	"writ/internal/notification"
	"writ/internal/notification/webhook"
	"writ/internal/oauth"
	"writ/internal/operator"
	"writ/internal/organization"
	"writ/internal/policy"
	"writ/internal/policy/drafting"
	"writ/internal/referral"
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
	Operators     *operator.Service
	Requests      *accessrequest.Service
	Blog          *blog.Service
	Referrals     *referral.Service
	Accounts      *account.Service
	Billing       *billing.Service
	Keys          *apikey.Service
	Policies      *policy.Service
	Replays       *replay.Service
	Drafts        *drafting.Author
	Intent        *intent.Service
	Enforcement   *enforcement.Service
	Carrier       *carrier.Carrier
	Approvals     *approval.Service
	Agents        *agent.Service
	Servers       *mcp.Service
	Certificates  *certificate.Service
	OAuth         *oauth.Service
	Connections   *connection.Service
	Gateway       *gateway.Gateway
	Guard         *guard.Service
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
	// CheckLog compares a log with what is stored of it and beside it, and gives how many entries it read.
	CheckLog func(ctx context.Context, log string, found func(audit.Problem)) (entries int64, err error)
	// AuditProblems is how many problems the last check of the audit logs found, and when it ended; nil: not told.
	AuditProblems func() (problems int, at time.Time)
	// WitnessBehind is how long the witness of checkpoints has missed some; nil: there is none.
	WitnessBehind func() time.Duration

	TraceRetention   time.Duration
	PayloadRetention time.Duration // of the audit log; 0: forever

	Version        string
	PublicURL      *url.URL
	HostNames      []string // others under which programs reach it
	TrustedProxies []netip.Prefix
	CORSOrigins    []string
	MaxBodyBytes   int64
	MaxIngestBytes int64       // of telemetry, decompressed
	SignUpOpen     bool        // whether anyone may register
	Documented     bool        // whether /openapi.json and /api-docs are served
	MetricsToken   secret.Text // opens /metrics on the main listener; unset: it is not served there
	ProxyToken     []byte      // the hash of the enforcement proxy's token; nil: its routes are closed
	UsesTLS        bool
	Dashboard      fs.FS        // the built dashboard; nil: a page says how to get it
	MailGoes       string       // as OptionsBody.Mail says it
	MailsLost      func() int64 // since the start; nil: not told
}

// API is the assembled edge.
type API struct {
	router  *route.Router
	metrics *metrics
	traces  *traces.Handlers
	gateway *gateway.Gateway

	version      string
	publicURL    string
	database     *database.DB
	telemetry    *database.DB // nil: not known
	metricsToken secret.Text

	auditProblems func() (int, time.Time) // or nil
	witnessBehind func() time.Duration    // or nil
}

// New assembles the routes.
func New(c Config) *API {
	gate := c.gate()
	a := &API{
		metrics:       newMetrics(c),
		gateway:       c.Gateway,
		version:       c.Version,
		publicURL:     c.PublicURL.String(),
		database:      c.Database,
		telemetry:     c.TelemetryDatabase,
		metricsToken:  c.MetricsToken,
		auditProblems: c.AuditProblems,
		witnessBehind: c.WitnessBehind,
	}
	a.router = route.New(route.Config{
		Gate:           gate,
		Limiter:        c.Limiter,
		Logger:         c.Logger,
		Stopped:        c.Agents.RefuseStopped,
		Observe:        a.metrics.observe,
		Version:        c.Version,
		PublicURL:      c.PublicURL,
		HostNames:      c.HostNames,
		TrustedProxies: c.TrustedProxies,
		CORSOrigins:    c.CORSOrigins,
		MaxBodyBytes:   c.MaxBodyBytes,
		UsesTLS:        c.usesTLS(),
	})
	a.mountHealth(a.router.Tagged("operation"))
	a.mountIdentity(c, gate)
	a.mountWork(c)
	a.metrics.watchDecisions(a.router.Routes())
	if c.Documented {
		a.router.DocumentNulls()
		documentExamples(a.router)
		a.mountDocs()
	}
	a.mountWeb(c.Dashboard)
	return a
}

// gate says who is calling, for every route.
func (c Config) gate() *admission.Gate {
	return &admission.Gate{
		People:        c.Auth,
		Keys:          c.Keys,
		Organizations: c.Organizations,
		Factors:       c.Auth,
		Now:           c.Database.Now,
		Providers:     c.Federation,
		Policies:      c.Policies,
		Plans:         c.Intent,
		Stops:         c.Agents,
		Certificates:  attestations{c.Certificates, c.Agents},
		Operators:     c.Operators,
		ProxyToken:    c.ProxyToken,
	}
}

// usesTLS reports whether browsers reach this server with TLS. A proxy may speak it for us.
func (c Config) usesTLS() bool { return c.UsesTLS || c.PublicURL.Scheme == "https" }

// options is what this server offers, beside the ways to sign in.
func (c Config) options() accounts.OptionsBody {
	return accounts.OptionsBody{
		Mail:        c.MailGoes,
		Development: c.Documented,
		Billing:     c.Billing != nil && c.Billing.IsOn(),
		Referrals:   c.Referrals != nil && c.Referrals.IsOn(),
	}
}

// mountIdentity serves who people and keys are.
func (a *API) mountIdentity(c Config, gate *admission.Gate) {
	(&accounts.Handlers{
		Gate:          gate,
		Auth:          c.Auth,
		Federation:    c.Federation,
		Organizations: c.Organizations,
		Keys:          c.Keys,
		Requests:      c.Requests,
		PublicURL:     c.PublicURL,
		SignUpOpen:    c.SignUpOpen,
		SecureCookies: c.usesTLS(),
		Options:       c.options(),
		HasDashboard:  c.Dashboard != nil,
	}).Mount(a.router)
	(&users.Handlers{
		Auth:          c.Auth,
		Accounts:      c.Accounts,
		Federation:    c.Federation,
		Organizations: c.Organizations,
		Keys:          c.Keys,
		Database:      c.Database,
		Logger:        c.Logger,
	}).Mount(a.router)
	(&organizations.Handlers{
		Gate:          gate,
		Accounts:      c.Auth,
		Organizations: c.Organizations,
		Keys:          c.Keys,
		Agents:        c.Agents,
		Now:           c.Database.Now,
		FillDemo:      a.demoOutsideProduction(c),
	}).Mount(a.router)
	(&accessrequests.Handlers{Gate: gate, Requests: c.Requests, Organizations: c.Organizations}).Mount(a.router)
	(&operators.Handlers{Operators: c.Operators}).Mount(a.router)
	(&blogapi.Handlers{Blog: c.Blog, PublicURL: c.PublicURL}).Mount(a.router)
	(&referrals.Handlers{Referrals: c.Referrals}).Mount(a.router)
	a.mountBilling(c)
	(&oauthapi.Handlers{Gate: gate, OAuth: c.OAuth, Agents: c.Agents}).Mount(a.router)
	(&connections.Handlers{Gate: gate, Connections: c.Connections, Servers: c.Servers}).Mount(a.router)
}

// mountBilling serves what organizations use and pay.
func (a *API) mountBilling(c Config) {
	(&usage.Handlers{
		Telemetry: c.Telemetry, Organizations: c.Organizations, Behind: c.TelemetryBehind, Now: c.Database.Now,
	}).Mount(a.router)
	(&billingapi.Handlers{
		Billing:       c.Billing,
		Telemetry:     c.Telemetry,
		Organizations: c.Organizations,
		Bodies:        &route.Bodies{Limit: eventBytes},
		Now:           c.Database.Now,
	}).Mount(a.router)
}

// How much memory the bodies of requests may take together.
const (
	reportBytes   = 256 << 20 // telemetry and reports, with what is decoded from them
	decisionBytes = 64 << 20
	eventBytes    = 16 << 20 // of the payment provider
)

// mountWork serves what agents do, what is decided about it and what is kept of it. The order is that of the table of
// routes.
func (a *API) mountWork(c Config) {
	// Telemetry and reports may fill their memory; decisions have their own.
	bodies := &route.Bodies{Limit: reportBytes}
	a.mountTraces(c, bodies)
	a.mountDecisions(c)
	(&notifications.Handlers{
		Notifications: c.Notifications,
		Webhooks:      c.Webhooks,
		Events:        c.Approvals,
		PublicURL:     c.PublicURL,
	}).Mount(a.router)
	a.traces.MountForwarding(a.router)
	(&agents.Handlers{Agents: c.Agents, Enforcement: c.Enforcement, Telemetry: c.Telemetry}).Mount(a.router)
	(&servers.Handlers{Servers: c.Servers, Enforcement: c.Enforcement, Telemetry: c.Telemetry}).Mount(a.router)
	(&certificates.Handlers{Certificates: c.Certificates, PublicURL: c.PublicURL, Now: c.Database.Now}).Mount(a.router)
	a.mountProxy(c, bodies)
	(&auditlog.Handlers{
		Audit:          c.Audit,
		Executions:     c.Executions,
		CheckpointKeys: c.CheckpointKeys,
		CheckLog:       c.CheckLog,
		Bodies:         bodies,
		MaxBodyBytes:   c.MaxBodyBytes,
		MaxReportBytes: c.MaxIngestBytes,
		Logger:         c.Logger,
	}).Mount(a.router)
	(&search.Handlers{
		Agents:        c.Agents,
		Approvals:     c.Approvals,
		Audit:         c.Audit,
		Keys:          c.Keys,
		Organizations: c.Organizations,
		Plans:         c.Intent,
		Policies:      c.Policies,
		Servers:       c.Servers,
		Telemetry:     c.Telemetry,
		Now:           c.Database.Now,
	}).Mount(a.router)
}

// mountTraces serves telemetry, apart from its forwarding.
func (a *API) mountTraces(c Config, bodies *route.Bodies) {
	a.traces = &traces.Handlers{
		Telemetry:      c.Telemetry,
		Agents:         c.Agents,
		Forwarding:     c.Forwarding,
		Database:       c.Database,
		Audit:          c.Audit,
		PolicyName:     c.Policies.NameOf,
		Behind:         c.TelemetryBehind,
		Bodies:         bodies,
		Logger:         c.Logger,
		MaxIngestBytes: c.MaxIngestBytes,
		Kept:           traces.Kept{Traces: c.TraceRetention, Payloads: c.PayloadRetention},
	}
	a.traces.Mount(a.router)
}

// mountDecisions serves policies, plans, decisions and approvals.
func (a *API) mountDecisions(c Config) {
	policies := &policies.Handlers{
		Policies:      c.Policies,
		Enforcement:   c.Enforcement,
		Organizations: c.Organizations,
		Replays:       c.Replays,
		Plans:         c.Intent,
		Drafts:        c.Drafts,
		Audit:         c.Audit,
		PublicURL:     c.PublicURL,
		Now:           c.Database.Now,
	}
	decisions := &decisions.Handlers{
		Enforcement:   c.Enforcement,
		Intent:        c.Intent,
		Policies:      c.Policies,
		Organizations: c.Organizations,
		Executions:    c.Executions,
		Agents:        c.Agents,
		Servers:       c.Servers,
		Bodies:        &route.Bodies{Limit: decisionBytes},
		PublicURL:     c.PublicURL,
		MaxBodyBytes:  c.MaxBodyBytes,
	}
	policies.Mount(a.router)
	decisions.Mount(a.router)
	policies.MountPreflights(a.router)
	decisions.MountSettings(a.router)
	(&approvals.Handlers{
		Approvals:     c.Approvals,
		Enforcement:   c.Enforcement,
		Organizations: c.Organizations,
		Keys:          c.Keys,
		Policies:      c.Policies,
		Intent:        c.Intent,
		Audit:         c.Audit,
		Limiter:       c.Limiter,
	}).Mount(a.router)
}

// mountProxy serves the enforcement proxy: to published SDKs, to agents that speak MCP, and to proxies in processes of
// their own.
func (a *API) mountProxy(c Config, bodies *route.Bodies) {
	(&invoke.Handlers{
		Carrier:      c.Carrier,
		Bodies:       &route.Bodies{Limit: decisionBytes},
		MaxBodyBytes: c.MaxBodyBytes,
	}).Mount(a.router)
	(&proxy.Handlers{
		Gateway: c.Gateway,
		Admit: func(r *http.Request, mcpID string) (oauth.Granted, string, error) {
			return oauthapi.Admit(c.OAuth, r, mcpID)
		},
	}).Mount(a.router)
	(&guardapi.Handlers{
		Guard:       c.Guard,
		Keys:        c.Keys,
		Stops:       c.Agents,
		Tokens:      c.OAuth,
		UserToken:   c.userToken,
		Spent:       c.spent,
		Enforcement: c.Enforcement,
		Executions:  c.Executions,
		Servers:     c.Servers,
		Policies:    c.Policies,
		Approvals:   c.Approvals,
		Bodies:      bodies,
		Now:         c.Database.Now,
		MaxBytes:    c.MaxIngestBytes,
	}).Mount(a.router)
}

// ServeHTTP answers a request.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) { a.router.ServeHTTP(w, r) }

// Routes lists what is served, in the order it was mounted.
func (a *API) Routes() []route.Route { return a.router.Routes() }

// userToken is the token of a person for a server that wants the consent of each.
func (c Config) userToken(ctx context.Context, orgID, userID string, of mcp.Reach) (secret.Text, error) {
	return c.Connections.Token(ctx, orgID, userID, connection.Server{ID: of.ID, Name: of.Name, URL: of.URL})
}

// spent notes that a server refuses the token of a person.
func (c Config) spent(ctx context.Context, orgID, userID string, of mcp.Reach, token secret.Text) error {
	return c.Connections.Spent(ctx, orgID, userID, connection.Server{ID: of.ID, Name: of.Name, URL: of.URL}, token)
}
