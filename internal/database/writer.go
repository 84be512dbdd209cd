package database

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"
)

// Lane is the queue a change waits in.
type Lane int

// The lanes. The committer takes Urgent first, but commits one Ordinary batch after
// every urgent one, so that neither starves.
const (
	Ordinary Lane = iota
	Urgent
)

const (
	urgentQueue   = 4096 // changes waiting; beyond it the answer is Unavailable at once
	ordinaryQueue = 1024
	urgentBatch   = 64 // changes sharing one commit
	ordinaryBatch = 8  // fewer, because each may take milliseconds

	// changeLimit is that of Options unless set. Clients give up after 8 to 10 seconds.
	changeLimit      = 5 * time.Second
	collisionRetries = 5
)

var (
	// Nothing was tried.
	errBusy    = errors.New("the queue of changes is full")
	errStopped = errors.New("the database is closing")
	// errOutcomeUnknown: the database was lost while it committed.
	errOutcomeUnknown = errors.New("whether the change was committed is not known")
)

// writer is the committer: one goroutine that owns the writing connection.
type writer struct {
	db       *DB
	logger   *slog.Logger
	limit    time.Duration // of a change, from its queueing to its answer
	urgent   chan *pending
	ordinary chan *pending
	waiting  shares
	done     chan struct{} // closed when the goroutine has ended

	mu      sync.RWMutex // guards stopped against sends on closed lanes
	stopped bool
}

// pending is a change that waits for its commit.
type pending struct {
	change   Change
	deadline time.Time // of the answer
	// claimed settles who answers: the committer that has begun to work on it, or the
	// caller that gave up before that.
	claimed atomic.Bool
	result  chan error // buffered, so that the committer never waits
}

func startWriter(db *DB, o Options) *writer {
	w := &writer{
		db: db, logger: o.Logger, limit: cmp.Or(o.ChangeLimit, changeLimit),
		urgent:   make(chan *pending, urgentQueue),
		ordinary: make(chan *pending, ordinaryQueue),
		done:     make(chan struct{}),
	}
	go w.run()
	return w
}

// Write queues the change and waits for its commit, at most Options.ChangeLimit. When ctx or
// that time ends before the committer has begun, nothing happens and the fault is
// Unavailable; once begun, Write waits for the outcome.
func (db *DB) Write(ctx context.Context, change Change) error { return db.Submit(ctx, change)() }

// Submit is Write in two steps: it queues the change, and the returned function, which
// must be called, waits for the commit. Changes of one caller keep their order.
func (db *DB) Submit(ctx context.Context, change Change) (wait func() error) {
	ctx, cancel := context.WithTimeout(ctx, db.writer.limit)
	p := &pending{change: change, deadline: time.Now().Add(db.writer.limit), result: make(chan error, 1)}
	if err := db.writer.enqueue(p); err != nil {
		cancel()
		return func() error { return unavailable(err, "too many changes are waiting") }
	}
	return func() error {
		defer cancel()
		select {
		case err := <-p.result:
			return err
		case <-ctx.Done():
			if p.claimed.CompareAndSwap(false, true) {
				return unavailable(ctx.Err(), "the change was not made in time")
			}
			return <-p.result
		}
	}
}

func (w *writer) enqueue(p *pending) error {
	w.mu.RLock()
	defer w.mu.RUnlock()
	if w.stopped {
		return errStopped
	}
	lane := w.ordinary
	if p.change.Lane == Urgent {
		lane = w.urgent
	}
	if !w.waiting.enter(p, cap(lane)-len(lane)) {
		return errBusy
	}
	select {
	case lane <- p:
		return nil
	default:
		w.waiting.leave(p)
		return errBusy
	}
}

// shares are how many changes of each log wait in a lane. A log gets as many places as are left free: one alone gets
// half of a lane, two a third each, and so on. Organizations that flood the server, however many somebody made, must
// not have the decisions of others refused.
type shares struct {
	mu    sync.Mutex
	count map[share]int
}

type share struct {
	lane Lane
	log  string
}

// shareOf is the first log of a change; ok is false if it has none.
func shareOf(p *pending) (of share, ok bool) {
	if len(p.change.Logs) == 0 {
		return share{}, false
	}
	return share{p.change.Lane, p.change.Logs[0]}, true
}

