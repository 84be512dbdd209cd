// Package throttle counts requests to the few limited routes: those where guessing pays.
// The counters are in the database, so that replicas share a limit and it survives a
// restart.
//
// A rule counts in whole minutes. Each request counts twice: against the account at this
// address, which stops guessing one account, and against the address alone at ten times
// the rate, which stops trying one guess on many accounts. A sign-in that succeeds gives
// back the first of these counts. When the counter cannot be written, the request is
// refused: a limit that fails open is none.
package throttle

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net/netip"
	"strings"
	"sync"
	"time"

	"writ/internal/database"
	"writ/internal/fault"
)

// Rule is the limit of one route.
type Rule struct {
	Name      string
	PerMinute int
}

// The rules of the limited routes.
var (
	// The auth bucket of the specification: 5-10 requests a minute.
	Register       = Rule{"register", 5}
	VerifyOTP      = Rule{"verify-otp", 5}
	ResendOTP      = Rule{"resend-otp", 5}
	Login          = Rule{"login", 10}
	ForgotPassword = Rule{"forgot-password", 5}
	ResetPassword  = Rule{"reset-password", 5}
	ChangePassword = Rule{"change-password", 5}
	FinishLogin    = Rule{"finish-login", 10}

	// What a signed-in person does about their second factor, their address and their account, which ask for a code or
	// the password.
	SecondFactor  = Rule{"second-factor", 10}
	ChangeEmail   = Rule{"change-email", 5}
	ConfirmEmail  = Rule{"confirm-email", 5}
	DeleteAccount = Rule{"delete-account", 5}
	ExportAccount = Rule{"export-account", 5}  // reads all of a person's entries
	ChangeProfile = Rule{"change-profile", 20} // each is an entry

	// Signing in from a terminal: asking for a code, by address, and trying one, by
	// person. Polling is not counted here: each code has an interval of its own.
	StartDevice  = Rule{"start-device", 10}
	AnswerDevice = Rule{"answer-device", 10}

	// SignIn bounds how often one address is sent to an identity provider, comes back
	// from it, or exchanges what it brought.
	SignIn = Rule{"sign-in", 30}

	// What anyone may ask without credentials, by address alone.
	BindPolicy   = Rule{"bind-policy", 60}
	VerifyAction = Rule{"verify-action", 60}

	// The delegation bucket of the specification: 30-60 requests a minute. A request
	// for approval counts only if it opens a new one: clients poll by asking again, and
	// some run the tool when they are refused.
	OpenApproval   = Rule{"open-approval", 60}
	AnswerApproval = Rule{"answer-approval", 30}
	Delegate       = Rule{"delegate", 60}
	ShowChain      = Rule{"show-chain", 120}

	// Certificates: what one person or the owner of a key has signed, and what anyone fetches by address.
	IssueCertificate = Rule{"issue-certificate", 60}
	FetchRevocations = Rule{"fetch-revocations", 120}

	// AskAccess is what anyone may ask the people who run this installation.
	AskAccess = Rule{"ask-access", 5}

	// ClaimReferral is how often a person may try a code.
	ClaimReferral = Rule{"claim-referral", 10}

	// Paying: pages of the payment provider that a person has made, and what it posts, by address.
	Checkout     = Rule{"checkout", 10}
	BillingEvent = Rule{"billing-event", 600}

	// OAuth clients: anyone registers one, by address; a person answers one, which may have the server read its
	// document. Tokens are counted by address too, behind which many clients may be.
	RegisterClient = Rule{"register-client", 10}
	AnswerClient   = Rule{"answer-client", 30}
	OAuthToken     = Rule{"oauth-token", 120}

	// What a key makes for itself, by its owner.
	MakeKey   = Rule{"make-key", 60}
	GiveLease = Rule{"give-lease", 300}

	// What one person makes the server send or ask elsewhere.
	Invite               = Rule{"invite", 20}
	TestIdentityProvider = Rule{"test-identity-provider", 10}
	RegisterServer       = Rule{"register-server", 30} // each may be called
	AskServer            = Rule{"ask-server", 20}
	TestWebhook          = Rule{"test-webhook", 20}
	TestForwarding       = Rule{"test-forwarding", 20}
	MakeDemo             = Rule{"make-demo", 3}     // hundreds of requests of its own
	DraftPolicy          = Rule{"draft-policy", 10} // compiles, runs tests, may ask a model
	CheckLog             = Rule{"check-log", 6}     // reads a log whole

	// Search asks two indexes and reads all names, and people search as they type.
	Search = Rule{"search", 120}
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
	// manyAccounts is how many times the rule's rate one address may use over all
	// accounts: offices share an address.
	manyAccounts = 10
)

