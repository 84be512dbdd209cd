package route

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
	"github.com/go-json-experiment/json"

	"writ/internal/fault"
	"writ/internal/principal"
)

const eventStreamType = "text/event-stream"

// How a stream of events is paced and bounded. Each reader has a goroutine and a position of its own, so that a slow
// one holds up nobody.
const (
	// EventsAtOnce is how many events a feed reads at most in one step.
	EventsAtOnce = 100
	// RightsCheck is how often a long answer checks whether its reader may still read.
	RightsCheck = 5 * time.Second

	streamPoll      = time.Second      // for what other replicas wrote
	streamHeartbeat = 15 * time.Second // proxies end a connection that is silent for long
	streamWrite     = 10 * time.Second // for a reader to take a part
)

// Feed is what a stream sends. It is used by one goroutine.
type Feed interface {
	// Position is the id that resumes behind all that was read.
	Position() string
	// Next reads what comes then; more says that it may not be all.
	Next(ctx context.Context) (events []Event, more bool, err error)
	// Changed is closed when there may be more; nil: the feed must be polled.
	Changed() <-chan struct{}
}

// Event is one event of a feed.
type Event struct {
	Kind, ID string
	// Body is what a caller may see of it; nil: nothing.
	Body func(caller principal.Principal) any
}

// Stream mounts a route that answers with events as they happen, until the reader leaves, loses the right to read, or
// the server stops. slots are for a person and an organization. B is what the document says of an event's data.
func Stream[I, B any](
	r *Router, rt Route, slots *Slots, begin func(ctx context.Context, caller principal.Principal, in *I) (Feed, error),
) {
	HandleOutput(r, rt, func(ctx context.Context, caller principal.Principal, in *I) (*huma.StreamResponse, error) {
		feed, err := begin(ctx, caller, in)
		if err != nil {
			return nil, err
		}
		release, ok := slots.Take(caller.UserID, caller.OrgID)
		if !ok {
			busy := fault.New(fault.TooMany, "too many streams are open: close one, or read the list instead")
			busy.RetryAfter = streamHeartbeat
			return nil, busy
		}
		return &huma.StreamResponse{Body: func(answer huma.Context) {
			defer release()
			request, w := humago.Unwrap(answer)
			r.streamFeed(w, request, rt, caller, feed)
		}}, nil
	})
	responses := r.operation(rt).Responses
	responses[strconv.Itoa(http.StatusOK)].Content = map[string]*huma.MediaType{eventStreamType: {Schema: Schema[B](r)}}
	responses[strconv.Itoa(http.StatusTooManyRequests)] = r.errorResponse(rt.Path, http.StatusTooManyRequests)
}

// SetStreamPatience sets how long a reader may take for a part of a stream, for streams that begin from then on.
func (s *server) SetStreamPatience(d time.Duration) { s.patience.Store(int64(d)) }

func (s *server) streamFeed(
	w http.ResponseWriter, r *http.Request, rt Route, caller principal.Principal, feed Feed,
) {
	out := &eventStream{w: w, controller: http.NewResponseController(w), patience: time.Duration(s.patience.Load())}
	if err := out.begin(r.Method == http.MethodHead, feed.Position()); err != nil || r.Method == http.MethodHead {
		return // the answer has begun: nobody can be told
	}
	watched, end := s.Watch(r.Context(), caller)
	defer end()
	if err := s.follow(r.WithContext(watched), rt, out, feed); err != nil && r.Context().Err() == nil {
		// The reader learns why the stream ends; that it ended is no failure of the server.
		_ = out.send("end", "", struct {
			Message string `json:"message"`
		}{s.Render(r.Context(), err).Message})
	}
}

// follow sends what a feed has until the request's context, which Watch gave, ends. Before any is sent, and from time
// to time, the reader is admitted again: a token ends, a session is revoked, a member leaves.
func (s *server) follow(r *http.Request, rt Route, out *eventStream, feed Feed) error {
	poll, check, beat := time.NewTicker(streamPoll), time.NewTicker(RightsCheck), time.NewTicker(streamHeartbeat)
	defer poll.Stop()
	defer check.Stop()
	defer beat.Stop()
	atOnce := make(chan struct{})
	close(atOnce)
	for {
		changed := feed.Changed()
		more, err := s.sendEvents(r, rt, out, feed)
		if cause := context.Cause(r.Context()); cause != nil {
			return cause // what failed did so because of it
		}
		if err != nil {
			return err
		}
		if more { // heartbeats, checks and the end come all the same: a filter may let nothing through for long
			changed = atOnce
		}
		select {
		case <-changed:
		case <-poll.C:
		case <-beat.C:
			err = out.alive(feed.Position())
		case <-check.C:
			_, err = s.Admit(r, rt)
		case <-r.Context().Done():
			return context.Cause(r.Context())
		}
		if err != nil {
			return err
		}
	}
}

// sendEvents sends what the caller may see of the next events, and reports whether there may be more.
func (s *server) sendEvents(r *http.Request, rt Route, out *eventStream, feed Feed) (bool, error) {
	events, more, err := feed.Next(r.Context())
	if err != nil || len(events) == 0 {
		return more, err
	}
	caller, err := s.Admit(r, rt)
	if err != nil {
		return false, err
	}
	for _, e := range events {
		body := e.Body(caller)
		if body == nil {
			continue
		}
		if err := out.send(e.Kind, e.ID, body); err != nil {
			return false, err
		}
	}
	return more, nil
}

// eventStream writes server-sent events. A reader who does not take a part in time is disconnected.
type eventStream struct {
	w          http.ResponseWriter
	controller *http.ResponseController
	patience   time.Duration
}

// begin writes the head of the answer and the reader's position: a reader who is cut off before the first event can
// resume too.
func (s *eventStream) begin(headOnly bool, position string) error {
	s.w.Header().Set("Content-Type", eventStreamType)
	s.w.Header().Set("X-Accel-Buffering", "no") // proxies must not hold events back
	if headOnly {
		s.w.WriteHeader(http.StatusOK)
		return nil
	}
	// The server's own limit is for requests that end.
	if err := s.controller.SetReadDeadline(time.Time{}); err != nil {
		return fmt.Errorf("begin a stream: %w", err)
	}
	return s.write("retry: 3000\nid: " + position + "\nevent: ready\ndata: {}\n\n")
}

// alive says that nothing happened, and the reader's position by now: what a filter left out need not be read again.
func (s *eventStream) alive(position string) error {
	return s.write(": alive\nid: " + position + "\n\n")
}

// send writes one event. JSON has no line breaks, so its data is one line.
func (s *eventStream) send(kind, id string, data any) error {
	text, err := json.Marshal(data, json.Deterministic(true))
	if err != nil {
		return fmt.Errorf("encode an event of %s: %w", kind, err)
	}
	if id != "" {
		id = "id: " + id + "\n"
	}
	return s.write(id + "event: " + kind + "\ndata: " + string(text) + "\n\n")
}

func (s *eventStream) write(part string) error {
	if err := s.controller.SetWriteDeadline(time.Now().Add(s.patience)); err != nil {
		return fmt.Errorf("write to a stream: %w", err)
	}
	if _, err := s.w.Write([]byte(part)); err != nil {
		return fmt.Errorf("write to a stream: %w: %w", context.Canceled, err)
	}
	return s.controller.Flush()
}
