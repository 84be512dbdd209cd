package api

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"writ/internal/api/route"
	"writ/internal/audit"
	"writ/internal/database"
	"writ/internal/enforcement"
	"writ/internal/forwarding"
	"writ/internal/verdict"
)

// storeCollector tells how busy each store is, by its name. One may be nil.
type storeCollector map[string]*database.DB

var (
	storeQueue = prometheus.NewDesc("writ_database_queue_length", "Changes waiting for the committer.",
		[]string{"store"}, nil)
	storeLog = prometheus.NewDesc("writ_database_log_bytes", "Size of the write-ahead log; SQLite only.",
		[]string{"store"}, nil)
)

// Describe tells the names of the metrics.
func (c storeCollector) Describe(to chan<- *prometheus.Desc) {
	to <- storeQueue
	to <- storeLog
}

// Collect tells the metrics.
func (c storeCollector) Collect(to chan<- prometheus.Metric) {
	for name, db := range c {
		if db == nil {
			continue
		}
		to <- prometheus.MustNewConstMetric(storeQueue, prometheus.GaugeValue, float64(db.QueueLength()), name)
		if db.Engine() == database.SQLite {
			to <- prometheus.MustNewConstMetric(storeLog, prometheus.GaugeValue, float64(db.LogBytes()), name)
		}
	}
}

// decisionCollector tells what this process decided.
type decisionCollector struct {
	enforcement *enforcement.Service
	failed      *atomic.Int64 // decisions that were asked for and came to no answer of enforcement
}

var (
	decisionsMade = prometheus.NewDesc("writ_decisions_total", "Decisions that this process recorded.",
		[]string{"decision"}, nil)
	decisionsUnrecorded = prometheus.NewDesc("writ_decisions_unrecorded_total",
		"Calls that this process denied because the decision could not be recorded.", nil, nil)
)

// Describe tells the names of the metrics.
func (c decisionCollector) Describe(to chan<- *prometheus.Desc) {
	to <- decisionsMade
	to <- decisionsUnrecorded
}

// Collect tells the metrics.
func (c decisionCollector) Collect(to chan<- prometheus.Metric) {
	counts := c.enforcement.Counts()
	for v, n := range counts.Recorded {
		to <- prometheus.MustNewConstMetric(decisionsMade, prometheus.CounterValue, float64(n),
			verdict.Verdict(v).String())
	}
	unrecorded := float64(counts.Unrecorded + c.failed.Load())
	to <- prometheus.MustNewConstMetric(decisionsUnrecorded, prometheus.CounterValue, unrecorded)
}

// observe notes an answer. Without a database not even the caller is known: nothing of enforcement runs then, and only
// the status says that a decision was refused.
func (m *metrics) observe(pattern string, status int, took time.Duration) {
	m.requests.WithLabelValues(pattern, strconv.Itoa(status)).Observe(took.Seconds())
	failed := status == http.StatusServiceUnavailable || status == http.StatusInternalServerError
	if failed && m.deciding[pattern] {
		m.undecided.Add(1)
	}
}

// watchDecisions has the failures of routes counted that decide about calls. What agents post to the MCP endpoint is
// mostly calls.
func (m *metrics) watchDecisions(routes []route.Route) {
	for _, r := range routes {
		posted := r.Mode == route.Agent && r.Method == http.MethodPost
		if posted || slices.Contains([]string{audit.Decided, audit.Verified}, r.Audit) {
			m.deciding[r.Method+" "+r.Path] = true
		}
	}
}

// forwardingCollector tells whose receivers do not take what is sent.
type forwardingCollector struct{ forwarding *forwarding.Service }

var forwardingFailing = prometheus.NewDesc("writ_forwarding_failing",
	"Organizations whose receiver of traces and decisions fails now.", nil, nil)

// Describe tells the name of the metric.
func (c forwardingCollector) Describe(to chan<- *prometheus.Desc) { to <- forwardingFailing }

// Collect tells the metric, unless the database does not answer: zero would read as
// if all were well.
func (c forwardingCollector) Collect(to chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), pendingTime)
	defer cancel()
	if failing, err := c.forwarding.Failing(ctx); err == nil {
		to <- prometheus.MustNewConstMetric(forwardingFailing, prometheus.GaugeValue, float64(failing))
	}
}
