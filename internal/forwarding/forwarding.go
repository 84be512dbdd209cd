// Package forwarding sends an organization's traces and decisions to its collector, as OpenTelemetry spans (OTLP over
// HTTP).
//
// There is no queue. Traces are stored in the order they arrived and decisions under rising numbers, both before their
// client got an answer. What waits to be sent is what lies after two positions, and sending only moves these. So
// ingest and decisions pay nothing, a collector that is down fills no disk, and a killed process continues from the
// positions.
//
//	telemetry  ─ ─ ─ ─ ─ ┬───────────────>     sent, position moved, in that order:
//	                 position   waits          a receiver sees each span at least once
//	log        ─ ─ ─ ─ ─ ─ ─ ─ ┬──────────>
//
// What waits longer than the organization's settings allow is skipped and counted as lost. The same happens to a span
// that a receiver refuses; smaller and smaller requests find out which one it is.
//
// One process sends for an organization at a time, under a lease that another takes over when it ends. A receiver that
// does not answer is left alone for longer and longer, or for as long as it asks.
//
// Endpoints are called through package outbound, which calls only public addresses. Headers hold the receiver's key:
// they are stored sealed, only their names are shown, and they are never sent to another host than the one they were
// set for.
package forwarding

import (
	"time"

	"writ/internal/fault"
	"writ/internal/secret"
	"writ/internal/telemetry"
)

// Content is how much of what agents read and wrote is sent.
type Content string

// The contents. Names of tools and models, times, tokens, cost and decisions are always sent, but names without known
// secrets unless all is sent.
const (
	// None sends no client attributes, no arguments of calls, no mail addresses and no reasons, which may quote
	// arguments.
	None Content = "none"
	// Redacted sends them without known secrets.
	Redacted Content = "redacted"
	// Full sends names and attributes as they were received. Arguments of calls are stored redacted, and sent so.
	Full Content = "full"
)

// Settings are what an organization chooses.
type Settings struct {
	Endpoint  string                 // a URL
	Headers   map[string]secret.Text // nil: unchanged
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
	DisabledReason string // why it is disabled, if no person did it
	CreatedAt      time.Time
	UpdatedAt      time.Time

	State

	sealedHeaders []byte
	revision      int64 // raised by every change that a person makes
}

// State is how far sending has come.
type State struct {
	Position

	SentSpans     int64 // of traces
	SentDecisions int64
	Refused       int64 // spans and decisions that the receiver did not accept
	LostTraces    int64 // that waited too long
	LostDecisions int64
	LostUntil     *time.Time // lost items were received before

	Attempts     int64      // failed since the last success
	FailingSince *time.Time // nil: the last attempt succeeded, or there was none
	HTTPStatus   int        // of the last attempt; 0: no answer
	Problem      string     // of the last attempt
	SentAt       *time.Time // last success
	RetryAt      time.Time  // not before
}

// Position says up to where everything was sent.
type Position struct {
	Trace    telemetry.Cursor // the last trace, or growth of one, that was sent completely
	Span     int64            // number of the last span sent of the next trace, or nothingSent, or rootSent
	Decision int64            // log index of the first decision that was not sent
}

// Status is a forwarding with what waits.
type Status struct {
	Forwarding
	TracesSince    *time.Time // when the oldest waiting trace arrived; nil: none waits
	DecisionsSince *time.Time
	Lag            time.Duration // how long the oldest has waited
}

func notFound() error {
	return fault.New(fault.NotFound, "nothing is forwarded: no endpoint was set")
}
