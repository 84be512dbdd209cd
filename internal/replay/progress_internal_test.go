package replay

import (
	"context"
	"testing"
	"time"

	"writ/internal/testenv"
)

// TestProgressIsToldOnTheWay: whoever waits for a replay sees how far it is.
func TestProgressIsToldOnTheWay(t *testing.T) {
	t.Parallel()
	testenv.Each(t, func(t *testing.T, e *testenv.Env) {
		by, s := recordedOrganization(e), serviceOn(e.DB)
		job, err := s.Start(t.Context(), by, allowFew)
		if err != nil {
			t.Fatal(err)
		}
		s.renewEvery = 0
		var seen []int64
		s.rest = func(ctx context.Context, _ time.Duration) {
			now, err := s.Get(ctx, by, job.ID)
			if err != nil || now.State != Running || now.Total < decisions ||
				now.Done < int64(len(seen)+1)*slice && now.Done != now.Total {
				t.Errorf("after %d slices: %+v, %v", len(seen)+1, now, err)
			}
			seen = append(seen, now.Done)
		}
		if err := s.Work(t.Context()); err != nil {
			t.Fatal(err)
		}
		if len(seen) != 3 || seen[0] >= seen[1] || seen[1] >= seen[2] {
			t.Errorf("progress: %v, want more after each of three slices", seen)
		}
		if job, err = s.Get(t.Context(), by, job.ID); err != nil || job.State != Done || job.Done != job.Total ||
			job.Report == nil {
			t.Errorf("at the end: %+v, %v", job, err)
		}
	})
}
