package telemetry

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"writ/internal/database"
)

// Decided is a decision as it is counted: what the log says of it.
type Decided struct {
	At                  time.Time
	Index               int64 // in the log
	Agent, Server, Tool string
	Verdict             string
	DecidedBy, Rule     string
}

// Dimensions of counted decisions. Those by tool have the server as their part, denials the rule.
const (
	allDecisions dimension = "all"
	ofAgent      dimension = "agent"
	ofTool       dimension = "tool"
	denials      dimension = "denial"
)

type decisionKey struct {
	dimension  dimension
	item, part string
	bucket     int64
}

// Verdicts counts decisions by their verdict.
type Verdicts struct{ Allowed, Asked, Held, Denied int64 }

// Total counts all of them.
func (v Verdicts) Total() int64 { return v.Allowed + v.Asked + v.Held + v.Denied }

func (v Verdicts) add(o Verdicts) Verdicts {
	return Verdicts{v.Allowed + o.Allowed, v.Asked + o.Asked, v.Held + o.Held, v.Denied + o.Denied}
}

func verdictCount(verdict string) Verdicts {
	switch verdict {
	case "allow":
		return Verdicts{Allowed: 1}
	case "ask":
		return Verdicts{Asked: 1}
	case "hold":
		return Verdicts{Held: 1}
	}
	return Verdicts{Denied: 1}
}

type decisionCell struct {
	Verdicts
	last int64 // index of the latest
}

func (c *decisionCell) add(v Verdicts, last int64) {
	c.Verdicts, c.last = c.Verdicts.add(v), max(c.last, last)
}

// addDecisions counts decisions; by hour except for those before the first kept one.
func (t *tally) addDecisions(decisions []Decided, firstKept int64) {
	for i := range decisions {
		d := &decisions[i]
		v := verdictCount(d.Verdict)
		t.meterDecision(d, v)
		bucket := floor(database.Micros(d.At), hourMicros)
		if bucket < firstKept {
			continue
		}
		count := func(of dimension, item, part string) {
			cell(t.decisions, decisionKey{of, countable(item), countable(part), bucket}).add(v, d.Index)
		}
		count(allDecisions, "", "")
		count(ofAgent, d.Agent, "")
		count(ofTool, d.Tool, d.Server)
		if v.Denied > 0 {
			count(denials, d.DecidedBy, d.Rule)
		}
	}
}

// countable is a text of a client as decisions are counted by it.
func countable(text string) string {
	if !storable(text) {
		text = strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "\uFFFD")
	}
	return bounded(text)
}

func decisionRows(_ context.Context, w rollupWrite) (rows [][]any, err error) {
	keys := slices.SortedFunc(maps.Keys(w.decisions), func(a, b decisionKey) int {
		return cmp.Or(strings.Compare(string(a.dimension), string(b.dimension)), strings.Compare(a.item, b.item),
			strings.Compare(a.part, b.part), cmp.Compare(a.bucket, b.bucket))
	})
	for _, k := range keys {
		c := w.decisions[k]
		rows = append(rows, []any{w.orgID, string(k.dimension), k.item, k.part, k.bucket, w.writer,
			c.Allowed, c.Asked, c.Held, c.Denied, c.last})
	}
	return rows, nil
}

func addDecisionRow(t *tally, row database.Scanner) error {
	var k decisionKey
	var v Verdicts
	var last int64
	err := row.Scan(&k.dimension, &k.item, &k.part, &k.bucket, &v.Allowed, &v.Asked, &v.Held, &v.Denied, &last)
	cell(t.decisions, k).add(v, last)
	return err
}

// CountEarlier counts decisions that stand right before the counted ones of a log, newest first, and moves the
// organization's position back to an entry: 0 if no earlier one is kept. If someone else was first, it does nothing.
func (s *Service) CountEarlier(
	ctx context.Context, orgID string, at Position, back int64, decisions []Decided,
) (moved bool, err error) {
	since := int64(0)
	if back > 0 {
		since = database.Micros(decisions[len(decisions)-1].At) + 1
	}
	err = s.db.Write(ctx, database.Change{Do: func(ctx context.Context, tx *database.Tx) error {
		changed, err := tx.Exec(ctx, `
			UPDATE projected
			SET counted_from = $4, counted_since = $5
			WHERE org_id = $1 AND epoch = $2 AND counted_from = $3`, orgID, at.Epoch, at.Counted, back, since)
		if moved = changed == 1; err != nil || !moved {
			return err
		}
		s.tallyIn(tx, orgID).addDecisions(decisions, s.firstKeptDay()*24)
		return nil
	}})
	if err != nil {
		return false, fmt.Errorf("count earlier decisions: %w", err)
	}
	return moved, nil
}

// Kept reports whether retention keeps totals of a time.
func (s *Service) Kept(at time.Time) bool {
	return floor(database.Micros(at), hourMicros) >= s.firstKeptDay()*24
}
