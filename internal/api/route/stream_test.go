package route

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"writ/internal/fault"
	"writ/internal/principal"
)

// endless is a feed that is never at its end and whose filter lets nothing through.
type endless struct {
	looks int
	stop  func()
}

func (e *endless) Position() string         { return "1" }
func (e *endless) Changed() <-chan struct{} { return nil }
func (e *endless) Next(ctx context.Context) ([]Event, bool, error) {
	if e.looks++; e.looks == 3 {
		e.stop()
	}
	if e.looks > 3 { // the stream learns of it from another goroutine
		time.Sleep(time.Millisecond)
	}
	if e.looks > 60_000 {
		return nil, false, fault.New(fault.Internal, "it was looked for ever")
	}
	return nil, true, ctx.Err()
}

// TestAStreamThatSearchesEnds with the server: its heartbeats and checks come by the
// same way.
func TestAStreamThatSearchesEnds(t *testing.T) {
	t.Parallel()
	r := New(Config{})
	w := httptest.NewRecorder()
	out := &eventStream{w: w, controller: http.NewResponseController(w)}
	request := httptest.NewRequest(http.MethodGet, "/", nil)
	watched, end := r.Watch(request.Context(), principal.Principal{})
	defer end()
	err := r.follow(request.WithContext(watched), Route{}, out, &endless{stop: r.Stop})
	if !fault.Is(err, fault.Unavailable) {
		t.Errorf("it ends with %v", err)
	}
}

// quiet is a feed in which nothing happens.
type quiet struct{}

func (quiet) Position() string                            { return "1" }
func (quiet) Changed() <-chan struct{}                    { return nil }
func (quiet) Next(context.Context) ([]Event, bool, error) { return nil, false, nil }

// TestAStreamEndsWithTheKill of its key, although nothing happens in it; that of a person goes on.
func TestAStreamEndsWithTheKill(t *testing.T) {
	t.Parallel()
	var stopped atomic.Bool
	r := New(Config{Stopped: func(_ context.Context, caller principal.Principal) error {
		if stopped.Load() && caller.KeyID == "k" {
			return fault.New(fault.Forbidden, "stopped")
		}
		return nil
	}})
	open := func(caller principal.Principal) (<-chan string, context.CancelFunc) {
		ctx, leave := context.WithTimeout(t.Context(), time.Minute)
		ended := make(chan string, 1)
		go func() {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
				r.streamFeed(w, request.WithContext(ctx), Route{}, caller, quiet{})
			}))
			defer server.Close()
			ended <- read(t, server.URL)
		}()
		return ended, leave
	}
	key, leaveKey := open(principal.Principal{Kind: principal.Key, KeyID: "k"})
	defer leaveKey()
	person, leavePerson := open(principal.Principal{Kind: principal.User, KeyID: "k"})
	defer leavePerson()
	stopped.Store(true)
	if said := <-key; !strings.Contains(said, "event: end") || !strings.Contains(said, "stopped") {
		t.Errorf("the stream of a stopped key says %q", said)
	}
	select {
	case said := <-person:
		t.Errorf("the stream of a person ends too: %q", said)
	default:
	}
}

func read(t *testing.T, url string) string {
	t.Helper()
	answer, err := http.Get(url)
	if err != nil {
		t.Error(err)
		return ""
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Error(err)
	}
	return string(text)
}
