// Package dispatch hands out turns at targets that others run: webhooks, collectors.
//
// A pass looks for the targets where something waits and begins a turn at each that
// has none. Places are few: a target that answers slowly takes one of them and keeps
// nobody else waiting, and no organization gets more than its share. What a turn
// does, and how replicas keep out of each other's way (by a lease), is the caller's.
package dispatch

import (
	"context"
	"errors"
	"sync"
	"time"
)

// looksLeftOut is how many looks are left out after one that failed, so that an
// outage does not fill the log.
const looksLeftOut = 10

// Rota hands out turns at targets. Set every exported field before its first use.
type Dispatcher[T any] struct {
	Every  time.Duration                         // between two looks for what waits
	AtOnce int                                   // turns at a time
	OfOne  int                                   // of them of one organization
	Due    func(context.Context) ([]T, error)    // where something waits, longest first
	Place  func(T) Target                        // names a target
	Turn   func(ctx context.Context, to T) error // what is done there

	mu    sync.Mutex // guards the rest
	taken map[string]bool
	orgs  map[string]int
}

// Place names a target of an organization.
type Target struct{ ID, OrgID string }

// Run hands out turns until ctx ends, waits for those that are under way, and
// reports what goes wrong.
func (r *Dispatcher[T]) Run(ctx context.Context, report func(error)) {
	var turns sync.WaitGroup
	defer turns.Wait()
	ticker := time.NewTicker(r.Every)
	defer ticker.Stop()
	for wait := 0; ; wait-- {
		if wait <= 0 {
			if err := r.begin(ctx, &turns, report); err != nil && ctx.Err() == nil {
				report(err)
				wait = looksLeftOut
			}
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

// Pass looks once, and returns when every turn it began is over.
func (r *Dispatcher[T]) Pass(ctx context.Context) error {
	var turns sync.WaitGroup
	var mu sync.Mutex
	var problems []error
	err := r.begin(ctx, &turns, func(err error) {
		mu.Lock()
		defer mu.Unlock()
		problems = append(problems, err)
	})
	turns.Wait()
	return errors.Join(append(problems, err)...)
}

// begin begins a turn at each target that has none.
func (r *Dispatcher[T]) begin(ctx context.Context, turns *sync.WaitGroup, report func(error)) error {
	due, err := r.Due(ctx)
	if err != nil {
		return err
	}
	for _, to := range due {
		p := r.Place(to)
		if !r.take(p) {
			continue
		}
		turns.Go(func() {
			defer r.leave(p)
			if err := r.Turn(ctx, to); err != nil && ctx.Err() == nil {
				report(err)
			}
		})
	}
	return nil
}

// take reports whether a turn may begin, and remembers that it did.
func (r *Dispatcher[T]) take(p Target) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.taken[p.ID] || len(r.taken) >= r.AtOnce || r.orgs[p.OrgID] >= r.OfOne {
		return false
	}
	if r.taken == nil {
		r.taken, r.orgs = map[string]bool{}, map[string]int{}
	}
	r.taken[p.ID] = true
	r.orgs[p.OrgID]++
	return true
}

func (r *Dispatcher[T]) leave(p Target) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.taken, p.ID)
	if r.orgs[p.OrgID]--; r.orgs[p.OrgID] == 0 {
		delete(r.orgs, p.OrgID)
	}
}
