package throttle_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"writ/internal/database"
	"writ/internal/database/dbtest"
	"writ/internal/fault"
	"writ/internal/testenv"
	"writ/internal/throttle"
)

var here = netip.MustParseAddr("192.0.2.7")

// each runs the body with a clock the test sets.
func each(t *testing.T, body func(t *testing.T, l *throttle.Limiter, db *database.DB, advance func(time.Duration))) {
	t.Helper()
	testenv.Each(t, func(t *testing.T, e *testenv.Env) {
		e.Set(time.Date(2030, 1, 1, 12, 0, 10, 0, time.UTC))
		body(t, throttle.New(e.DB), e.DB, e.Pass)
	})
}

// TestGivenBack: who knows the password is not kept out, and gives a guesser nothing.
func TestGivenBack(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, l *throttle.Limiter, _ *database.DB, advance func(time.Duration)) {
		take := func() error { return l.Take(t.Context(), throttle.Login, "a@example.com", here) }
		giveBack := func() {
			t.Helper()
			if err := l.GiveBack(t.Context(), throttle.Login, " A@example.com", here); err != nil {
				t.Fatal(err)
			}
		}
		giveBack() // of nothing: there is no credit to be had
		for i := range 3 * throttle.Login.PerMinute {
			if err := take(); err != nil {
				t.Fatalf("sign-in %d: %v", i+1, err)
			}
			giveBack()
		}
		for i := range throttle.Login.PerMinute {
			if err := take(); err != nil {
				t.Fatalf("guess %d after them: %v", i+1, err)
			}
		}
		if err := take(); !fault.Is(err, fault.TooMany) {
			t.Fatalf("one guess more: %v, want too many", err)
		}
		giveBack()
		if err := take(); !fault.Is(err, fault.TooMany) {
			t.Errorf("after a refusal: %v, want that it stays refused", err)
		}
		// The address has counted every one of them.
		for i := 4*throttle.Login.PerMinute + 1; i < 10*throttle.Login.PerMinute; i++ {
			if err := l.Take(t.Context(), throttle.Login, fmt.Sprint(i), here); err != nil {
				t.Fatalf("request %d of the address: %v", i, err)
			}
		}
		if err := l.Take(t.Context(), throttle.Login, "b@example.com", here); !fault.Is(err, fault.TooMany) {
			t.Errorf("the address beyond its limit: %v, want too many", err)
		}
		advance(time.Minute)
		if err := take(); err != nil {
			t.Errorf("a minute later: %v", err)
		}
	})
}

func TestRuleHoldsForAMinute(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, l *throttle.Limiter, _ *database.DB, advance func(time.Duration)) {
		for i := range throttle.Login.PerMinute {
			if err := l.Take(t.Context(), throttle.Login, "a@example.com", here); err != nil {
				t.Fatalf("request %d: %v", i+1, err)
			}
		}
		err := l.Take(t.Context(), throttle.Login, " A@Example.com ", here) // the same account, spelt otherwise
		f, ok := errors.AsType[*fault.Error](err)
		if !ok || f.Kind != fault.TooMany || f.RetryAfter != 50*time.Second {
			t.Fatalf("err = %v, want too many with 50 s to wait", err)
		}
		for name, free := range map[string]func() error{
			"another account": func() error { return l.Take(t.Context(), throttle.Login, "b@example.com", here) },
			"another address": func() error {
				return l.Take(t.Context(), throttle.Login, "a@example.com", netip.MustParseAddr("192.0.2.8"))
			},
			"another route": func() error { return l.Take(t.Context(), throttle.VerifyOTP, "a@example.com", here) },
		} {
			if err := free(); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		advance(50 * time.Second)
		if err := l.Take(t.Context(), throttle.Login, "a@example.com", here); err != nil {
			t.Errorf("the next minute: %v", err)
		}
	})
}

func TestOneAddressManyAccounts(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, l *throttle.Limiter, _ *database.DB, _ func(time.Duration)) {
		var wg sync.WaitGroup
		var refused atomic.Int64
		for i := range 60 {
			wg.Go(func() {
				err := l.Take(t.Context(), throttle.VerifyOTP, string(rune('a'+i%26))+string(rune('a'+i/26)), here)
				if fault.Is(err, fault.TooMany) {
					refused.Add(1)
				} else if err != nil {
					t.Errorf("take: %v", err)
				}
			})
		}
		wg.Wait()
		if refused.Load() != 10 {
			t.Errorf("%d of 60 accounts refused, want 10", refused.Load())
		}
	})
}

