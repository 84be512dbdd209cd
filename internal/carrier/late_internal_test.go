package carrier

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"writ/internal/execution"
	"writ/internal/fault"
	"writ/internal/principal"
)

// lates are latecomers whose work runs only when a test says so, and what they have recorded.
type lates struct {
	*latecomers
	recorded []string
	fail     map[string]error // by decision
}

func newLates(t *testing.T) *lates {
	t.Helper()
	l := &lates{latecomers: newLatecomers(nil, slog.New(slog.DiscardHandler)), fail: map[string]error{}}
	l.end()
	l.record = func(_ context.Context, r lateReport) error {
		id := r.report.DecisionID
		if err := l.fail[id]; err != nil {
			return err
		}
		l.recorded = append(l.recorded, id)
		return nil
	}
	return l
}

func late(org, decision string) lateReport {
	return lateReport{principal.Principal{OrgID: org}, execution.Carried{DecisionID: decision, Tool: "pay"}}
}

func (l *lates) want(t *testing.T, recorded string, waiting int) {
	t.Helper()
	if got := strings.Join(l.recorded, " "); got != recorded || len(l.waiting) != waiting {
		t.Errorf("recorded %q and %d wait, want %q and %d", got, len(l.waiting), recorded, waiting)
	}
}

// TestOneReportHoldsUpNoOther: what can never be recorded is given up, and what cannot be now waits alone.
func TestOneReportHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	l := newLates(t)
	l.fail["refused"] = fmt.Errorf("report: %w", fault.New(fault.Invalid, "it names no tool"))
	l.fail["broken"] = errors.New("a constraint")
	l.fail["away 1"] = fault.New(fault.Unavailable, "the log is refused")
	for _, r := range []lateReport{
		late("a", "refused"), late("a", "broken"), late("a", "1"),
		late("b", "away 1"), late("b", "away 2"), late("c", "2"),
	} {
		l.add(r)
	}
	if l.flush(t.Context()) {
		t.Error("nothing is said to wait")
	}
	l.want(t, "1 2", 3) // broken, away 1, and away 2 behind it
	clear(l.fail)
	if !l.flush(t.Context()) {
		t.Error("something still waits")
	}
	l.want(t, "1 2 broken away 1 away 2", 0)
	if l.bytes != 0 {
		t.Errorf("%d bytes wait", l.bytes)
	}
}

// TestReportsThatComeMeanwhileAreKept adds one while another is recorded.
func TestReportsThatComeMeanwhileAreKept(t *testing.T) {
	t.Parallel()
	l := newLates(t)
	l.add(late("a", "1"))
	record := l.record
	l.record = func(ctx context.Context, r lateReport) error {
		if r.report.DecisionID == "1" {
			l.add(late("a", "2"))
		}
		return record(ctx, r)
	}
	if l.flush(t.Context()) {
		t.Error("nothing is said to wait")
	}
	l.want(t, "1", 1)
	l.flush(t.Context())
	l.want(t, "1 2", 0)
}

// TestCloseRecordsWhatWaits, whatever a worker would still have waited for.
func TestCloseRecordsWhatWaits(t *testing.T) {
	t.Parallel()
	l := newLates(t)
	l.add(late("a", "1"))
	l.close()
	l.want(t, "1", 0)
}

// TestAReportAfterCloseIsGivenUp and does not wait for nobody.
func TestAReportAfterCloseIsGivenUp(t *testing.T) {
	t.Parallel()
	l := newLates(t)
	var said strings.Builder
	l.logger = slog.New(slog.NewTextHandler(&said, nil))
	l.close()
	l.add(late("a", "1"))
	l.want(t, "", 0)
	if line := said.String(); !strings.Contains(line, "the outcome of a call is lost") ||
		!strings.Contains(line, "decision=1") {
		t.Errorf("it says %q", said.String())
	}
}

// TestWaitingReportsAreLimited by their number and by their bytes, and there is room again when some are recorded.
func TestWaitingReportsAreLimited(t *testing.T) {
	t.Parallel()
	l := newLates(t)
	for range maxLate + 1 {
		l.add(late("a", "small"))
	}
	if len(l.waiting) != maxLate {
		t.Errorf("%d wait, want %d", len(l.waiting), maxLate)
	}
	l = newLates(t)
	large := late("a", "large")
	large.report.Output = jsontext.Value(strings.Repeat("x", 8<<20))
	for range 20 {
		l.add(large)
	}
	if len(l.waiting) != 7 || l.bytes > maxLateBytes {
		t.Errorf("%d reports of %d bytes wait", len(l.waiting), l.bytes)
	}
	l.flush(t.Context())
	l.add(large)
	l.want(t, strings.TrimSpace(strings.Repeat("large ", 7)), 1)
}

// TestWhatIsGivenUpIsForgotten: nothing stays of reports that are never made.
func TestWhatIsGivenUpIsForgotten(t *testing.T) {
	t.Parallel()
	l := newLates(t)
	var forgotten []string
	l.forget = func(id string) { forgotten = append(forgotten, id) }
	l.fail["refused"] = fault.New(fault.Invalid, "it names no tool")
	l.add(late("a", "refused"))
	l.flush(t.Context())
	huge := late("a", "huge")
	huge.report.Output = make(jsontext.Value, maxLateBytes)
	l.add(huge)
	if got := strings.Join(forgotten, " "); got != "refused huge" {
		t.Errorf("forgotten: %s", got)
	}
}
