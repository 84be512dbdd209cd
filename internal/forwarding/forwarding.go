// Package forwarding sends what an organization's agents did, and what was decided
// about it, to a collector of the organization: traces and decisions as spans of
// OpenTelemetry (OTLP over HTTP).
//
// Nothing is queued for it. Traces stand in telemetry in the order they arrived, and
// decisions in the log under a number each, durably and before anyone was answered.
// So what waits to be sent is what stands behind two positions, and sending writes
// nothing but these: ingest and decisions pay nothing, a collector that is down fills
// no disk, and a process that is killed goes on where the positions are.
//
//	telemetry  ─ ─ ─ ─ ─ ┬───────────────>     sent, position moved, in that order:
//	                 position   waits          a receiver sees each span at least once
//	log        ─ ─ ─ ─ ─ ─ ─ ─ ┬──────────>
//
// What waits longer than the organization's settings allow falls off: the positions
// are moved over it, and it is counted as lost, visibly. So does what a receiver
// refuses by itself, of which it was asked once more in ever smaller requests.
//
// One process sends for one organization at a time, under a lease; where it dies, the
// lease ends and another goes on. A receiver that does not answer is left alone for
// ever longer, or as long as it says.
//
// Endpoints are called through package outbound, which calls public addresses alone.
// Headers, which hold the receiver's key, are stored sealed, shown by their names, and
// bound to the endpoint's host: another host gets none that was set for this one.
package forwarding

import (
	"time"

	"writ/internal/fault"
	"writ/internal/secret"
	"writ/internal/telemetry"
)

// Content is how much of what agents read and wrote is sent.
type Content string

// The contents. Names of tools and models, times, tokens, cost and decisions are
// sent with each.
const (
	// None sends no attributes of clients, no arguments of calls, no addresses of
	// people and no reasons, which may quote arguments.
	None Content = "none"
	// Redacted sends them without what is known to be a secret.
	Redacted Content = "redacted"
	// Full sends attributes as they were received. Arguments of calls are stored
	// redacted, and so sent.
	Full Content = "full"
)

// Settings are what an organization chooses.
type Settings struct {
	Endpoint  string                 // a URL
	Headers   map[string]secret.Text // nil: as before
	Traces    bool
	Decisions bool
	Content   Content
	MaxAge    time.Duration // how long something may wait
	Enabled   bool
}

// Forwarding is where an organization's traces and decisions are sent.
type Forwarding struct {
	OrgID          string
	Endpoint       string
	HeaderNames    []string
	Traces         bool
	Decisions      bool
	Content        Content
	MaxAge         time.Duration
	Enabled        bool
	DisabledReason string // why it is not enabled, where no person did it
	CreatedAt      time.Time
	UpdatedAt      time.Time

	State

	sealedHeaders []byte
	revision      int64 // raised by every change by a person
}

// State is how far sending is.
type State struct {
	Position

	SentSpans     int64 // of traces
	SentDecisions int64
	Refused       int64 // spans and decisions that the receiver did not take
	LostTraces    int64 // that waited too long
	LostDecisions int64
	LostUntil     *time.Time // what was received before may be among them

	Attempts     int64      // that failed since the last success
	FailingSince *time.Time // nil: the last try succeeded, or there was none
	HTTPStatus   int        // of the last try; 0: no answer
	Problem      string     // of the last try
	SentAt       *time.Time // the last success
	RetryAt      time.Time  // not before
}

// Position is up to where everything was sent.
type Position struct {
	Trace    telemetry.Cursor // the last trace, or growth of one, of which all was sent
	Span     int64            // number of the last span of the next one that was sent, or nothingSent, or rootSent
	Decision int64            // index in the log of the first that was not sent
}

// Status is a forwarding with what waits.
type Status struct {
	Forwarding
	TracesSince    *time.Time // when the oldest that waits arrived; nil: none waits
	DecisionsSince *time.Time
	Lag            time.Duration // how long the oldest has waited
}

func notFound() error {
	return fault.New(fault.NotFound, "nothing is forwarded: no endpoint was set")
}
