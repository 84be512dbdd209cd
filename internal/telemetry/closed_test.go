package telemetry_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"writ/internal/database"
	"writ/internal/telemetry"
)

// counts are the agents of days and months, by organization and first day, as somebody counts who forgets no name.
type counts map[string]map[string]bool

func (c counts) add(orgID string, at time.Time, agent string) {
	for _, period := range []string{at.Format(time.DateOnly), at.Format("2006-01") + " in all"} {
		for _, of := range []string{orgID, "all"} {
			if key := of + " " + period; c[key] == nil {
				c[key] = map[string]bool{}
			}
			c[of+" "+period][orgID+agent] = true
		}
	}
}

// decideAll counts a decision about each agent, the next of the organization's log.
func (e *env) decideAll(orgID string, positions map[string]int64, at time.Time, agents ...string) {
	e.T.Helper()
	var decided []telemetry.Decided
	for _, agent := range agents {
		decided = append(decided, telemetry.Decided{At: at, Agent: agent, Verdict: "allow"})
	}
	from := telemetry.Position{Next: positions[orgID]}
	positions[orgID]++
	moved, err := e.Grow(e.T.Context(), orgID, from, telemetry.Position{Next: positions[orgID]}, nil, decided)
	if err != nil || !moved {
		e.T.Fatalf("count decisions: %v, %v", moved, err)
	}
}

func (e *env) wantAgents(when string, want counts, from time.Time) {
	e.T.Helper()
	for _, monthly := range []bool{false, true} {
		q := telemetry.MeteredQuery{From: from, Until: e.Now().Add(day), Monthly: monthly}
		form := map[bool]string{false: time.DateOnly, true: "2006-01 in all"}[monthly]
		for of, read := range map[string]func() ([]telemetry.Metered, error){
			orgA:  func() ([]telemetry.Metered, error) { return e.MeteredOf(e.T.Context(), orgA, q) },
			orgB:  func() ([]telemetry.Metered, error) { return e.MeteredOf(e.T.Context(), orgB, q) },
			"all": func() ([]telemetry.Metered, error) { return e.MeteredByAll(e.T.Context(), q) },
		} {
			periods, err := read()
			if err != nil {
				e.T.Fatal(err)
			}
			for _, p := range periods {
				key := of + " " + p.At.Format(form)
				if p.Agents != int64(len(want[key])) {
					e.T.Errorf("%s, %s: %d agents, want %d", when, key, p.Agents, len(want[key]))
				}
			}
		}
	}
}

// TestClosedMonthsKeepTheirNumbers, of months and days, and not the names that callers made up.
func TestClosedMonthsKeepTheirNumbers(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		begin, want, positions := e.Now(), counts{}, map[string]int64{}
		second := e.another(e.DB)
		for round := range 14 { // a week each
			for i, orgID := range []string{orgA, orgB} {
				if i == 1 && round > 5 {
					continue // nothing is decided there any more
				}
				agents := []string{"always", fmt.Sprint("week-", round), fmt.Sprint("often-", round%3)}
				e.decideAll(orgID, positions, e.Now(), agents...)
				for _, agent := range agents {
					want.add(orgID, e.Now(), agent)
				}
			}
			e.wantAgents(fmt.Sprint("in week ", round), want, begin)
			e.Pass(7 * day)
			e.retain()
			if err := second.MergeWriters(t.Context()); err != nil {
				t.Fatal(err)
			}
			e.wantAgents(fmt.Sprint("after week ", round), want, begin)
		}
		// The 21st of August: the last entry is of the 14th, so that July is closed. The other organization's log ends
		// in June, of which more could come.
		names := func(orgID string, until string) int64 {
			end, err := time.Parse(time.DateOnly, until)
			if err != nil {
				t.Fatal(err)
			}
			return e.Number(`SELECT count(*) FROM metered_agent WHERE org_id = $1 AND bucket < $2`, orgID, end.Unix()/3600)
		}
		if left := names(orgA, "2030-08-01"); left != 0 {
			t.Errorf("%d names of closed months are left", left)
		}
		if left := names(orgA, "2030-09-01"); left != 6 {
			t.Errorf("%d names of August, want 6", left)
		}
		if may, june := names(orgB, "2030-06-01"), names(orgB, "2030-07-01"); may != 0 || june == 0 {
			t.Errorf("of an organization that rests, %d names of May and %d of both months", may, june)
		}
		// A month that is closed stays as it was counted, whoever comes late.
		e.decideAll(orgA, positions, begin, "late")
		e.retain()
		e.wantAgents("after a late one", want, begin)
		e.decideAll(orgB, positions, e.Now(), "back")
		want.add(orgB, e.Now(), "back")
		e.retain()
		e.wantAgents("when it goes on", want, begin)
		if left := names(orgB, "2030-08-01"); left != 0 {
			t.Errorf("%d names of a month that is closed by now", left)
		}
	})
}

