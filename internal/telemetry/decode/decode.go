// Package decode reads what clients send to ingest. It is pure: it knows no database and no clock.
//
// A request is first split into its batches, leniently, because an error in one batch must not affect the others. Each
// batch is then read strictly into a trace with its spans, or rejected with the field and the reason, never with the
// value. What leaves here fits the columns it is stored in: ids are lower-case UUIDs, texts are valid UTF-8 without
// U+0000, numbers are within their limits.
//
// Attributes are stored as they were sent. What queries need of them (model, tokens, cost, tool, policy) is read into
// Facts. A generation whose cost is missing or 0 gets one from the price table.
package decode

// Limits of ingest.
const (
	MaxBatches  = 500 // in a request
	MaxSpans    = 500 // in a batch
	MaxName     = 200 // characters of a trace's or span's name
	MaxTokens   = 1e12
	MaxDuration = 1e12 // milliseconds
	MaxCost     = 1e9  // US dollars
	MaxText     = 500  // bytes of what queries group by: models, tools, policies, rules, agents
	MaxPreview  = 200  // characters
)

// Status of a trace or span.
const (
	StatusOK     = "ok"
	StatusError  = "error"
	StatusDenied = "denied"
)

// Kinds of spans that mean something here. Others are stored as they are.
const (
	KindGeneration = "generation"
	KindPolicyCall = "policy_call"
	KindEvent      = "event"
)
