package throttle

import (
	"context"
	"fmt"
	"time"

	"writ/internal/database"
	"writ/internal/fault"
)

const day = 24 * time.Hour

// Daily is a limit of what costs money elsewhere: so many a day (in UTC) for one
// organization, and ten times as many for all together, so that making new
// organizations does not get around it.
type Daily struct {
	Name    string
	PerDay  int
	Setting string // the operator's, which bounds it; empty: none
}

// TakeDaily counts a use by an organization and is a TooMany fault when the limit of the
// day is reached. The counters carry the end of their day: Sweep leaves them until then.
func (l *Limiter) TakeDaily(ctx context.Context, limit Daily, orgID string) error {
	mine, all := subject(limit.Name, "day", orgID), subject(limit.Name, "day")
	var end time.Time
	spent := false
	err := l.db.Write(ctx, database.Change{Logs: []string{throttleLock}, Do: func(
		ctx context.Context, tx *database.Tx,
	) error {
		end = tx.Now().Truncate(day).Add(day)
		n, err := hit(ctx, tx, mine, end)
		if spent = n > limit.PerDay; err != nil || spent {
			return err // what an organization is refused is not counted for all
		}
		n, err = hit(ctx, tx, all, end)
		spent = n > limit.PerDay*manyAccounts
		return err
	}})
	if err != nil {
		return fmt.Errorf("count a use of %s: %w", limit.Name, err)
	}
	if !spent {
		return nil
	}
	bound := ""
	if limit.Setting != "" {
		bound = " (" + limit.Setting + ")"
	}
	refusal := fault.New(fault.TooMany, "the uses of this day are spent%s; there are more tomorrow (UTC)", bound)
	refusal.RetryAfter = end.Sub(l.db.Now())
	return refusal
}