// TestMonthsStayOpen as long as decisions of theirs may be missing.
func TestMonthsStayOpen(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		positions := map[string]int64{}
		e.decideAll(orgA, positions, e.Now(), "one")
		left := func() int64 { return e.Number(`SELECT count(*) FROM metered_agent WHERE agent = 'one'`) }
		e.Pass(17 * day) // the first of June
		e.decideAll(orgA, positions, e.Now(), "two")
		e.retain()
		if left() != 1 {
			t.Error("closed a day after its end: another replica's clock may be behind")
		}
		e.setSince(1<<63 - 1) // earlier decisions are still to be counted
		e.Pass(3 * day)
		e.retain()
		if left() != 1 {
			t.Error("closed before earlier decisions are counted")
		}
		e.setSince(0)
		e.retain()
		if left() != 0 {
			t.Error("not closed")
		}
	})
}

// TestMonthsOfARestingOrganizationClose when nothing of its log is left to count.
func TestMonthsOfARestingOrganizationClose(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		left := map[string]bool{orgA: true}
		service := e.closing(func(_ context.Context, orgID string, at telemetry.Position) (bool, error) {
			if at.Next != 1 {
				t.Errorf("asked for what is left from %d on, want 1", at.Next)
			}
			return !left[orgID], nil
		})
		positions := map[string]int64{}
		e.decideAll(orgA, positions, e.Now(), "one", "two")
		names := func() int64 { return e.Number(`SELECT count(*) FROM metered_agent`) }
		for _, step := range []struct {
			name string
			pass int
			left bool
			want int64
		}{
			{"the month goes on", 1, false, 2},
			{"it is just over", 16, false, 2},
			{"not all is counted", 3, true, 2},
			{"all is counted", 0, false, 0},
		} {
			e.Pass(time.Duration(step.pass) * day)
			left[orgA] = step.left
			if _, err := service.Retain(t.Context(), false); err != nil || names() != step.want {
				t.Errorf("%s: %d names and %v, want %d", step.name, names(), err, step.want)
			}
		}
		want := counts{}
		want.add(orgA, noon, "one")
		want.add(orgA, noon, "two")
		e.wantAgents("closed", want, noon)
	})
}

// TestAMonthThatFailsStopsNoOther, and nothing that retention removes.
func TestAMonthThatFailsStopsNoOther(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		away := errors.New("the log is away")
		service := e.closing(func(_ context.Context, orgID string, _ telemetry.Position) (bool, error) {
			if orgID == orgA {
				return false, away
			}
			return true, nil
		})
		positions := map[string]int64{}
		e.decideAll(orgA, positions, e.Now(), "one")
		e.decideAll(orgB, positions, e.Now(), "two")
		e.accept(orgA, trace(newID(), e.Now(), inSession(newID()), generation(e.Now(), "m", 1)))
		e.Pass((keptDays + 2) * day)
		if _, err := service.Retain(t.Context(), false); !errors.Is(err, away) {
			t.Errorf("retention said %v", err)
		}
		for what, want := range map[string]int64{
			`metered_agent WHERE agent = 'one'`: 1, `metered_agent WHERE agent = 'two'`: 0, `session`: 0, `trace`: 0,
		} {
			if got := e.Number(`SELECT count(*) FROM ` + what); got != want {
				t.Errorf("%d rows of %s, want %d", got, what, want)
			}
		}
	})
}

// closing is a service that is told what of a log is counted.
func (e *env) closing(
	allCounted func(ctx context.Context, orgID string, at telemetry.Position) (bool, error),
) *telemetry.Service {
	e.T.Helper()
	service, err := telemetry.New(e.T.Context(), telemetry.Config{
		Database: e.DB, Prices: telemetry.BuiltInPrices(), Logger: slog.New(slog.NewTextHandler(e.log, nil)),
		SessionIdle: time.Hour, Retention: keptDays * day, AllCounted: allCounted,
	})
	if err != nil {
		e.T.Fatal(err)
	}
	return service
}

func (e *env) setSince(since int64) {
	e.T.Helper()
	err := e.DB.Write(e.T.Context(), database.Change{Do: func(ctx context.Context, tx *database.Tx) error {
		_, err := tx.Exec(ctx, `UPDATE projected SET counted_since = $1`, since)
		return err
	}})
	if err != nil {
		e.T.Fatal(err)
	}
}

// TestIndexingIsTheOrganizations: what others wait for is not told.
func TestIndexingIsTheOrganizations(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.accept(orgB, spansOf(1))
		want := func(when string, orgID string, want bool) {
			t.Helper()
			if got, err := e.Indexing(t.Context(), orgID); err != nil || got != want {
				t.Errorf("%s: %v, %v, want %v", when, got, err, want)
			}
		}
		want("a trace that just came", orgB, false)
		e.Pass(4 * time.Second)
		want("a trace that waits", orgB, true)
		want("another's trace waits", orgA, false)
		if err := e.IndexWords(t.Context()); err != nil {
			t.Fatal(err)
		}
		want("when it is indexed", orgB, false)
	})
}
