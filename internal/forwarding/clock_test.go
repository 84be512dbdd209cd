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
	each(t, func(t *testing.T, e *env) {
		e.Pass(24 * time.Hour)
		e.put(e.settings())
		want := decided(e.decide(1))
		e.receiver.become(http.StatusServiceUnavailable, "Retry-After", "60")
		e.rest()
		e.write(func(ctx context.Context, tx *database.Tx) error {
			_, err := tx.Exec(ctx, `UPDATE forwarding SET lease_holder = 'killed', lease_until = $2 WHERE org_id = $1`,
				e.org, database.Micros(tx.Now().Add(time.Minute)))
			return err
		})
		e.receiver.become(0)
		e.rest()
		e.wantNames("while the clock is right", nil)
		e.Set(noon)
		e.rest()
		e.wantNames("after it was set back", want)
	})
}