// throttleLock orders the counters of all replicas (database.Change.Logs).
const throttleLock = "throttle"

// Limiter enforces rules.
type Limiter struct {
	db *database.DB

	mu       sync.Mutex // guards the rest
	window   time.Time
	exceeded map[[sha256.Size]byte]bool // in that window: refused without counting again
}

// maxExceeded bounds the cache; beyond it each refusal costs a write.
const maxExceeded = 100_000

// New makes a limiter that counts in db.
func New(db *database.DB) *Limiter {
	return &Limiter{db: db, exceeded: map[[sha256.Size]byte]bool{}}
}

// Take counts a request and is a TooMany fault when the rule is exceeded.
func (l *Limiter) Take(ctx context.Context, rule Rule, account string, address netip.Addr) error {
	both, anyone := accountSubject(rule, account, address), subject(rule.Name, network(address))
	if l.isExceeded(anyone) || l.isExceeded(both) {
		return l.refusal() // a flood of refused requests writes nothing
	}
	var spent []byte // the counter that is beyond its limit
	err := l.db.Write(ctx, database.Change{Logs: []string{throttleLock}, Do: func(
		ctx context.Context, tx *database.Tx,
	) error {
		spent = nil
		start := tx.Now().Truncate(window)
		all, err := hit(ctx, tx, anyone, start)
		if err != nil || all > rule.PerMinute*manyAccounts {
			spent = anyone
			return err
		}
		mine, err := hit(ctx, tx, both, start)
		if mine > rule.PerMinute {
			spent = both
		}
		return err
	}})
	if err != nil {
		return fmt.Errorf("count a request to %s: %w", rule.Name, err)
	}
	if spent == nil {
		return nil
	}
	l.setExceeded(spent)
	return l.refusal()
}

// GiveBack takes back the count of a request that turned out to be no guess, so that people who know their password are
// not kept out as those are who try passwords. The counter of the address keeps the request, and an account that is
// refused stays refused until the minute is over: a right guess among many must not undo them.
func (l *Limiter) GiveBack(ctx context.Context, rule Rule, account string, address netip.Addr) error {
	both := accountSubject(rule, account, address)
	err := l.db.Write(ctx, database.Change{Logs: []string{throttleLock}, Do: func(
		ctx context.Context, tx *database.Tx,
	) error {
		_, err := tx.Exec(ctx, `
			UPDATE throttle_counter SET hits = hits - 1
			WHERE subject = $1 AND window_start = $2 AND hits > 0 AND hits <= $3`,
			both, database.Micros(tx.Now().Truncate(window)), rule.PerMinute)
		return err
	}})
	if err != nil {
		return fmt.Errorf("give back a request to %s: %w", rule.Name, err)
	}
	return nil
}

// accountSubject is the counter of an account at an address.
func accountSubject(rule Rule, account string, address netip.Addr) []byte {
	return subject(rule.Name, strings.ToLower(strings.TrimSpace(account)), network(address))
}

// refusal says to wait for the next window.
func (l *Limiter) refusal() error {
	refusal := fault.New(fault.TooMany, "too many attempts; try again in a minute")
	now := l.db.Now()
	refusal.RetryAfter = now.Truncate(window).Add(window).Sub(now)
	return refusal
}

func (l *Limiter) isExceeded(subject []byte) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.turnWindow()
	return l.exceeded[[sha256.Size]byte(subject)]
}

func (l *Limiter) setExceeded(subject []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.turnWindow()
	if len(l.exceeded) < maxExceeded {
		l.exceeded[[sha256.Size]byte(subject)] = true
	}
}

// turnWindow forgets a window that is over.
func (l *Limiter) turnWindow() {
	if start := l.db.Now().Truncate(window); !start.Equal(l.window) {
		l.window = start
		clear(l.exceeded)
	}
}

// Sweep removes counters of windows that are over, a slice at a time.
func (l *Limiter) Sweep(ctx context.Context) error {
	for removed := int64(1); removed > 0; {
		err := l.db.Write(ctx, database.Change{Logs: []string{throttleLock}, Do: func(
			ctx context.Context, tx *database.Tx,
		) (err error) {
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

// subject hides whose requests are counted: a dump of the table names nobody.
func subject(parts ...string) []byte {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return sum[:]
}

// network is what counts as one address: an IPv6 customer has a whole /64.
func network(address netip.Addr) string {
	address = address.Unmap().WithZone("")
	if address.Is6() {
		if prefix, err := address.Prefix(64); err == nil {
			return prefix.String()
		}
	}
	return address.String()
}
