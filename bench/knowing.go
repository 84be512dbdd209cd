package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Sizes of a comparison. A session holds 64 outputs, and each pass adds one.
const (
	knowingSessions = 40
	knowingPasses   = 8 // of a turn
)

// knowing are sessions that know as much, and what a request costs in them, turn by turn.
type knowing struct {
	name     string
	sessions []*knownSession
	costs    []time.Duration // of processor, each
}

// newKnowing declares the plans of new sessions, and lists in each so often.
func (b *bench) newKnowing(ctx context.Context, a *account, name string, outputs int) (*knowing, error) {
	k := &knowing{name: name}
	for i := range knowingSessions {
		k.sessions = append(k.sessions, &knownSession{account: a, id: fmt.Sprint(name, " ", i)})
	}
	return k, b.each(k, func(s *knownSession) error {
		if err := s.declare(ctx); err != nil {
			return err
		}
		for range outputs {
			if err := errors.Join(s.decide(ctx, "list", listed), s.report(ctx, "list", listed, page)); err != nil {
				return err
			}
		}
		// The first decision reads what is known.
		return errors.Join(s.decide(ctx, "act", acted), s.report(ctx, "act", acted, "ok"))
	})
}

// each does something in every session, in several at once.
func (b *bench) each(k *knowing, do func(*knownSession) error) error {
	if do == nil {
		return nil
	}
	errs := make([]error, b.connections)
	var all sync.WaitGroup
	for w := range b.connections {
		all.Go(func() {
			for i := w; i < len(k.sessions) && errs[w] == nil; i += b.connections {
				errs[w] = do(k.sessions[i])
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

// passes are what is done in each session, again and again. Only the second is measured.
type passes struct{ before, measured, after func(*knownSession) error }

// takePasses lets all take turns.
func (b *bench) takePasses(ctx context.Context, all []*knowing, p passes) error {
	for range b.rounds {
		for _, k := range all {
			if err := ctx.Err(); err != nil {
				return err
			}
			cost, err := b.costOfPasses(k, p)
			if err != nil {
				return fmt.Errorf("%s: %w", k.name, err)
			}
			k.costs = append(k.costs, cost)
		}
	}
	return nil
}

// costOfPasses is what a request costs once the server has nothing else to do.
func (b *bench) costOfPasses(k *knowing, p passes) (cost time.Duration, err error) {
	server := k.sessions[0].server
	if err := server.awaitIdle(); err != nil {
		return 0, err
	}
	for range knowingPasses {
		if err := b.each(k, p.before); err != nil {
			return 0, err
		}
		before, err := server.cpu()
		if err != nil {
			return 0, err
		}
		if err := b.each(k, p.measured); err != nil {
			return 0, err
		}
		after, err := server.cpu()
		if err != nil {
			return 0, err
		}
		cost += after - before
		if err := b.each(k, p.after); err != nil {
			return 0, err
		}
	}
	return cost / time.Duration(knowingPasses*len(k.sessions)), nil
}