// enter counts a change that is about to wait; false: its log has as many as are free.
func (s *shares) enter(p *pending, free int) bool {
	of, ok := shareOf(p)
	if !ok {
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.count[of] >= free {
		return false
	}
	if s.count == nil {
		s.count = map[share]int{}
	}
	s.count[of]++
	return true
}

// leave counts one that waits no more.
func (s *shares) leave(p *pending) {
	of, ok := shareOf(p)
	if !ok {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.count[of]--; s.count[of] == 0 {
		delete(s.count, of)
	}
}

// stop refuses new changes, finishes the queued ones and waits.
func (w *writer) stop() {
	w.mu.Lock()
	if !w.stopped {
		w.stopped = true
		close(w.urgent)
		close(w.ordinary)
	}
	w.mu.Unlock()
	<-w.done
}

// run commits until both lanes are closed and empty. After an urgent commit
// one ordinary batch gets its turn.
func (w *writer) run() {
	defer close(w.done)
	urgent, ordinary := w.urgent, w.ordinary
	for urgent != nil || ordinary != nil {
		first, ok, isUrgent := w.first(urgent, ordinary)
		switch {
		case !ok && isUrgent:
			urgent = nil
		case !ok:
			ordinary = nil
		case isUrgent:
			// Let goroutines that are ready queue their decisions: they share the commit,
			// whose price hardly depends on their number. Without any this costs nothing.
			runtime.Gosched()
			w.commit(w.gather(first, urgent, urgentBatch))
			if next, ok := poll(ordinary); ok {
				w.commit(w.gather(next, ordinary, ordinaryBatch))
			}
		default:
			w.commit(w.gather(first, ordinary, ordinaryBatch))
		}
	}
}

// first waits for a change, preferring the urgent lane.
func (w *writer) first(urgent, ordinary chan *pending) (p *pending, ok, isUrgent bool) {
	if p, ok := poll(urgent); ok {
		return p, true, true
	}
	select {
	case p, ok = <-urgent:
		return p, ok, true
	case p, ok = <-ordinary:
		return p, ok, false
	}
}

// poll takes a waiting change without waiting for one.
func poll(lane chan *pending) (*pending, bool) {
	select {
	case p, ok := <-lane:
		return p, ok
	default:
		return nil, false
	}
}

// gather adds what waits in the lane, without what its caller has given up.
func (w *writer) gather(first *pending, lane chan *pending, most int) []*pending {
	batch := make([]*pending, 0, most)
	for p, ok := first, true; ok; p, ok = poll(lane) {
		w.waiting.leave(p)
		if p.claimed.CompareAndSwap(false, true) {
			batch = append(batch, p)
		}
		if len(batch) == most {
			break
		}
	}
	return batch
}

// commit commits the batch together or, when any change fails, each alone. When the
// outcome is unknown nothing runs again: doing a change twice is worse than not knowing
// that it was done.
func (w *writer) commit(batch []*pending) {
	if len(batch) == 0 {
		return
	}
	if len(batch) > 1 {
		err := w.together(batch)
		if err == nil || errors.Is(err, errOutcomeUnknown) {
			answer(batch, classify(err))
			return
		}
	}
	for _, p := range batch {
		answer([]*pending{p}, classify(w.persist(p)))
	}
}

func (w *writer) together(batch []*pending) error {
	last := batch[0].deadline
	for _, p := range batch {
		if p.deadline.After(last) {
			last = p.deadline
		}
	}
	ctx, cancel := context.WithDeadline(context.Background(), last)
	defer cancel()
	return w.attempt(ctx, batch)
}

// persist commits one change alone, and retries on collisions while there is time.
func (w *writer) persist(p *pending) error {
	ctx, cancel := context.WithDeadline(context.Background(), p.deadline)
	defer cancel()
	alone := []*pending{p}
	err := w.attempt(ctx, alone)
	for try := 1; isCollision(err) && ctx.Err() == nil && try < collisionRetries; try++ {
		time.Sleep(time.Duration(try)*5*time.Millisecond + rand.N(5*time.Millisecond))
		err = w.attempt(ctx, alone)
	}
	return err
}

// attempt runs one transaction. A panic in a change is its error: the committer goes on.
func (w *writer) attempt(ctx context.Context, batch []*pending) (err error) {
	defer func() {
		if r := recover(); r != nil {
			w.logger.Error("a change panicked", "panic", r, "stack", string(debug.Stack()))
			err = fmt.Errorf("a change panicked: %v", r)
		}
	}()
	err = w.db.transact(ctx, batch)
	w.db.commits.note(err)
	return err
}

func answer(batch []*pending, err error) {
	for _, p := range batch {
		p.result <- err
	}
}
