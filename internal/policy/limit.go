package policy

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"writ/internal/database"
	"writ/internal/policy/document"
	"writ/internal/policy/engine"
)

const (
	// maxLimitReads is how many limits are read for one decision. Each is a query, and one document can hold ten
	// thousand limits.
	maxLimitReads = 200

	maxSubject = 200 // bytes of a subject that is stored as it is

	// keepWindows is how long counters are stored after their window ends: a decision that began in it may not be
	// recorded yet.
	keepWindows = time.Hour
	sweepSlice  = 500 // counters removed by one change
	maxSlices   = 200 // of one sweep; the next one continues

	// sweepLock lets only one replica sweep at a time, so that they cannot deadlock on each other's rows.
	sweepLock = "policy/limits"
)

// Spending reads what calls have cost so far, from telemetry.
type Spending interface {
	// Spent is the cost in nano-dollars and the input and output tokens recorded since an instant, for the agent,
	// session or user with this id, or for the whole organization.
	Spent(
		ctx context.Context, orgID string, by document.Subject, id string, since time.Time,
	) (nanos, tokens int64, err error)
	// Ping checks that it can be read now.
	Ping(ctx context.Context) error
}

// Spent reads the limits of an organization for one decision. It reads each limit once and reserves nothing. Limits
// beyond maxLimitReads count as spent.
func (s *Service) Spent(ctx context.Context, orgID string) engine.Spent {
	type answer struct {
		used int64
		err  error
	}
	answers := map[engine.LimitKey]answer{}
	read := s.readSpent(ctx, orgID)
	return func(key engine.LimitKey) (int64, error) {
		asked := key
		if key.Unit != engine.Calls {
			asked.PolicyID, asked.RuleID = "", "" // the same for every rule
		}
		if known, ok := answers[asked]; ok {
			return known.used, known.err
		}
		if len(answers) >= maxLimitReads {
			return 0, errLimitReads
		}
		used, err := read(key)
		answers[asked] = answer{used, err}
		return used, err
	}
}

var errLimitReads = fmt.Errorf("more than %d limits are about one call", maxLimitReads)

var errNoSpending = errors.New("this server does not record what calls cost")

func (s *Service) readSpent(ctx context.Context, orgID string) engine.Spent {
	return func(key engine.LimitKey) (int64, error) {
		if key.Unit == engine.Calls {
			return readUse(ctx, s.db, orgID, key)
		}
		if s.spending == nil {
			return 0, errNoSpending
		}
		nanos, tokens, err := s.spending.Spent(ctx, orgID, key.By, key.Subject, time.Unix(key.Window, 0).UTC())
		if err != nil {
			return 0, fmt.Errorf("read what was spent: %w", err)
		}
		switch key.Unit {
		case engine.Cost:
			return nanos, nil
		case engine.Tokens:
			return tokens, nil
		}
		return 0, fmt.Errorf("a limit of %q, which is not counted", key.Unit)
	}
}

// Claim takes one call from each of the limits, all or none, in the transaction that records the decision. If a limit
// is spent, Claim takes nothing and returns that limit, and the caller decides again. It takes limits in the order of
// their keys, so that replicas cannot deadlock.
func Claim(ctx context.Context, tx *database.Tx, orgID string, claims []engine.Claim) (spent *engine.Claim, err error) {
	claims = distinct(claims)
	for i, claim := range claims {
		taken, err := takeUse(ctx, tx, orgID, claim)
		if err != nil {
			return nil, err
		}
		if !taken {
			return &claim, GiveBack(ctx, tx, orgID, claims[:i])
		}
	}
	return nil, nil
}

// distinct is the claims in the order of their keys, each limit once.
func distinct(claims []engine.Claim) []engine.Claim {
	sorted := slices.SortedFunc(slices.Values(claims), func(a, b engine.Claim) int {
		return compareKeys(a.LimitKey, b.LimitKey)
	})
	return slices.CompactFunc(sorted, func(a, b engine.Claim) bool { return a.LimitKey == b.LimitKey })
}

// GiveBack undoes a Claim in the same transaction, for a call that does not run after all.
func GiveBack(ctx context.Context, tx *database.Tx, orgID string, claims []engine.Claim) error {
	for _, claim := range distinct(claims) {
		if err := giveBackUse(ctx, tx, orgID, claim.LimitKey); err != nil {
			return err
		}
	}
	return nil
}

