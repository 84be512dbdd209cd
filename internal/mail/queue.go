package mail

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"writ/internal/fault"
)

const (
	queueSize  = 256              // mails that may wait
	drainLimit = 5 * time.Second  // to deliver the rest at shutdown
	retryAfter = 30 * time.Second // for a caller who finds the queue full
)

// Queue sends mail later, one at a time and in order. If a mail fails it is tried again, and the mails behind it wait.
type Queue struct {
	// Backoff is the pause after each failed try but the last, so there is one try more than there are pauses. Change
	// it only before Run.
	Backoff []time.Duration

	sender  Sender
	log     *slog.Logger
	waiting chan Message

	mu     sync.Mutex // guards closed, and sending to waiting against closing it
	closed bool
}

// NewQueue makes a queue in front of a sender. It delivers nothing until Run.
func NewQueue(sender Sender, log *slog.Logger) *Queue {
	return &Queue{
		Backoff: []time.Duration{1 * time.Second, 5 * time.Second},
		sender:  sender,
		log:     log,
		waiting: make(chan Message, queueSize),
	}
}

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
	select {
	case q.waiting <- m:
		return nil
	default:
		// Logged here, because some callers must not let their answer depend on it.
		q.log.Error("mail refused: too many are waiting", "mail", m)
		full := fault.New(fault.Unavailable, "mail could not be queued: too many mails are waiting")
		full.RetryAfter = retryAfter
		return full
	}
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
	for m := range q.waiting {
		if sending.Err() != nil {
			q.log.Error("mail lost at shutdown", "to", m.To)
			continue
		}
		q.deliver(sending, ctx.Done(), m)
	}
}

func (q *Queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	close(q.waiting)
}

// deliver tries until the mail is sent or the tries are used up. Once stopping is closed, there are no pauses and only
// one more try.
func (q *Queue) deliver(ctx context.Context, stopping <-chan struct{}, m Message) {
	for try := 0; ; try++ {
		last := try == len(q.Backoff) || isClosed(stopping)
		err := q.sender.Send(ctx, m)
		if err == nil {
			return
		}
		if last {
			q.log.Error("mail lost", "to", m.To, "tries", try+1, "error", err)
			return
		}
		q.log.Warn("mail failed, will be tried again", "to", m.To, "pause", q.Backoff[try], "error", err)
		select {
		case <-stopping:
		case <-time.After(q.Backoff[try]):
		}
	}
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
