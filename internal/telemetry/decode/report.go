package decode

import (
	"fmt"

	"writ/internal/fault"
)

// MaxEntries limits one report of usage.
const MaxEntries = 1000

// ReportedUsage is the running total of one model in a session, from a client that sends no spans for it.
type ReportedUsage struct {
	Model string
	Usage Usage // without cost, which comes from the price table
}

// Report is the checked usage of a session's models.
type Report struct {
	SessionID string
	Models    map[string]Usage
}

// CheckReport checks what a client reports and adds the cost. The last entry of a model wins.
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