func TestAnIPv6NetworkIsOneAddress(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, l *throttle.Limiter, _ *database.DB, _ func(time.Duration)) {
		address := netip.MustParseAddr("2001:db8::1")
		for range throttle.Login.PerMinute {
			if err := l.Take(t.Context(), throttle.Login, "a", address); err != nil {
				t.Fatal(err)
			}
			address = address.Next()
		}
		if err := l.Take(t.Context(), throttle.Login, "a", address); !fault.Is(err, fault.TooMany) {
			t.Errorf("err = %v, want too many", err)
		}
	})
}

func TestSweep(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, l *throttle.Limiter, db *database.DB, advance func(time.Duration)) {
		if err := l.Take(t.Context(), throttle.Login, "a", here); err != nil {
			t.Fatal(err)
		}
		advance(5 * time.Minute)
		if err := l.Take(t.Context(), throttle.Login, "a", here); err != nil {
			t.Fatal(err)
		}
		if err := l.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		var n int
		if err := db.QueryRow(t.Context(), `SELECT count(*) FROM throttle_counter`).Scan(&n); err != nil || n != 2 {
			t.Errorf("%d counters left (%v), want the present window's 2", n, err)
		}
	})
}

func TestNoDatabaseNoRequest(t *testing.T) {
	t.Parallel()
	o, line := dbtest.PostgresOnALine(t)
	l := throttle.New(dbtest.Open(t, o))
	line.Cut()
	if err := l.Take(t.Context(), throttle.Login, "a", here); !fault.Is(err, fault.Unavailable) {
		t.Errorf("err = %v, want unavailable", err)
	}
}

// TestRefusalsWriteNothing: a flood that is refused must not fill the table or
// the queue of changes.
func TestRefusalsWriteNothing(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, l *throttle.Limiter, db *database.DB, advance func(time.Duration)) {
		counted := func() (rows, hits int) {
			t.Helper()
			if err := db.QueryRow(t.Context(), `SELECT count(*), sum(hits) FROM throttle_counter`).Scan(&rows,
				&hits); err != nil {
				t.Fatal(err)
			}
			return rows, hits
		}
		for i := range 60 {
			_ = l.Take(t.Context(), throttle.VerifyOTP, fmt.Sprint(i), here) // beyond 50 the address is refused
		}
		rows, hits := counted()
		for i := range 100 {
			if err := l.Take(t.Context(), throttle.VerifyOTP, fmt.Sprint("more", i),
				here); !fault.Is(err, fault.TooMany) {
				t.Fatalf("err = %v, want too many", err)
			}
		}
		if rowsAfter, hitsAfter := counted(); rowsAfter != rows || hitsAfter != hits {
			t.Errorf("100 refused requests wrote: %d rows and %d hits became %d and %d", rows, hits, rowsAfter,
				hitsAfter)
		}
		advance(time.Minute)
		if err := l.Take(t.Context(), throttle.VerifyOTP, "0", here); err != nil {
			t.Errorf("the next minute: %v", err)
		}
	})
}

// TestReplicasCountWithoutDeadlock takes the same counters from two replicas in
// every order.
func TestReplicasCountWithoutDeadlock(t *testing.T) {
	t.Parallel()
	o := dbtest.Postgres(t)
	replicas := []*throttle.Limiter{throttle.New(dbtest.Open(t, o)), throttle.New(dbtest.Open(t, o))}
	var wg sync.WaitGroup
	for r, l := range replicas {
		for i := range 40 {
			wg.Go(func() {
				account := fmt.Sprint((i * (r + 1)) % 7)
				if err := l.Take(context.Background(), throttle.Login, account, here); err != nil &&
					!fault.Is(err, fault.TooMany) {
					t.Errorf("take: %v", err)
				}
			})
		}
	}
	wg.Wait()
	var deadlocks int
	if err := dbtest.Open(t, o).QueryRow(t.Context(),
		`SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()`).Scan(&deadlocks); err != nil ||
		deadlocks != 0 {
		t.Errorf("%d deadlocks (%v), want none", deadlocks, err)
	}
}
