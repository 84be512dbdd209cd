package api

import (
	"net/http"
	"strings"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"writ/internal/api/proxy"
	"writ/internal/fault"
)

// metrics is a registry of its own, so that several servers fit in one process.
type metrics struct {
	registry *prometheus.Registry
	requests *prometheus.HistogramVec

	deciding  map[string]bool // the patterns of routes that decide about calls; written before any request
	undecided atomic.Int64    // their answers that no decision could be recorded for
}

func newMetrics(c Config) *metrics {
	db, version := c.Database, c.Version
	m := &metrics{
		registry: prometheus.NewRegistry(),
		deciding: map[string]bool{},
		requests: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "writ_http_request_duration_seconds",
			Help:    "Time to answer, by route and status.",
			Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10},
		}, []string{"route", "status"}),
	}
	build := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "writ_build_info", Help: "Always 1; the labels tell the build.",
		ConstLabels: prometheus.Labels{"version": version, "database": string(db.Engine())},
	})
	build.Set(1)
	if c.TelemetryBehind != nil {
		m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "writ_projection_lag_seconds",
			Help: "How far telemetry may be behind decisions: since when their logs were last followed to the end.",
		}, func() float64 { return c.TelemetryBehind().Seconds() }))
	}
	if c.MailsLost != nil {
		m.registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "writ_mails_lost_total",
			Help: "Mails that the mail server refused or did not take for 18 minutes, or for which there was no room to wait.",
		}, func() float64 { return float64(c.MailsLost()) }))
	}
	m.registerEvidence(c)
	m.registry.MustRegister(m.requests, build, storeCollector{"main": db, "telemetry": c.TelemetryDatabase},
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	if c.Enforcement != nil {
		m.registry.MustRegister(decisionCollector{c.Enforcement, &m.undecided}, approvalCollector{c.Approvals})
	}
	if c.Carrier != nil {
		m.registry.MustRegister(proxy.Collector{Carrier: c.Carrier, Gateway: c.Gateway})
	}
	if c.Forwarding != nil {
		m.registry.MustRegister(forwardingCollector{c.Forwarding})
	}
	return m
}

// registerEvidence tells of the audit logs' checks and their witness.
func (m *metrics) registerEvidence(c Config) {
	if c.AuditProblems != nil {
		m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "writ_audit_problems",
			Help: "Differences between what is stored and what the audit logs have signed, as the last check found them.",
		}, func() float64 {
			problems, _ := c.AuditProblems()
			return float64(problems)
		}))
	}
	if c.WitnessBehind != nil {
		m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "writ_witness_behind_seconds",
			Help: "How long the witness of the audit logs has missed checkpoints; 0: it has them all.",
		}, func() float64 { return c.WitnessBehind().Seconds() }))
	}
}

// MetricsHandler serves the metrics, for a listener of its own. It asks for the
// token where there is one.
func (a *API) MetricsHandler() http.Handler {
	handler := promhttp.HandlerFor(a.metrics.registry, promhttp.HandlerOpts{})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		if a.metricsToken.IsSet() && !a.metricsToken.Equal(token) {
			a.router.WriteError(w, r, fault.New(fault.Unauthenticated, "send Authorization: Bearer <metrics token>"))
			return
		}
		handler.ServeHTTP(w, r)
	})
}

// mountMetrics serves the metrics on the main listener to whoever has the token.
func (a *API) mountMetrics() {
	if !a.metricsToken.IsSet() {
		return
	}
	a.router.Page("GET /metrics", a.MetricsHandler().ServeHTTP)
}
