package forwarding_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"writ/internal/database"
)

// TestAClockThatIsSetBack has a lease and a pause end although they were written by a
// clock that was a day ahead.
func TestAClockThatIsSetBack(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		w.advance(24 * time.Hour)
		w.put(w.settings())
		want := decided(w.decide(1))
		w.receiver.become(http.StatusServiceUnavailable, "Retry-After", "60")
		w.rest()
		w.write(func(ctx context.Context, tx *database.Tx) error {
			_, err := tx.Exec(ctx, `UPDATE forwarding SET lease_holder = 'killed', lease_until = $2 WHERE org_id = $1`,
				w.org, database.Micros(tx.Now().Add(time.Minute)))
			return err
		})
		w.receiver.become(0)
		w.rest()
		w.wantNames("while the clock is right", nil)
		w.clock.Store(database.Micros(noon))
		w.rest()
		w.wantNames("after it was set back", want)
	})
}
