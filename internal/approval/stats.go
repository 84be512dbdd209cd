package approval

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/principal"
)

// Limits of the period of statistics.
const (
	MaxPeriod     = 92 * 24 * time.Hour
	defaultPeriod = 30 * 24 * time.Hour
)

// quickApproval is too short a time to read what one approves.
const quickApproval = 2 * time.Second

// Period is a time that ends before Until. Where Until is zero it is now, where
// From is zero it is thirty days before that.
type Period struct{ From, Until time.Time }

// Stats say how an organization answers requests: whether people keep up, and whether
// they still read. All are exact, over answers given in the period.
type Stats struct {
	Period
	Opened    int // requests, in the period
	Waiting   int // requests, now
	Approved  int // requests that people approved
	Rejected  int
	Cancelled int
	Expired   int // nobody answered
	Covered   int // answered by a standing approval
	// MedianTime is from the request to its answer by people; nil: they answered none.
	MedianTime *time.Duration
	// ShareApproved is of those that people answered; nil: they answered none.
	ShareApproved  *float64
	QuickApprovals int        // within two seconds
	Approvers      []Approver // by their ids
}

// Approver is how one person answers. Their approval counts even if more approvers were
// needed.
type Approver struct {
	UserID         string
	Approved       int
	Rejected       int
	QuickApprovals int
	MedianTime     time.Duration
	ShareApproved  float64
}

// Stats are those of the caller's organization, for those who may answer its requests.
func (s *Service) Stats(ctx context.Context, p principal.Principal, over Period) (Stats, error) {
	if p.Kind != principal.User || p.OrgID == "" {
		return Stats{}, fault.New(fault.Forbidden, "only a person may see how approvals are answered")
	}
	if err := p.Require(principal.DecideApprovals); err != nil {
		return Stats{}, err
	}
	now := s.db.Now()
	over, err := over.complete(now)
	if err != nil {
		return Stats{}, err
	}
	f := Stats{Period: over}
	if err := f.readCounts(ctx, s.db, p.OrgID, now); err != nil {
		return Stats{}, err
	}
	if err := f.readMedian(ctx, s.db, p.OrgID); err != nil {
		return Stats{}, err
	}
	if f.Approvers, err = readApprovers(ctx, s.db, p.OrgID, over); err != nil {
		return Stats{}, err
	}
	for _, a := range f.Approvers {
		f.QuickApprovals += a.QuickApprovals
	}
	if answered := f.Approved + f.Rejected; answered > 0 {
		share := float64(f.Approved) / float64(answered)
		f.ShareApproved = &share
	}
	return f, nil
}

// complete fills in what is not stated, and refuses what is too long to count.
func (p Period) complete(now time.Time) (Period, error) {
	if p.Until.IsZero() {
		p.Until = now
	}
	if p.From.IsZero() {
		p.From = p.Until.Add(-defaultPeriod)
	}
	switch {
	case !p.From.Before(p.Until):
		return Period{}, fault.Field("since", "must be earlier than before")
	case p.Until.Sub(p.From) > MaxPeriod:
		return Period{}, fault.Field("since", "must be at most %d days earlier than before", int(MaxPeriod.Hours()/24))
	}
	return p, nil
}

// opened bounds when the requests answered in the period were opened, for an index: none
// waits longer than MaxLife.
func (p Period) opened() (from, until int64) {
	return database.Micros(p.From.Add(-MaxLife)), database.Micros(p.Until)
}

func (f *Stats) readCounts(ctx context.Context, r database.Reader, orgID string, now time.Time) error {
	openedFrom, until := f.opened()
	err := r.QueryRow(ctx, `
		SELECT
			COUNT(CASE WHEN created_at >= $4 THEN 1 END),
			COUNT(CASE WHEN status = 'approved' AND covered_by = '' AND decided_at >= $4 AND decided_at < $3 THEN 1 END),
			COUNT(CASE WHEN status = 'rejected' AND decided_at >= $4 AND decided_at < $3 THEN 1 END),
			COUNT(CASE WHEN status = 'cancelled' AND decided_at >= $4 AND decided_at < $3 THEN 1 END),
			COUNT(CASE WHEN (status = 'expired' OR status = 'pending' AND expires_at <= $5) AND expires_at >= $4 AND expires_at < $3 THEN 1 END),
			COUNT(CASE WHEN covered_by <> '' AND decided_at >= $4 AND decided_at < $3 THEN 1 END)
		FROM approval_request
		WHERE org_id = $1 AND created_at >= $2 AND created_at < $3`,
		orgID, openedFrom, until, database.Micros(f.From), database.Micros(now)).
		Scan(&f.Opened, &f.Approved, &f.Rejected, &f.Cancelled, &f.Expired, &f.Covered)
	if err != nil {
		return fmt.Errorf("count the answers of organization %s: %w", orgID, err)
	}
	err = r.QueryRow(ctx, `
		SELECT COUNT(*)
		FROM approval_request
		WHERE org_id = $1 AND status = 'pending' AND expires_at > $2`, orgID, database.Micros(now)).Scan(&f.Waiting)
	return database.Wrap(err, "count pending requests of organization %s", orgID)
}

