package mail

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"writ/internal/fault"
)

const (
	queueSize  = 256              // mails that may wait, also for another try
	drainLimit = 5 * time.Second  // to deliver the rest at shutdown
	retryAfter = 30 * time.Second // for a caller who finds the queue full
)

// Queue sends mail later, one at a time and in order. A mail that fails is tried again, and holds up no other.
type Queue struct {
	// Backoff is the pause after each failed try but the last, so there is one try more than there are pauses. Change
	// it only before Run.
	Backoff []time.Duration

	sender  Sender
	log     *slog.Logger
	waiting chan Message
	failed  []failedMail // of Run alone
	lost    atomic.Int64

	mu     sync.Mutex // guards what follows, and sending to waiting against closing it
	held   int        // mails that are neither sent nor lost
	closed bool
}

// failedMail waits for its next try.
type failedMail struct {
	Message
	tries int
	due   time.Time
}

// NewQueue makes a queue in front of a sender. It delivers nothing until Run.
func NewQueue(sender Sender, log *slog.Logger) *Queue {
	return &Queue{
		// Servers that greylist refuse the first try and want the next one minutes later.
		Backoff: []time.Duration{
			time.Second, 5 * time.Second, 30 * time.Second, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute,
		},
		sender:  sender,
		log:     log,
		waiting: make(chan Message, queueSize),
	}
}

// Lost is how many mails were given up or refused since the start.
func (q *Queue) Lost() int64 { return q.lost.Load() }

// Send queues the mail and returns at once; nil means queued, not sent. The mail outlives the request and its context.
func (q *Queue) Send(_ context.Context, m Message) error {
	if err := m.validate(); err != nil {
		return err
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return fault.New(fault.Unavailable, "mail could not be queued: the server is shutting down")
	}
	if q.held < queueSize {
		q.held++
		q.waiting <- m // has room for all that are held
		return nil
	}
	// Logged here, because some callers must not let their answer depend on it.
	q.log.Error("mail refused: too many are waiting", "mail", m)
	q.lost.Add(1)
	full := fault.New(fault.Unavailable, "mail could not be queued: too many mails are waiting")
	full.RetryAfter = retryAfter
	return full
}

// Run delivers until ctx ends. Then it refuses new mail, gives each waiting one a last try within five seconds, and
// returns. Call it once.
func (q *Queue) Run(ctx context.Context) {
	sending, abort := context.WithCancel(context.WithoutCancel(ctx))
	defer abort()
	context.AfterFunc(ctx, func() {
		q.close()
		time.AfterFunc(drainLimit, abort)
	})
	for ctx.Err() == nil {
		next, pause := q.nextFailed()
		select {
		case <-ctx.Done():
		case m, open := <-q.waiting:
			if open {
				q.try(sending, failedMail{Message: m}, false)
			}
		case <-pause:
			again := q.failed[next]
			q.failed = append(q.failed[:next], q.failed[next+1:]...)
			q.try(sending, again, false)
		}
	}
	q.drain(sending)
}

// nextFailed is which failed mail is due first, and what tells when. The channel is nil if there is none.
func (q *Queue) nextFailed() (next int, pause <-chan time.Time) {
	if len(q.failed) == 0 {
		return 0, nil
	}
	for i := range q.failed {
		if q.failed[i].due.Before(q.failed[next].due) {
			next = i
		}
	}
	return next, time.After(time.Until(q.failed[next].due))
}

// drain gives what is left a last try: first what was never tried, which is the most likely to arrive.
func (q *Queue) drain(sending context.Context) {
	for m := range q.waiting { // until close
		q.tryLast(sending, failedMail{Message: m})
	}
	for _, m := range q.failed {
		q.tryLast(sending, m)
	}
	q.failed = nil
}

func (q *Queue) tryLast(sending context.Context, m failedMail) {
	if sending.Err() == nil {
		q.try(sending, m, true)
		return
	}
	q.log.Error("mail lost at shutdown", "to", m.To)
	q.lost.Add(1)
}

func (q *Queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	close(q.waiting)
}

// try sends a mail, and keeps it for another try if that fails, unless it was the last one.
func (q *Queue) try(ctx context.Context, m failedMail, last bool) {
	err := q.sender.Send(ctx, m.Message)
	m.tries++
	switch {
	case err == nil:
	case last || m.tries > len(q.Backoff) || errors.Is(err, ErrRefused):
		q.log.Error("mail lost", "to", m.To, "tries", m.tries, "error", err)
		q.lost.Add(1)
	default:
		pause := q.Backoff[m.tries-1]
		q.log.Warn("mail failed, will be tried again", "to", m.To, "pause", pause, "error", err)
		m.due = time.Now().Add(pause)
		q.failed = append(q.failed, m)
		return
	}
	q.mu.Lock()
	q.held--
	q.mu.Unlock()
}
