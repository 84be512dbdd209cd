package mail_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"writ/internal/fault"
	"writ/internal/mail"
)

type senderFunc func(context.Context, mail.Message) error

func (f senderFunc) Send(ctx context.Context, m mail.Message) error { return f(ctx, m) }

// try is one call of the sender behind a queue: what, and how long after start.
type try struct {
	Subject string
	After   time.Duration
}

func subject(s string) mail.Message {
	return mail.Message{To: "ada@example.org", Subject: s, Text: "your code is 493817"}
}

// runQueue starts a queue in a synctest bubble. The sender behind it is answer,
// and each call is recorded. stop ends the queue and waits for it.
func runQueue(
	t *testing.T, log *slog.Logger, answer func(ctx context.Context, call int) error,
) (q *mail.Queue, tries *[]try, stop func()) {
	t.Helper()
	calls := 0
	return runQueueOf(t, log, func(ctx context.Context, _ mail.Message) error {
		calls++
		return answer(ctx, calls)
	})
}

// runQueueOf is runQueue where the answer depends on the mail.
func runQueueOf(t *testing.T, log *slog.Logger, answer senderFunc) (q *mail.Queue, tries *[]try, stop func()) {
	t.Helper()
	start := time.Now()
	tries = new([]try) // written by the worker; read after synctest.Wait or stop
	q = mail.NewQueue(senderFunc(func(ctx context.Context, m mail.Message) error {
		*tries = append(*tries, try{m.Subject, time.Since(start)})
		return answer(ctx, m)
	}), log)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		q.Run(ctx)
	}()
	return q, tries, func() {
		cancel()
		<-done
	}
}

func mustQueue(t *testing.T, q *mail.Queue, subjects ...string) {
	t.Helper()
	for _, s := range subjects {
		if err := q.Send(t.Context(), subject(s)); err != nil {
			t.Fatalf("queue %q: %v", s, err)
		}
	}
}

// everyTry is when a mail is tried that always fails.
var everyTry = []time.Duration{
	0, time.Second, 6 * time.Second, 36 * time.Second, 156 * time.Second, 456 * time.Second, 1056 * time.Second,
}

// TestQueueTriesForAQuarterOfAnHour: servers that greylist want the next try in minutes. The mail behind does not wait.
func TestQueueTriesForAQuarterOfAnHour(t *testing.T) {
	t.Parallel()
	for failures := range 8 {
		t.Run(fmt.Sprint(failures, " failures"), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { failsSoOften(t, failures) })
		})
	}
}

func failsSoOften(t *testing.T, failures int) {
	t.Helper()
	var log bytes.Buffer
	left := failures
	sender := func(_ context.Context, m mail.Message) error {
		if m.Subject == "b" || left == 0 {
			return nil
		}
		left--
		return fault.Wrap(errNeverSent, fault.Unavailable, "mail could not be sent")
	}
	q, tries, stop := runQueueOf(t, slog.New(slog.NewTextHandler(&log, nil)), sender)
	mustQueue(t, q, "a", "b")
	time.Sleep(time.Hour) // of the bubble's clock
	stop()
	want := []try{{"a", 0}, {"b", 0}}
	for _, at := range everyTry[1:min(failures+1, len(everyTry))] {
		want = append(want, try{"a", at})
	}
	if diff := cmp.Diff(want, *tries); diff != "" {
		t.Errorf("tries (-want +got):\n%s", diff)
	}
	lost := failures == len(everyTry)
	if got := strings.Contains(log.String(), "level=ERROR msg=\"mail lost\" to=ada@example.org tries=7"); got != lost {
		t.Errorf("loss logged = %v, want %v: %s", got, lost, log.String())
	}
	if got := q.Lost() == 1; got != lost {
		t.Errorf("%d mails are counted as lost, want %v that there is one", q.Lost(), lost)
	}
	if got := strings.Count(log.String(), errNeverSent.Error()); got != failures {
		t.Errorf("the log tells %d causes, want %d: %s", got, failures, log.String())
	}
	if strings.Contains(log.String(), "493817") || strings.Contains(log.String(), "code") {
		t.Errorf("the log shows the text: %s", log.String())
	}
}

// TestQueueGivesUpWhatIsRefused: it would take the room of others for nothing.
func TestQueueGivesUpWhatIsRefused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q, tries, stop := runQueue(t, slog.New(slog.DiscardHandler), func(context.Context, int) error {
			return fmt.Errorf("550 no such user: %w", mail.ErrRefused)
		})
		mustQueue(t, q, "a")
		time.Sleep(time.Hour)
		stop()
		if len(*tries) != 1 || q.Lost() != 1 {
			t.Errorf("%d tries, %d lost, want one of each", len(*tries), q.Lost())
		}
	})
}

