// Package dispatch sends queued work to targets that other people run: webhooks and collectors.
//
// A poll finds the targets with waiting work and starts a turn for each that has none running. The number of
// concurrent turns is limited, in total and per organization, so that a slow target delays nobody else. The caller
// decides what a turn does, and keeps replicas apart with a lease.
package dispatch

import (
	"context"
	"errors"
	"sync"
	"time"
)

// pollsSkipped is how many polls are skipped after one that failed, so that an outage does not fill the log.
const pollsSkipped = 10

// Dispatcher starts turns for targets. Set every exported field before its first use.
type Dispatcher[T any] struct {
	Every           time.Duration                         // between two polls
	Concurrent      int                                   // turns at most, in total
	PerOrganization int                                   // turns at most, of one organization
	Due             func(context.Context) ([]T, error)    // targets with waiting work, the longest waiting first
	Target          func(T) Target                        // identifies a target
	Turn            func(ctx context.Context, to T) error // does the work

	mu    sync.Mutex // guards the rest
	taken map[string]bool
	orgs  map[string]int
}

// Target identifies a target of an organization.
type Target struct{ ID, OrgID string }

// Run starts turns until ctx ends, then waits for the running ones. It reports what goes wrong.
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

// Pass polls once, and returns when every turn that it started is over.
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

// begin starts a turn for each due target that has none running.
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

// take reports whether a turn may start, and counts it if so.
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
