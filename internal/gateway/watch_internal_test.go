package gateway

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"writ/internal/principal"
)

// awayDecisions are of a server that answers nobody.
type awayDecisions struct{ Decisions }

func (awayDecisions) RefuseCaller(context.Context, principal.Principal, string) error {
	return errors.New("the server is away")
}

// TestTroubleIsReportedOnceAMinute: while a server is away every look fails.
func TestTroubleIsReportedOnceAMinute(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newAsking(t)
		s.used, s.g.IdleTime, s.g.Decisions = time.Now(), time.Hour, awayDecisions{}
		ctx, stop := context.WithTimeout(t.Context(), 150*time.Second)
		defer stop()
		reports := 0
		s.g.Run(ctx, func(error) { reports++ })
		if reports != 3 {
			t.Errorf("%d reports in two and a half minutes", reports)
		}
	})
}
