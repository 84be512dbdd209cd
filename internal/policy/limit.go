package policy

import (
	"cmp"
	"context"
	"crypto/sha256"
	"database/sql"
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
	// maxQuestions is how many limits are read for one decision, and for its
	// explanation. Each is a query, of cost and tokens over all that was recorded
	// in the window, and one document can hold ten thousand.
	maxQuestions = 200

	maxSubject = 200 // bytes of a subject that is stored as it is

	// keepWindows is how long the counters of a window are kept after its end: a
	// decision that began in it may still be on its way.
	keepWindows = time.Hour
	sweepSlice  = 500 // counters removed by one change
	maxSlices   = 200 // of one sweep; the next one goes on

	// sweepLock has replicas that sweep take turns, so that they do not wait for
	// each other's rows in a circle.
	sweepLock = "policy/limits"
)

// Spending tells what calls have cost so far. The app composes it of telemetry.
type Spending interface {
	// Spent is the cost in nano-dollars and the input and output tokens recorded
	// since an instant, for the agent, session or user of an id, or for the whole
	// organization.
	Spent(
		ctx context.Context, orgID string, by document.Subject, id string, since time.Time,
	) (nanos, tokens int64, err error)
}

// Spent answers the engine's questions about the limits of an organization, for
// one decision. It reserves nothing. What was asked before is not read again, and
// beyond maxQuestions limits count as spent.
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
		if len(answers) >= maxQuestions {
			return 0, errQuestions
		}
		used, err := read(key)
		answers[asked] = answer{used, err}
		return used, err
	}
}

var errQuestions = fmt.Errorf("more than %d limits are about one call", maxQuestions)

func (s *Service) readSpent(ctx context.Context, orgID string) engine.Spent {
	return func(key engine.LimitKey) (int64, error) {
		if key.Unit == engine.Calls {
			return readUse(ctx, s.db, orgID, key)
		}
		if s.spending == nil {
			return 0, errors.New("nothing tells what was spent")
		}
		nanos, tokens, err := s.spending.Spent(ctx, orgID, key.By, key.Subject, time.Unix(key.Window, 0).UTC())
		if err != nil {
			return 0, fmt.Errorf("ask what was spent: %w", err)
		}
		switch key.Unit {
		case engine.Cost:
			return nanos, nil
		case engine.Tokens:
			return tokens, nil
		}
		return 0, fmt.Errorf("a limit of %q, which nobody counts", key.Unit)
	}
}

// Claim takes one call from each of the limits, all or none, within the
// transaction that records the decision. Where one is spent it takes nothing and
// gives that one; the caller decides again, knowing that. Limits are taken in the
// order of their keys, so that replicas never wait for each other in a circle.
func Claim(ctx context.Context, tx *database.Tx, orgID string, claims []engine.Claim) (spent *engine.Claim, err error) {
	sorted := slices.SortedFunc(slices.Values(claims), func(a, b engine.Claim) int {
		return compareKeys(a.LimitKey, b.LimitKey)
	})
	for i, claim := range sorted {
		if i > 0 && claim.LimitKey == sorted[i-1].LimitKey {
			continue // one call, however often it is named
		}
		taken, err := takeUse(ctx, tx, orgID, claim)
		if err != nil {
			return nil, err
		}
		if taken {
			continue
		}
		for j, before := range sorted[:i] {
			if j > 0 && before.LimitKey == sorted[j-1].LimitKey {
				continue
			}
			if err := giveBackUse(ctx, tx, orgID, before.LimitKey); err != nil {
				return nil, err
			}
		}
		return &claim, nil
	}
	return nil, nil
}

// GiveBack undoes a Claim within its transaction, for a call that does not run
// after all.
func GiveBack(ctx context.Context, tx *database.Tx, orgID string, claims []engine.Claim) error {
	given := map[engine.LimitKey]bool{}
	for _, claim := range claims {
		if given[claim.LimitKey] {
			continue
		}
		given[claim.LimitKey] = true
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

// subjectOf is a subject as it is stored. Agents name themselves and their
// sessions: what a database does not take, or is too long, is kept as its hash.
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
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return 0, fmt.Errorf("read a limit of rule %s: %w", key.RuleID, err)
	}
	return used, nil
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
	if err != nil {
		return false, fmt.Errorf("take from a limit of rule %s: %w", claim.RuleID, err)
	}
	return taken == 1, nil
}

func giveBackUse(ctx context.Context, tx *database.Tx, orgID string, key engine.LimitKey) error {
	if _, err := tx.Exec(ctx, `UPDATE limit_use SET used = used - 1`+whereRow, rowOf(orgID, key)...); err != nil {
		return fmt.Errorf("give back to a limit of rule %s: %w", key.RuleID, err)
	}
	return nil
}

// Sweep removes counters of windows that are over, a slice at a time.
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
