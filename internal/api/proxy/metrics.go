package proxy

import (
	"net/http"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"writ/internal/carrier"
	"writ/internal/fault"
	"writ/internal/gateway"
	"writ/internal/mcp/upstream"
	"writ/internal/secret"
	"writ/internal/verdict"
)

// Collector tells what the proxy does.
type Collector struct {
	Carrier *carrier.Carrier
	Gateway *gateway.Gateway
}

var (
	callsTotal = prometheus.NewDesc("writ_proxy_calls_total",
		"Calls that came to the proxy, by what was decided about them.", []string{"decision"}, nil)
	failuresTotal = prometheus.NewDesc("writ_proxy_upstream_errors_total",
		"Allowed calls that an MCP server did not answer, by what went wrong.", []string{"kind"}, nil)
	callSeconds = prometheus.NewDesc("writ_proxy_call_duration_seconds",
		"Time that allowed calls took at their MCP server.", nil, nil)
	unrecordedTotal = prometheus.NewDesc("writ_proxy_outcomes_late_total",
		"Outcomes that could not be recorded when their call ended; they are tried again.", nil, nil)
	openSessions = prometheus.NewDesc("writ_proxy_sessions", "Open sessions of agents.", nil, nil)
	waitingCalls = prometheus.NewDesc("writ_proxy_calls_waiting", "Calls that wait for a person.", nil, nil)
)

// Describe says what is collected.
func (c Collector) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		callsTotal, failuresTotal, callSeconds, unrecordedTotal, openSessions, waitingCalls,
	} {
		to <- d
	}
}

// kinds are the failures that are told of from the start, so that their rates are known when the first happens.
var kinds = []upstream.Kind{
	upstream.Unreachable, upstream.TimedOut, upstream.Refused, upstream.TooLong, upstream.Broken, upstream.Abandoned,
}

// Collect tells the numbers.
func (c Collector) Collect(to chan<- prometheus.Metric) {
	t := c.Carrier.Tally()
	count := func(d *prometheus.Desc, n uint64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(n), labels...)
	}
	for _, v := range []verdict.Verdict{verdict.Allow, verdict.Ask, verdict.Hold, verdict.Deny} {
		count(callsTotal, t.Calls[v], v.String())
	}
	for _, kind := range kinds {
		count(failuresTotal, t.Failures[kind], string(kind))
	}
	count(unrecordedTotal, t.Unrecorded)
	to <- prometheus.MustNewConstHistogram(callSeconds, t.Carried, t.Seconds, t.Durations)
	gauge := func(d *prometheus.Desc, n int) {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, float64(n))
	}
	gauge(openSessions, c.Gateway.Sessions())
	gauge(waitingCalls, c.Gateway.Waiting())
}

// Metrics are those of a proxy in a process of its own.
type Metrics struct{ registry *prometheus.Registry }

// NewMetrics makes the metrics of a proxy in a process of its own.
func NewMetrics(c *carrier.Carrier, g *gateway.Gateway, version string) *Metrics {
	m := &Metrics{prometheus.NewRegistry()}
	build := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "writ_build_info", Help: "Always 1; the labels tell the build.",
		ConstLabels: prometheus.Labels{"version": version, "database": "none"},
	})
	build.Set(1)
	m.registry.MustRegister(build, Collector{c, g}, collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// Handler serves the metrics to whoever has the token, where there is one.
func (m *Metrics) Handler(
	token secret.Text, refuse func(w http.ResponseWriter, r *http.Request, err error),
) http.Handler {
	handler := promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sent, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		if token.IsSet() && !token.Equal(sent) {
			refuse(w, r, fault.New(fault.Unauthenticated, "send Authorization: Bearer <metrics token>"))
			return
		}
		handler.ServeHTTP(w, r)
	})
}
