package api

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"writ/internal/approval"
)

// approvalCollector tells what happens to requests for approval: those of this
// process as counters, those that wait anywhere as it is now.
type approvalCollector struct {
	approvals *approval.Service
}

var (
	approvalsPending = prometheus.NewDesc("writ_approvals_pending",
		"Requests for approval that wait, of all organizations and replicas.", nil, nil)
	approvalsOpened = prometheus.NewDesc("writ_approvals_opened_total",
		"Requests for approval that this process opened.", nil, nil)
	approvalsDecided = prometheus.NewDesc("writ_approvals_decided_total",
		"Requests for approval that ended in this process, by how.", []string{"outcome"}, nil)
)

// outcomes are the events by which a request ends.
var outcomes = []approval.EventKind{
	approval.EventApproved, approval.EventRejected, approval.EventCancelled, approval.EventExpired,
}

// pendingTime is how long a scrape waits for the database.
const pendingTime = 2 * time.Second

// Describe tells the names of the metrics.
func (c approvalCollector) Describe(to chan<- *prometheus.Desc) {
	to <- approvalsPending
	to <- approvalsOpened
	to <- approvalsDecided
}

// Collect tells the metrics. What waits is left out while the database does not
// answer: zero would read as if all were well.
func (c approvalCollector) Collect(to chan<- prometheus.Metric) {
	counts := c.approvals.Counts()
	to <- prometheus.MustNewConstMetric(approvalsOpened, prometheus.CounterValue,
		float64(counts[approval.EventOpened]))
	for _, kind := range outcomes {
		to <- prometheus.MustNewConstMetric(approvalsDecided, prometheus.CounterValue, float64(counts[kind]),
			string(kind))
	}
	ctx, cancel := context.WithTimeout(context.Background(), pendingTime)
	defer cancel()
	if waiting, err := c.approvals.Waiting(ctx); err == nil {
		to <- prometheus.MustNewConstMetric(approvalsPending, prometheus.GaugeValue, float64(waiting))
	}
}
