// Package projection shows Writ's own decisions in telemetry.
//
// A decision is stored once, as an entry of its organization's log. The Projector follows
// the logs of organizations from where it stopped, a slice at a time, and writes each
// decision as a policy_call span into the telemetry store, the one source of the
// statistics of policies. It takes what this process has just recorded from memory, and
// reads the rest from the log.
//
// Each decision is written once: the telemetry store holds the position in each log, and
// the transaction that writes the spans moves it. Any replica may do that; of two at once
// one finds that the position has moved, and writes nothing.
//
// Spans share a trace per plan or, without a plan, per agent and hour: one trace a decision
// would drown what agents themselves report. A plan that is used on two days (UTC) has a
// trace for each, because retention removes whole days. Such a trace grows.
//
// Telemetry lags behind decisions by the interval at which Run is called, and no decision
// needs it.
package projection

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"writ/internal/audit"
	"writ/internal/database"
	"writ/internal/decision"
	"writ/internal/telemetry"
)

// slice is how many decisions one change of telemetry takes.
const slice = 500

// Projector follows the logs of all organizations. Run is for one goroutine.
type Projector struct {
	db        *database.DB // with the decisions
	telemetry *telemetry.Service
	recent    *decision.Recent // need not be read again
	seen      map[string]int64 // size of a log without further decisions
	complete  atomic.Int64     // until when all decisions are written, in microseconds
}

// New makes a projector from the main store to telemetry.
func New(db *database.DB, telemetry *telemetry.Service, recent *decision.Recent) *Projector {
	p := &Projector{db: db, telemetry: telemetry, recent: recent, seen: map[string]int64{}}
	p.complete.Store(database.Micros(db.Now()))
	return p
}

// Behind is how far telemetry may lag behind decisions: the time since this process last
// began a run that reached the end of every log.
func (p *Projector) Behind() time.Duration {
	return max(0, p.db.Now().Sub(database.Time(p.complete.Load())))
}

// Run writes the decisions that are not in telemetry yet. A log that fails does not stop
// the others.
func (p *Projector) Run(ctx context.Context) error {
	began, all := p.db.Now(), true
	var failed []error
	heads, err := audit.ReadHeads(ctx, p.db)
	if err != nil {
		return err
	}
	positions, err := p.telemetry.Positions(ctx)
	if err != nil {
		return err
	}
	for _, head := range heads {
		if head.Log == audit.System || p.seen[head.Log] == head.Size {
			continue
		}
		end, err := p.follow(ctx, head, positions[head.Log])
		if err != nil {
			failed = append(failed, fmt.Errorf("project the decisions of %s: %w", head.Log, err))
		}
		all = all && end && err == nil
	}
	if all {
		p.complete.Store(database.Micros(began))
	}
	return errors.Join(failed...)
}

// follow writes the decisions of one log from a position on, and reports whether it
// reached the end: it stops if another replica is writing them.
func (p *Projector) follow(ctx context.Context, head audit.Head, at telemetry.Position) (end bool, err error) {
	for {
		next, err := rewound(ctx, p.db, head, at)
		if err != nil {
			return false, err
		}
		decisions, err := p.decisions(ctx, head, next.Next)
		if err != nil {
			return false, err
		}
		if len(decisions) == 0 {
			done, err := p.countEarlier(ctx, head.Log, at)
			if done {
				p.seen[head.Log] = head.Size
			}
			return true, err
		}
		next.Next = decisions[len(decisions)-1].Index + 1
		moved, err := p.telemetry.Grow(ctx, head.Log, at, next, traces(decisions), counted(decisions))
		if err != nil || !moved {
			return false, err
		}
		at = next
	}
}

// AllCounted reports whether the log of an organization has no decision from a position on: none that is made before
// the log is read here is missing in telemetry.
func AllCounted(ctx context.Context, r database.Reader, orgID string, at telemetry.Position) (bool, error) {
	head, err := audit.ReadHead(ctx, r, audit.LogOf(orgID))
	if err != nil {
		return false, err
	}
	next, err := rewound(ctx, r, head, at)
	if err != nil {
		return false, err
	}
	left, err := audit.ReadDecisions(ctx, r, audit.LogOf(orgID), next.Next, 1)
	return err == nil && len(left) == 0, err
}

// decisions are the next ones of a log: those this process has just recorded, else those
// it reads.
func (p *Projector) decisions(ctx context.Context, head audit.Head, next int64) ([]decision.Record, error) {
	if recent := p.recent.Take(head, next, slice); len(recent) > 0 {
		return recent, nil
	}
	return decision.Read(ctx, p.db, head.Log, next, slice)
}

// rewound is a position in the present epoch of the log. A restored log has other
// decisions from there on than those in telemetry.
func rewound(
	ctx context.Context, r database.Reader, head audit.Head, at telemetry.Position,
) (telemetry.Position, error) {
	if at.Epoch == head.Epoch {
		return at, nil
	}
	restored, err := audit.LastRestore(ctx, r, head.Log)
	return telemetry.Position{
		Next: min(at.Next, restored), Epoch: head.Epoch, Counted: min(at.Counted, restored),
	}, err
}

// traces groups decisions of one organization, in the order in which their traces
// first appear.
func traces(decisions []decision.Record) []telemetry.GrowingTrace {
	var grouped []telemetry.GrowingTrace
	index := map[origin]int{}
	names := namesOf(decisions[0].OrgID)
	for i := range decisions {
		d := &decisions[i]
		from := originOf(d)
		at, ok := index[from]
		if !ok {
			at = len(grouped)
			index[from] = at
			grouped = append(grouped, telemetry.GrowingTrace{
				ID:      names.trace(from),
				Name:    "writ.plan",
				Source:  "writ",
				UserID:  ifID(d.UserID),
				AgentID: d.AgentID,
			})
		}
		grouped[at].Spans = append(append(grouped[at].Spans, span(names, d)), shadowSpans(names, d)...)
	}
	return grouped
}