// TestQueueBoundsWhatFailed: mails that wait for another try take the room of others.
func TestQueueBoundsWhatFailed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q, _, stop := runQueue(t, slog.New(slog.DiscardHandler), func(context.Context, int) error {
			return errNeverSent
		})
		for i := range 256 {
			mustQueue(t, q, fmt.Sprint("mail ", i))
		}
		synctest.Wait() // each has failed once
		if err := q.Send(t.Context(), subject("one too many")); !fault.Is(err, fault.Unavailable) || q.Lost() != 1 {
			t.Errorf("Send while 256 mails wait = %v, want Unavailable; %d are lost, want 1", err, q.Lost())
		}
		time.Sleep(time.Hour)
		mustQueue(t, q, "after all were lost")
		stop()
		if q.Lost() != 258 {
			t.Errorf("%d mails are lost, want 258", q.Lost())
		}
	})
}

func TestQueueBackoffCanBeSet(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		q := mail.NewQueue(senderFunc(func(context.Context, mail.Message) error {
			calls++
			return errNeverSent
		}), slog.New(slog.DiscardHandler))
		q.Backoff = nil
		mustQueue(t, q, "a")
		ctx, cancel := context.WithCancel(t.Context())
		go q.Run(ctx)
		synctest.Wait()
		cancel()
		synctest.Wait()
		if calls != 1 {
			t.Errorf("%d tries without back-off, want 1", calls)
		}
	})
}

func TestQueueSendDoesNotWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q, tries, stop := runQueue(t, slog.New(slog.DiscardHandler), func(context.Context, int) error {
			time.Sleep(3 * time.Second)
			return nil
		})
		start := time.Now()
		request, cancel := context.WithCancel(t.Context())
		if err := q.Send(request, subject("a")); err != nil {
			t.Fatal(err)
		}
		cancel() // the request is answered before the mail is sent
		if took := time.Since(start); took != 0 {
			t.Errorf("Send took %v, want nothing", took)
		}
		synctest.Wait()
		stop()
		if len(*tries) != 1 {
			t.Errorf("tries = %v, want one", *tries)
		}
	})
}

func TestQueueFull(t *testing.T) {
	t.Parallel()
	q := mail.NewQueue(senderFunc(nil), slog.New(slog.DiscardHandler)) // never run
	for i := range 256 {
		mustQueue(t, q, fmt.Sprint("mail ", i))
	}
	err := q.Send(t.Context(), subject("one too many"))
	f, ok := err.(*fault.Error)
	if !ok || f.Kind != fault.Unavailable || f.RetryAfter <= 0 {
		t.Errorf("Send to a full queue = %#v, want Unavailable with a time to retry after", err)
	}
}

func TestQueueDrainsAtTheEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		q, tries, stop := runQueue(t, slog.New(slog.NewTextHandler(&log, nil)), func(ctx context.Context, _ int) error {
			select {
			case <-time.After(2 * time.Second): // a slow server
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
		mustQueue(t, q, "a", "b", "c", "d", "e")
		synctest.Wait() // a is under way
		start := time.Now()
		stop()
		if took := time.Since(start); took != 5*time.Second {
			t.Errorf("the end took %v, want 5s", took)
		}
		want := []try{{"a", 0}, {"b", 2 * time.Second}, {"c", 4 * time.Second}}
		if diff := cmp.Diff(want, *tries); diff != "" {
			t.Errorf("tries (-want +got):\n%s", diff)
		}
		if got := strings.Count(log.String(), "level=ERROR"); got != 3 {
			t.Errorf("the log names %d lost mails, want 3: %s", got, log.String())
		}
		if err := q.Send(t.Context(), subject("late")); !fault.Is(err, fault.Unavailable) {
			t.Errorf("Send after the end = %v, want Unavailable", err)
		}
	})
}

func TestQueueDoesNotPauseAtTheEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q, tries, stop := runQueue(t, slog.New(slog.DiscardHandler), func(context.Context, int) error {
			return errNeverSent
		})
		mustQueue(t, q, "a", "b", "c")
		time.Sleep(1500 * time.Millisecond) // each failed twice and waits
		stop()
		at := 1500 * time.Millisecond
		want := []try{
			{"a", 0}, {"b", 0}, {"c", 0}, {"a", time.Second}, {"b", time.Second}, {"c", time.Second},
			{"a", at}, {"b", at}, {"c", at},
		}
		if diff := cmp.Diff(want, *tries); diff != "" {
			t.Errorf("tries (-want +got):\n%s", diff)
		}
	})
}
