// Package telemetry stores what agents did, as traces with their spans, sessions, tokens and cost, and answers queries
// about them.
//
// Ingest takes batches, each a trace with its spans. A batch is stored completely or not at all, can be queried once
// it is acknowledged, and counts once however often it is sent: the trace id is its idempotency key within the
// organization. A bad batch is rejected with its reason and harms no other.
//
// OpenTelemetry sends fragments instead: a trace grows, a span counts once by its id, and the root describes the
// trace, whenever it comes.
//
// Counts, sums and costs are exact at any size, and quantiles are within one percent, because every commit also
// updates hourly rollups (and minutes, for the present rate). The period of an aggregate begins at the full UTC hour
// at or before now minus its days. What a client dates in the future counts at its receipt.
//
// Every start of a process writes rollup rows of its own, so that replicas share no row. Readers add them up, and a
// job merges the old ones.
//
// Sessions are not created explicitly: they are seen in traces.
//
//	open ──session.end event (ok)────────> completed
//	open ──session.end event (not ok)────> error
//	completed, error ──later activity────> open
//
// An open session is shown as active, or as expired after a time without activity; nothing is written for that.
// Activity is the end (or start) of a trace, never later than its receipt. An event that arrives late changes nothing
// that came after it.
//
// Telemetry has a store of its own, so that large volumes never delay a decision.
package telemetry

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"writ/internal/database"
	"writ/internal/telemetry/decode"
)

// Types of package decode that callers use.
type (
	// Request is an ingest request, its batches not yet parsed.
	Request = decode.Request
	// Usage is tokens and what they cost.
	Usage = decode.Usage
	// ReportedUsage is the running total of one model in a session.
	ReportedUsage = decode.ReportedUsage
	// Fragment is what one request says about a trace that grows.
	Fragment = decode.Fragment
	// Prices say what tokens cost, for spans without a cost.
	Prices = decode.Prices
	// ModelPrice is what the tokens of a model cost.
	ModelPrice = decode.ModelPrice
)

// ParseRequest splits a request into its batches. Only what concerns the whole request is an error.
func ParseRequest(body []byte) (Request, error) { return decode.ParseRequest(body) }

// BuiltInPrices are the prices this program was built with.
func BuiltInPrices() *Prices { return decode.BuiltInPrices() }

// ParsePrices reads a price file.
func ParsePrices(text []byte) (*Prices, error) { return decode.ParsePrices(text) }

// Service stores and queries telemetry.
type Service struct {
	db     *database.DB // the telemetry store
	prices *Prices
	logger *slog.Logger
	idle   time.Duration // after which an open session expires
	keep   time.Duration // retention
	writer atomic.Pointer[writer]

	spanLimit  func(ctx context.Context, orgID string) (*int64, error)
	allCounted func(ctx context.Context, orgID string, at Position) (bool, error)

	tallies     database.PerTx[map[string]*tally] // by organization, written before the commit
	partitioned database.PerTx[map[int64]bool]    // the days whose partitions are there
	used        database.PerTx[map[string]int64]  // spans of this month that were stored before, by organization
}

type Config struct {
	Database    *database.DB
	Prices      *Prices
	Logger      *slog.Logger
	SessionIdle time.Duration
	Retention   time.Duration
	// SpanLimit is how many spans an organization may send in a month; nil: as many as it likes. Without it there are
	// no limits.
	SpanLimit func(ctx context.Context, orgID string) (*int64, error)
	// AllCounted reports whether an organization's log has no decision from a position on. Without it, a month is
	// closed only when a decision of a later one is counted.
	AllCounted func(ctx context.Context, orgID string, at Position) (bool, error)
}

// Prices returns the price table.
func (s *Service) Prices() *Prices { return s.prices }

// NewDown is the service of a store that could not be opened: it refuses everything as unavailable, until Reopen
// succeeds.
func NewDown(c Config) *Service { return newService(c) }

func newService(c Config) *Service {
	s := &Service{
		db:     c.Database,
		prices: c.Prices,
		logger: c.Logger,
		idle:   c.SessionIdle,
		keep:   c.Retention,

		spanLimit:  c.SpanLimit,
		allCounted: c.AllCounted,
	}
	s.writer.Store(&writer{keys: newKeys(0)})
	return s
}

// New opens the service, and reserves a number under which it writes rollups.
func New(ctx context.Context, c Config) (*Service, error) {
	s := newService(c)
	return s, s.reserveWriter(ctx, s.db)
}

// Reopen tries again to open the store of a service that is down.
func (s *Service) Reopen(ctx context.Context) error { return s.db.Reopen(ctx, s.reserveWriter) }

// writer is who writes rollups, and the keys of its rows.
type writer struct {
	id   int64
	keys *keys
}

func (s *Service) reserveWriter(ctx context.Context, db *database.DB) error {
	var id int64
	// Replicas that open at once take turns by this name.
	err := db.Write(ctx, database.Change{Logs: []string{"telemetry/writer"}, Do: func(
		ctx context.Context, tx *database.Tx,
	) error {
		return tx.QueryRow(ctx, `
			INSERT INTO writer (id, started_at, seen_at)
			SELECT COALESCE(MAX(id), 0) + 1, $1, $1 FROM writer
			RETURNING id`, database.Micros(tx.Now())).Scan(&id)
	}})
	if err != nil {
		return fmt.Errorf("open telemetry: %w", err)
	}
	s.writer.Store(&writer{id, newKeys(id)})
	return nil
}

// writerID is the number under which this process writes rollups.
func (s *Service) writerID() int64 { return s.writer.Load().id }

func (s *Service) keys() *keys { return s.writer.Load().keys }

// Ping checks that the store answers.
func (s *Service) Ping(ctx context.Context) error { return s.db.Ping(ctx) }