// readMedian takes the one or two in the middle of all times.
func (f *Stats) readMedian(ctx context.Context, r database.Reader, orgID string) error {
	openedFrom, until := f.opened()
	var lower, upper sql.NullInt64
	err := r.QueryRow(ctx, `
		SELECT MIN(took), MAX(took)
		FROM (
			SELECT decided_at - created_at AS took,
				ROW_NUMBER() OVER (ORDER BY decided_at - created_at) AS place, COUNT(*) OVER () AS answers
			FROM approval_request
			WHERE org_id = $1 AND created_at >= $2 AND created_at < $3 AND decided_at >= $4 AND decided_at < $3
				AND status IN ('approved', 'rejected') AND covered_by = ''
		) ranked
		WHERE place = (answers + 1) / 2 OR place = (answers + 2) / 2`,
		orgID, openedFrom, until, database.Micros(f.From)).Scan(&lower, &upper)
	if err != nil {
		return fmt.Errorf("find the median time of organization %s: %w", orgID, err)
	}
	if lower.Valid {
		median := middle(lower.Int64, upper.Int64)
		f.MedianTime = &median
	}
	return nil
}

// middle is the time between two, which are in microseconds.
func middle(lower, upper int64) time.Duration {
	return (time.Duration(lower) + time.Duration(upper)) * time.Microsecond / 2
}

// readApprovers counts approvals and rejections by person.
func readApprovers(ctx context.Context, r database.Reader, orgID string, over Period) ([]Approver, error) {
	openedFrom, until := over.opened()
	approvers, err := database.Collect(ctx, r, scanApprover, `
		SELECT approver, COUNT(*), COUNT(CASE WHEN approved = 1 THEN 1 END),
			COUNT(CASE WHEN approved = 1 AND took < $5 THEN 1 END),
			MIN(CASE WHEN place = (answers + 1) / 2 THEN took END), MAX(CASE WHEN place = (answers + 2) / 2 THEN took END)
		FROM (
			SELECT approver, approved, took,
				ROW_NUMBER() OVER (PARTITION BY approver ORDER BY took) AS place,
				COUNT(*) OVER (PARTITION BY approver) AS answers
			FROM (
				SELECT v.user_id AS approver, 1 AS approved, v.created_at - r.created_at AS took
				FROM approval_request r
				JOIN approval_vote v ON v.request_id = r.id
				WHERE r.org_id = $1 AND r.created_at >= $2 AND r.created_at < $3 AND v.created_at >= $4 AND v.created_at < $3
				UNION ALL
				SELECT decided_by, 0, decided_at - created_at
				FROM approval_request
				WHERE org_id = $1 AND created_at >= $2 AND created_at < $3 AND decided_at >= $4 AND decided_at < $3
					AND status = 'rejected' AND decided_by <> ''
			) answered
		) ranked
		GROUP BY approver
		ORDER BY approver`,
		orgID, openedFrom, until, database.Micros(over.From), quickApproval.Microseconds())
	return approvers, database.Wrap(err, "count the answers of organization %s by person", orgID)
}

func scanApprover(s database.Scanner) (a Approver, err error) {
	var answers int
	var lower, upper int64
	if err := s.Scan(&a.UserID, &answers, &a.Approved, &a.QuickApprovals, &lower, &upper); err != nil {
		return Approver{}, err
	}
	a.Rejected, a.MedianTime = answers-a.Approved, middle(lower, upper)
	a.ShareApproved = float64(a.Approved) / float64(answers)
	return a, nil
}
