package telemetry_test

import (
	"fmt"
	"testing"
	"time"

	"writ/internal/telemetry"
)

// What a list shows, an aggregate of the same days counts. What retention will remove next is neither listed nor
// counted, whether it was received too long ago or only started then.
func TestListsShowWhatAggregatesCount(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *env) {
		store := func(start time.Time) {
			s.accept(orgA, trace(newID(), start, inSession(newID()), generation(start, "m", 1)))
		}
		store(s.Now())                        // received before the kept days
		store(s.Now().AddDate(0, 0, 60))      // likewise, and dated in the future
		s.Pass((keptDays + 5) * day)          // no job has removed them
		store(s.Now())                        // of now
		store(s.Now().AddDate(0, 0, -20))     // kept
		store(s.Now().AddDate(0, 0, -45))     // started before the kept days
		store(s.Now().Add(-(keptDays) * day)) // on the first kept day
		for days, want := range map[int]int64{1: 1, 7: 1, 29: 2, keptDays: 3, 60: 3, 90: 3} {
			if got := s.listed(days); got != fmt.Sprintf("%[1]d traces, %[1]d sessions, %[1]d tokens, %[1]d listed, "+
				"%[1]d sessions listed, %[1]d exported, %[1]d sessions exported", want) {
				t.Errorf("%d days: %s; want %d of each", days, got, want)
			}
		}
	})
}

// listed is how many traces and sessions each way of asking about the last days finds.
func (s *env) listed(days int) string {
	s.T.Helper()
	ctx := s.T.Context()
	sum, err := s.Summary(ctx, orgA, telemetry.Days(days))
	s.noError(err)
	traces, err := s.ListTraces(ctx, orgA, telemetry.TraceFilter{Days: days, Limit: 50})
	s.noError(err)
	sessions, err := s.ListSessions(ctx, orgA, telemetry.SessionFilter{Days: days, Limit: 50})
	s.noError(err)
	exported, err := s.ExportTraces(orgA, telemetry.TraceFilter{Days: days}, false)
	s.noError(err)
	traceLines, sessionLines := 0, 0
	for _, err := range exported.All(ctx) {
		s.noError(err)
		traceLines++
	}
	exportedSessions, err := s.ExportSessions(orgA, telemetry.SessionFilter{Days: days})
	s.noError(err)
	for _, err := range exportedSessions.All(ctx) {
		s.noError(err)
		sessionLines++
	}
	return fmt.Sprintf("%d traces, %d sessions, %d tokens, %d listed, %d sessions listed, %d exported, %d sessions exported",
		sum.Traces, sum.Sessions, sum.Usage.Input, len(traces.Items), len(sessions.Items), traceLines, sessionLines)
}

func (s *env) noError(err error) {
	s.T.Helper()
	if err != nil {
		s.T.Fatal(err)
	}
}
