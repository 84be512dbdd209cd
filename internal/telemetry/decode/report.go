package decode

import (
	"fmt"

	"writ/internal/fault"
)

// MaxEntries bounds one report of usage.
const MaxEntries = 1000

// ReportedUsage is the running total of one model in a session, as a client
// that sends no spans for it tells it.
type ReportedUsage struct {
	Model string
	Usage Usage // without cost, which the price table gives
}

// Report is the usage of a session's models, checked.
type Report struct {
	SessionID string
	Models    map[string]Usage
}

// CheckReport checks what a client reports and prices it. The last entry of a
// model wins.
func CheckReport(product, sessionID string, entries []ReportedUsage, prices *Prices) (Report, error) {
	c := &checker{}
	r := Report{SessionID: c.uuid("sessionId", sessionID, true), Models: map[string]Usage{}}
	c.text("product", product)
	if len(entries) > MaxEntries {
		c.fail("entries", "must be at most %d", MaxEntries)
	}
	for i, e := range entries {
		c.prefix = fmt.Sprintf("entries[%d].", i)
		c.required("model", e.Model)
		e.Usage.CostNanos = prices.CostOfMany(e.Model, e.Usage)
		r.Models[e.Model] = e.Usage
	}
	if c.bad != nil {
		return Report{}, fault.Field(c.bad.Field, "%s", c.bad.Reason)
	}
	return r, nil
}