func compareKeys(a, b engine.LimitKey) int {
	return cmp.Or(
		strings.Compare(a.PolicyID, b.PolicyID), strings.Compare(a.RuleID, b.RuleID),
		strings.Compare(string(a.By), string(b.By)),
		strings.Compare(a.Subject, b.Subject), cmp.Compare(a.Window, b.Window), cmp.Compare(a.Per, b.Per),
		strings.Compare(string(a.Unit), string(b.Unit)),
	)
}

// subjectOf is a subject as it is stored. Agents choose these ids: one that is too long or that a database refuses is
// stored as its hash.
func subjectOf(key engine.LimitKey) string {
	if len(key.Subject) <= maxSubject && utf8.ValidString(key.Subject) && !strings.ContainsRune(key.Subject, 0) {
		return key.Subject
	}
	sum := sha256.Sum256([]byte(key.Subject))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// rowOf is the key of a counter's row.
func rowOf(orgID string, key engine.LimitKey) []any {
	start := time.Unix(key.Window, 0)
	end := start.Add(time.Duration(key.Per) * time.Second)
	return []any{
		orgID, key.PolicyID, key.RuleID, string(key.By), subjectOf(key), database.Micros(start), database.Micros(end),
	}
}

const whereRow = `
		WHERE org_id = $1 AND policy_id = $2 AND rule_id = $3 AND counted_by = $4
			AND subject = $5 AND window_start = $6 AND window_end = $7`

func readUse(ctx context.Context, r database.Reader, orgID string, key engine.LimitKey) (used int64, err error) {
	err = r.QueryRow(ctx, `SELECT used FROM limit_use`+whereRow, rowOf(orgID, key)...).Scan(&used)
	return used, database.OrMissing(err, nil, "read a limit of rule %s", key.RuleID)
}

// takeUse counts a call unless the limit is spent.
func takeUse(ctx context.Context, tx *database.Tx, orgID string, claim engine.Claim) (bool, error) {
	if claim.Unit != engine.Calls {
		return false, fmt.Errorf("claim from a limit of %s: only calls can be reserved", claim.Unit)
	}
	if claim.Max < 1 {
		return false, nil
	}
	taken, err := tx.Exec(ctx, `
		INSERT INTO limit_use (org_id, policy_id, rule_id, counted_by, subject, window_start, window_end, used)
		VALUES ($1, $2, $3, $4, $5, $6, $7, 1)
		ON CONFLICT (org_id, policy_id, rule_id, counted_by, subject, window_start, window_end) DO UPDATE
		SET used = limit_use.used + 1
		WHERE limit_use.used < $8`, append(rowOf(orgID, claim.LimitKey), claim.Max)...)
	return taken == 1, database.Wrap(err, "take from a limit of rule %s", claim.RuleID)
}

func giveBackUse(ctx context.Context, tx *database.Tx, orgID string, key engine.LimitKey) error {
	_, err := tx.Exec(ctx, `UPDATE limit_use SET used = used - 1`+whereRow, rowOf(orgID, key)...)
	return database.Wrap(err, "give back to a limit of rule %s", key.RuleID)
}

// Sweep removes the counters of past windows, a slice at a time.
func (s *Service) Sweep(ctx context.Context) error {
	for range maxSlices {
		var removed int64
		err := s.db.Write(ctx, database.Change{Logs: []string{sweepLock}, Do: func(
			ctx context.Context, tx *database.Tx,
		) (err error) {
			removed, err = tx.Exec(ctx, `
				DELETE FROM limit_use
				WHERE (org_id, policy_id, rule_id, counted_by, subject, window_start, window_end) IN (
					SELECT org_id, policy_id, rule_id, counted_by, subject, window_start, window_end
					FROM limit_use
					WHERE window_end < $1
					ORDER BY window_end
					LIMIT $2
				)`, database.Micros(tx.Now().Add(-keepWindows)), sweepSlice)
			return err
		}})
		if err != nil {
			return fmt.Errorf("sweep the limits: %w", err)
		}
		if removed < sweepSlice {
			return nil
		}
	}
	return nil
}
