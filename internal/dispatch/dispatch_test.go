package dispatch_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"writ/internal/dispatch"
)

// target is "organization/name".
type target string

func placeOf(t target) dispatch.Target {
	org, _, _ := strings.Cut(string(t), "/")
	return dispatch.Target{ID: string(t), OrgID: org}
}

// book notes which turns began, and holds them until they are let go.
type book struct {
	mu    sync.Mutex
	began []target
	gate  chan struct{}
}

func (b *book) turn(ctx context.Context, t target) error {
	b.mu.Lock()
	b.began = append(b.began, t)
	b.mu.Unlock()
	select {
	case <-b.gate:
	case <-ctx.Done():
	}
	return nil
}

func (b *book) all() []target {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Sorted(slices.Values(b.began))
}

func TestPlacesAreShared(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := &book{gate: make(chan struct{})}
		r := dispatch.Dispatcher[target]{
			Every:           time.Second,
			Concurrent:      4,
			PerOrganization: 2,
			Target:          placeOf,
			Turn:            b.turn,
			Due: func(context.Context) ([]target, error) {
				return []target{"a/1", "a/2", "a/3", "b/1", "c/1", "d/1"}, nil
			},
		}
		ctx, stop := context.WithCancel(t.Context())
		over := make(chan struct{})
		go func() {
			defer close(over)
			r.Run(ctx, func(err error) { t.Error(err) })
		}()
		time.Sleep(5500 * time.Millisecond) // of the bubble: five more looks
		if got, want := b.all(), []target{"a/1", "a/2", "b/1", "c/1"}; !slices.Equal(got, want) {
			t.Errorf("while all are slow, turns are at %v, want %v: two of one organization, four in all, none twice",
				got, want)
		}
		b.gate <- struct{}{} // one of them ends
		time.Sleep(time.Second)
		if got := len(b.all()); got != 5 {
			t.Errorf("after one has ended there were %d turns, want 5", got)
		}
		stop()
		<-over
	})
}

func TestAFailedLookIsFollowedByAPause(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		looks, reports := 0, 0
		r := dispatch.Dispatcher[target]{
			Every: time.Second, Concurrent: 1, PerOrganization: 1, Target: placeOf,
			Due: func(context.Context) ([]target, error) {
				looks++
				return nil, errors.New("the database is away")
			},
		}
		ctx, stop := context.WithTimeout(t.Context(), 25*time.Second+time.Millisecond)
		defer stop()
		r.Run(ctx, func(error) { reports++ })
		if looks != 3 || reports != 3 {
			t.Errorf("in 25 seconds of an outage there were %d looks and %d reports, want 3 of each", looks, reports)
		}
	})
}

func TestAPassGivesEveryProblem(t *testing.T) {
	t.Parallel()
	r := dispatch.Dispatcher[target]{
		Concurrent: 3, PerOrganization: 3, Target: placeOf,
		Due: func(context.Context) ([]target, error) { return []target{"a/1", "a/2", "b/1"}, nil },
		Turn: func(_ context.Context, to target) error {
			if to == "a/2" {
				return nil
			}
			return errors.New(string(to) + " failed")
		},
	}
	for range 2 { // places are free again after a pass
		err := r.Pass(t.Context())
		if err == nil || !strings.Contains(err.Error(), "a/1 failed") || !strings.Contains(err.Error(), "b/1 failed") {
			t.Errorf("the pass gives %v, want both problems", err)
		}
	}
}
