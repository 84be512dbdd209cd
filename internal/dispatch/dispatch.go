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
const pollsSkipped = 10

// Rota hands out turns at targets. Set every exported field before its first use.
type Dispatcher[T any] struct {
	Every           time.Duration                         // between two looks for what waits
	Concurrent      int                                   // turns at a time
	PerOrganization int                                   // of them of one organization
	Due             func(context.Context) ([]T, error)    // where something waits, longest first
	Target          func(T) Target                        // names a target
	Turn            func(ctx context.Context, to T) error // what is done there

	mu    sync.Mutex // guards the rest
	taken map[string]bool
	orgs  map[string]int
}

// Place names a target of an organization.
type Target struct{ ID, OrgID string }

// Run hands out turns until ctx ends, waits for those that are under way, and
// reports what goes wrong.
func (d *Dispatcher[T]) Run(ctx context.Context, report func(error)) {
	var turns sync.WaitGroup
	defer turns.Wait()
	ticker := time.NewTicker(d.Every)
	defer ticker.Stop()
	for wait := 0; ; wait-- {
		if wait <= 0 {
			if err := d.begin(ctx, &turns, report); err != nil && ctx.Err() == nil {
				report(err)
				wait = pollsSkipped
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
func (d *Dispatcher[T]) Pass(ctx context.Context) error {
	var turns sync.WaitGroup
	var mu sync.Mutex
	var problems []error
	err := d.begin(ctx, &turns, func(err error) {
		mu.Lock()
		defer mu.Unlock()
		problems = append(problems, err)
	})
	turns.Wait()
	return errors.Join(append(problems, err)...)
}

// begin begins a turn at each target that has none.
func (d *Dispatcher[T]) begin(ctx context.Context, turns *sync.WaitGroup, report func(error)) error {
	due, err := d.Due(ctx)
	if err != nil {
		return err
	}
	for _, to := range due {
		p := d.Target(to)
		if !d.take(p) {
			continue
		}
		turns.Go(func() {
			defer d.release(p)
			if err := d.Turn(ctx, to); err != nil && ctx.Err() == nil {
				report(err)
			}
		})
	}
	return nil
}

// take reports whether a turn may begin, and remembers that it did.
func (d *Dispatcher[T]) take(p Target) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.taken[p.ID] || len(d.taken) >= d.Concurrent || d.orgs[p.OrgID] >= d.PerOrganization {
		return false
	}
	if d.taken == nil {
		d.taken, d.orgs = map[string]bool{}, map[string]int{}
	}
	d.taken[p.ID] = true
	d.orgs[p.OrgID]++
	return true
}

func (d *Dispatcher[T]) release(p Target) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.taken, p.ID)
	if d.orgs[p.OrgID]--; d.orgs[p.OrgID] == 0 {
		delete(d.orgs, p.OrgID)
	}
}
