// Package telemetry keeps what agents did: traces with their spans, the
// sessions they belong to, tokens and cost; and answers questions about them.
//
// Ingest takes batches, each a trace with its spans. A batch is whole or absent,
// is queryable when it is acknowledged, and counts once however often it is sent:
// the trace id is its idempotency key within the organization. A bad batch is
// rejected with its reason and harms no other.
//
// What OpenTelemetry sends comes in fragments instead: a trace grows, a span counts
// once by its id, and the root says what the trace is, whenever it comes.
//
// Counts, sums and costs are exact at any size and quantiles are within one per
// cent, because every commit also keeps hourly rollups (and minutes, for the
// present rate). An aggregate's period begins at the full UTC hour at or before
// now minus its days; what a client dates in the future counts at its receipt.
//
// Every run of a process writes rollup rows of its own, so that replicas share no
// row; readers add them up, and a job merges those of the past.
//
// A session is not created by anyone: it is seen in traces.
//
//	open ──session.end event (ok)────────> completed
//	open ──session.end event (not ok)────> error
//	completed, error ──later activity────> open
//
// While open it is active, and expired after a time without activity, by the
// clock alone: nothing is written. Activity is the end (or start) of a trace, never
// later than its receipt. An event that arrives late changes nothing that came
// after it.
//
// Telemetry lives in a store of its own, so that bulk never delays a decision.
package telemetry

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"writ/internal/database"
	"writ/internal/telemetry/decode"
)

// What callers know of the intake, by the names of this area.
type (
	// Request is an ingest request, its batches not looked at yet.
	Request = decode.Request
	// Usage is tokens and what they cost.
	Usage = decode.Usage
	// ReportedUsage is the running total of one model in a session.
	ReportedUsage = decode.ReportedUsage
	// Fragment is what one request tells of a trace that grows.
	Fragment = decode.Fragment
	// Prices tell what tokens cost, for spans that do not say so themselves.
	Prices = decode.Prices
	// ModelPrice is what the tokens of a model cost.
	ModelPrice = decode.ModelPrice
)

// ParseRequest splits a request into its batches. Only what concerns the whole
// is an error.
func ParseRequest(body []byte) (Request, error) { return decode.ParseRequest(body) }

// BuiltInPrices are the prices this program was built with.
func BuiltInPrices() *Prices { return decode.BuiltInPrices() }

// ParsePrices reads a price file.
func ParsePrices(text []byte) (*Prices, error) { return decode.ParsePrices(text) }

// Service is the area's one entry.
type Service struct {
	db       *database.DB // the telemetry store
	prices   *Prices
	logger   *slog.Logger
	idle     time.Duration // after which an open session is expired
	keep     time.Duration // retention
	writerID int64
	keys     *keys

	tallies     database.PerTx[map[string]*tally] // by organization, written before the commit
	partitioned database.PerTx[map[int64]bool]    // the days whose partitions are there
}

// Config is what the service needs.
type Config struct {
	Database    *database.DB
	Prices      *Prices
	Logger      *slog.Logger
	SessionIdle time.Duration
	Retention   time.Duration
}

// Prices are those that spans without a cost of their own are charged by.
func (s *Service) Prices() *Prices { return s.prices }

// New opens the service: it takes a number of its own to write rollups under.
func New(ctx context.Context, c Config) (*Service, error) {
	s := &Service{
		db:     c.Database,
		prices: c.Prices,
		logger: c.Logger,
		idle:   c.SessionIdle,
		keep:   c.Retention,
	}
	// Two replicas that open at once take turns by this name.
	err := s.db.Write(ctx, database.Change{Logs: []string{"telemetry/writer"}, Do: func(
		ctx context.Context, tx *database.Tx,
	) error {
		return tx.QueryRow(ctx, `
			INSERT INTO writer (id, started_at, seen_at)
			SELECT COALESCE(MAX(id), 0) + 1, $1, $1 FROM writer
			RETURNING id`, database.Micros(tx.Now())).Scan(&s.writerID)
	}})
	if err != nil {
		return nil, fmt.Errorf("open telemetry: %w", err)
	}
	s.keys = newKeys(s.writerID)
	return s, nil
}
