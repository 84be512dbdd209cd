package organization

import (
	"context"
	"slices"
	"time"

	"writ/internal/database"
	"writ/internal/fault"
)

// Seats are members. How many there were at once on each day is counted in the change that adds or removes one, so
// that it stays exact whatever comes later.

const dayMicros = int64(24 * time.Hour / time.Microsecond)

// countSeats notes how many members there are after a change by so many.
func countSeats(ctx context.Context, tx *database.Tx, orgID string, change int64) error {
	now, err := seatsIn(ctx, tx, orgID)
	if err != nil {
		return err
	}
	return storeSeats(ctx, tx, orgID, now-change, now)
}

func storeSeats(ctx context.Context, tx *database.Tx, orgID string, before, now int64) error {
	_, err := tx.Exec(ctx, `
		INSERT INTO seat_day (org_id, day, most, last) VALUES ($1, $2, $3, $4)
		ON CONFLICT (org_id, day) DO UPDATE SET
			most = CASE WHEN excluded.last > seat_day.most THEN excluded.last ELSE seat_day.most END, last = excluded.last`,
		orgID, database.Micros(tx.Now())/dayMicros, max(before, now), now)
	return database.Wrap(err, "count the members of %s", orgID)
}

func seatsIn(ctx context.Context, r database.Reader, orgID string) (n int64, err error) {
	err = r.QueryRow(ctx, `SELECT count(*) FROM organization_member WHERE org_id = $1`, orgID).Scan(&n)
	return n, database.Wrap(err, "count the members of %s", orgID)
}

// Seats is how many members an organization has, and how many people are invited.
func (s *Service) Seats(ctx context.Context, orgID string) (members, invited int64, err error) {
	if members, err = seatsIn(ctx, s.db, orgID); err != nil {
		return 0, 0, err
	}
	invites, err := validInvites(ctx, s.db, orgID, s.db.Now())
	return members, int64(len(invites)), err
}

// SeatsOf are the most members that an organization had at once in each period; each begins where the one before ends.
func (s *Service) SeatsOf(ctx context.Context, orgID string, begins []time.Time, end time.Time) ([]int64, error) {
	return s.seats(ctx, begins, end, `WHERE org_id = $1 AND day < $2`, orgID)
}

// AllSeats adds up those of all organizations.
func (s *Service) AllSeats(ctx context.Context, begins []time.Time, end time.Time) ([]int64, error) {
	return s.seats(ctx, begins, end, `WHERE $1 = '' AND day < $2`, "")
}

type seatDay struct {
	orgID           string
	day, most, last int64
}

func (s *Service) seats(
	ctx context.Context, begins []time.Time, end time.Time, where, orgID string,
) ([]int64, error) {
	changes, err := database.Collect(ctx, s.db, func(row database.Scanner) (d seatDay, err error) {
		err = row.Scan(&d.orgID, &d.day, &d.most, &d.last)
		return d, err
	}, `SELECT org_id, day, most, last FROM seat_day `+where+` ORDER BY org_id, day`, orgID,
		database.Micros(end)/dayMicros)
	if err != nil {
		return nil, database.Wrap(err, "read the seats")
	}
	total := make([]int64, len(begins))
	for len(changes) > 0 {
		n := slices.IndexFunc(changes, func(d seatDay) bool { return d.orgID != changes[0].orgID })
		if n < 0 {
			n = len(changes)
		}
		addSeats(total, begins, end, changes[:n])
		changes = changes[n:]
	}
	return total, nil
}

// addSeats adds the seats of one organization to each period.
func addSeats(total []int64, begins []time.Time, end time.Time, changes []seatDay) {
	seats := int64(0) // at the end of the period before
	for i, begin := range begins {
		until := end
		if i+1 < len(begins) {
			until = begins[i+1]
		}
		most := int64(0)
		for len(changes) > 0 && changes[0].day < database.Micros(until)/dayMicros {
			if changes[0].day >= database.Micros(begin)/dayMicros {
				most = max(most, seats, changes[0].most)
			}
			seats, changes = changes[0].last, changes[1:]
		}
		total[i] += max(most, seats)
	}
}

// SeatLimit says how many members an organization may have; nil: as many as it likes. Beyond it invitations are
// refused, and people who come by an identity provider for the first time. Members stay, and whoever is invited may
// join.
type SeatLimit func(ctx context.Context, r database.Reader, orgID string) (*int64, error)

// checkSeat refuses one more in an organization whose seats are taken. Open invitations take one each, but for those to
// the address: whoever is invited has a seat.
func (s *Service) checkSeat(ctx context.Context, tx *database.Tx, orgID, address string) error {
	if s.seatLimit == nil {
		return nil
	}
	limit, err := s.seatLimit(ctx, tx, orgID)
	if err != nil || limit == nil {
		return err
	}
	members, err := seatsIn(ctx, tx, orgID)
	if err != nil {
		return err
	}
	invites, err := validInvites(ctx, tx, orgID, tx.Now())
	if err != nil {
		return err
	}
	invites = slices.DeleteFunc(invites, func(i Invite) bool { return i.Email == address })
	if members+int64(len(invites)) < *limit {
		return nil
	}
	return fault.New(fault.QuotaReached,
		"the organization's plan has %d seats, and members and open invitations take them all: an owner or admin can "+
			"choose a larger plan in the settings, under billing, or withdraw an invitation", *limit)
}

// NameIn is the name of an organization, open or closed; empty: there is none.
func NameIn(ctx context.Context, r database.Reader, orgID string) (name string, err error) {
	err = r.QueryRow(ctx, `SELECT name FROM organization WHERE id = $1`, orgID).Scan(&name)
	return name, database.OrMissing(err, nil, "read the name of %s", orgID)
}

// NameOf is NameIn for people who run the installation.
func (s *Service) NameOf(ctx context.Context, orgID string) (string, error) {
	return NameIn(ctx, s.db, orgID)
}
