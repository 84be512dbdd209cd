// Package throttle counts requests to the few routes that are limited: those
// where guessing pays. The counters live in the database, so that the limit is
// one for all replicas and survives a restart.
//
// A rule counts in whole minutes. Each request counts twice: against the account
// at this address, which stops guessing one account, and against the address
// alone at ten times the rate, which stops trying one guess on many accounts.
// When the counter cannot be written the request is refused: a limit that fails
// open is none.
package throttle

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"writ/internal/database"
	"writ/internal/fault"
)

// Rule is the limit of one route.
type Rule struct {
	Name      string
	PerMinute int
}

// The auth bucket of the specification: 5-10 requests a minute.
var (
	Register       = Rule{"register", 5}
	VerifyOTP      = Rule{"verify-otp", 5}
	ResendOTP      = Rule{"resend-otp", 5}
	Login          = Rule{"login", 10}
	ForgotPassword = Rule{"forgot-password", 5}
	ResetPassword  = Rule{"reset-password", 5}
	ChangePassword = Rule{"change-password", 5}
)

// IsZero reports whether this is no rule at all.
func (r Rule) IsZero() bool { return r.PerMinute == 0 }

// String is how the route table shows the rule.
func (r Rule) String() string {
	if r.IsZero() {
		return "-"
	}
	return fmt.Sprintf("%s %d/min", r.Name, r.PerMinute)
}

const (
	window = time.Minute
	// manyAccounts is how many times the rule's rate one address may use over
	// all accounts, for offices that share an address.
	manyAccounts = 10
)

// Limiter enforces rules.
type Limiter struct{ db *database.DB }

// New makes a limiter that counts in db.
func New(db *database.DB) *Limiter { return &Limiter{db: db} }

// Take counts a request and is a TooMany fault when the rule is exceeded.
func (l *Limiter) Take(ctx context.Context, rule Rule, account string, address netip.Addr) error {
	where := network(address)
	both := subject(rule.Name, strings.ToLower(strings.TrimSpace(account)), where)
	anyone := subject(rule.Name, where)
	var start time.Time
	var exceeded bool
	err := l.db.Write(ctx, database.Change{Do: func(ctx context.Context, tx *database.Tx) error {
		start = tx.Now().Truncate(window)
		mine, err := hit(ctx, tx, both, start)
		if err != nil {
			return err
		}
		all, err := hit(ctx, tx, anyone, start)
		exceeded = mine > rule.PerMinute || all > rule.PerMinute*manyAccounts
		return err
	}})
	if err != nil {
		return fmt.Errorf("count a request to %s: %w", rule.Name, err)
	}
	if !exceeded {
		return nil
	}
	refusal := fault.New(fault.TooMany, "too many attempts; try again in a minute")
	refusal.RetryAfter = start.Add(window).Sub(l.db.Now())
	return refusal
}

// Sweep removes counters of windows that are over, a slice at a time.
func (l *Limiter) Sweep(ctx context.Context) error {
	for removed := int64(1); removed > 0; {
		err := l.db.Write(ctx, database.Change{Do: func(ctx context.Context, tx *database.Tx) (err error) {
			removed, err = tx.Exec(ctx, `
				DELETE FROM throttle_counter
				WHERE (subject, window_start) IN (
					SELECT subject, window_start FROM throttle_counter WHERE window_start < $1 LIMIT 500)`,
				database.Micros(tx.Now().Add(-2*window)))
			return err
		}})
		if err != nil {
			return fmt.Errorf("sweep throttle counters: %w", err)
		}
	}
	return nil
}

func hit(ctx context.Context, tx *database.Tx, subject []byte, start time.Time) (hits int, err error) {
	err = tx.QueryRow(ctx, `
		INSERT INTO throttle_counter (subject, window_start, hits)
		VALUES ($1, $2, 1)
		ON CONFLICT (subject, window_start) DO UPDATE SET hits = throttle_counter.hits + 1
		RETURNING hits`, subject, database.Micros(start)).Scan(&hits)
	return hits, err
}

// subject hides who was counted: a dump of the table names nobody.
func subject(parts ...string) []byte {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return sum[:]
}

// network is what counts as one address: an IPv6 customer has a whole /64 to
// choose from.
func network(address netip.Addr) string {
	address = address.Unmap().WithZone("")
	if address.Is6() {
		if prefix, err := address.Prefix(64); err == nil {
			return prefix.String()
		}
	}
	return address.String()
}
