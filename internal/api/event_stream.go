package api

import (
	"context"
	"fmt"
	"net/http"
	"reflect"
	"strconv"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
	"github.com/go-json-experiment/json"

	"writ/internal/fault"
	"writ/internal/principal"
)

const eventStreamType = "text/event-stream"

// How a stream of events is paced and bounded. Each reader has a goroutine and a
// place of its own in what is told, so that a slow one holds up nobody.
const (
	eventsAtOnce    = 100
	streamLook      = time.Second      // for what other replicas wrote
	streamCheck     = 5 * time.Second  // whether the reader may still read
	streamHeartbeat = 15 * time.Second // proxies end what is silent for long
	streamWrite     = 10 * time.Second // for a reader to take a part
)

// openStreams counts and limits the streams of one kind in this process.
type openStreams struct {
	perUser, perOrganization, atAll int

	mu            sync.Mutex // guards the rest
	users         map[string]int
	organizations map[string]int
	all           int
}

// allow sets how many there may be at a time. None are, before.
func (o *openStreams) allow(perUser, perOrganization, atAll int) *openStreams {
	o.perUser, o.perOrganization, o.atAll = perUser, perOrganization, atAll
	return o
}

// enter counts a stream of a person in an organization until leave is called.
func (o *openStreams) enter(userID, orgID string) (leave func(), err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.users[userID] >= o.perUser || o.organizations[orgID] >= o.perOrganization || o.all >= o.atAll {
		busy := fault.New(fault.TooMany, "too many streams are open: close one, or read the list instead")
		busy.RetryAfter = streamHeartbeat
		return nil, busy
	}
	if o.users == nil {
		o.users, o.organizations = map[string]int{}, map[string]int{}
	}
	o.users[userID]++
	o.organizations[orgID]++
	o.all++
	return func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.all--
		uncount(o.users, userID)
		uncount(o.organizations, orgID)
	}, nil
}

func uncount(counts map[string]int, id string) {
	if counts[id]--; counts[id] == 0 {
		delete(counts, id)
	}
}

// feed is what a stream tells. It is used by one goroutine.
type feed interface {
	// place is the id that resumes behind all that was read.
	place() string
	// next reads what comes then; more tells that it may not be all.
	next(ctx context.Context) (events []feedEvent, more bool, err error)
	// changed is closed when there may be more; nil: only looking tells.
	changed() <-chan struct{}
}

// feedEvent is one thing to tell.
type feedEvent struct {
	kind, id string
	// body is what a caller may see of it; nil: nothing.
	body func(caller principal.Principal) any
}

// handleStream declares a route that answers with events as they happen, until the
// reader, their right to read, or the server goes. B is what the document says of an
// event's data.
func handleStream[I, B any](
	a *API, r Route, open *openStreams,
	begin func(ctx context.Context, caller principal.Principal, in *I) (feed, error),
) {
	handle(a, r, func(ctx context.Context, caller principal.Principal, in *I) (*huma.StreamResponse, error) {
		f, err := begin(ctx, caller, in)
		if err != nil {
			return nil, err
		}
		leave, err := open.enter(caller.UserID, caller.OrgID)
		if err != nil {
			return nil, err
		}
		return &huma.StreamResponse{Body: func(answer huma.Context) {
			defer leave()
			request, w := humago.Unwrap(answer)
			a.streamFeed(w, request, r, f)
		}}, nil
	})
	responses := a.huma.OpenAPI().Paths[r.Path].Get.Responses
	content := func(kind string, t reflect.Type) map[string]*huma.MediaType {
		return map[string]*huma.MediaType{kind: {Schema: a.huma.OpenAPI().Components.Schemas.Schema(t, true, "")}}
	}
	responses[strconv.Itoa(http.StatusOK)].Content = content(eventStreamType, reflect.TypeFor[B]())
	responses[strconv.Itoa(http.StatusTooManyRequests)] = &huma.Response{
		Description: http.StatusText(http.StatusTooManyRequests),
		Content:     content("application/json", reflect.TypeFor[ErrorBody]()),
	}
}

func (a *API) streamFeed(w http.ResponseWriter, r *http.Request, route Route, f feed) {
	out := &eventStream{w: w, controller: http.NewResponseController(w), patience: time.Duration(a.patience.Load())}
	if err := out.begin(r.Method == http.MethodHead, f.place()); err != nil || r.Method == http.MethodHead {
		return // the answer has begun: nobody can be told
	}
	if err := a.follow(r, route, out, f); err != nil && r.Context().Err() == nil {
		// Why it ends is for the reader; that it ended is no failure of the server.
		_ = out.send("end", "", struct {
			Message string `json:"message"`
		}{a.render(r.Context(), err).Message.text})
	}
}

// follow sends what a feed has. Before any is sent, and from time to time, the
// reader is admitted anew: a token ends, a session is revoked, a member leaves.
func (a *API) follow(r *http.Request, route Route, out *eventStream, f feed) error {
	look, check, beat := time.NewTicker(streamLook), time.NewTicker(streamCheck), time.NewTicker(streamHeartbeat)
	defer look.Stop()
	defer check.Stop()
	defer beat.Stop()
	atOnce := make(chan struct{})
	close(atOnce)
	for {
		changed := f.changed()
		more, err := a.sendEvents(r, route, out, f)
		if err != nil {
			return err
		}
		if more { // whose beats, checks and end come all the same: a filter may let nothing through for long
			changed = atOnce
		}
		select {
		case <-changed:
		case <-look.C:
		case <-beat.C:
			err = out.alive(f.place())
		case <-check.C:
			_, err = a.admit(r, route)
		case <-a.ready.begun:
			return fault.New(fault.Unavailable, "the server is stopping")
		case <-r.Context().Done():
			return r.Context().Err()
		}
		if err != nil {
			return err
		}
	}
}

// sendEvents sends what the caller may see of what comes next, and reports whether
// there may be more.
func (a *API) sendEvents(r *http.Request, route Route, out *eventStream, f feed) (bool, error) {
	events, more, err := f.next(r.Context())
	if err != nil || len(events) == 0 {
		return more, err
	}
	caller, err := a.admit(r, route)
	if err != nil {
		return false, err
	}
	for _, e := range events {
		body := e.body(caller)
		if body == nil {
			continue
		}
		if err := out.send(e.kind, e.id, body); err != nil {
			return false, err
		}
	}
	return more, nil
}

// eventStream writes server-sent events. A reader who does not take a part in time
// is let go.
type eventStream struct {
	w          http.ResponseWriter
	controller *http.ResponseController
	patience   time.Duration
}

// begin writes the head of the answer, and where the reader stands: who is cut off
// before the first event can resume too.
func (s *eventStream) begin(headOnly bool, place string) error {
	s.w.Header().Set("Content-Type", eventStreamType)
	s.w.Header().Set("X-Accel-Buffering", "no") // what proxies hold back is late
	if headOnly {
		s.w.WriteHeader(http.StatusOK)
		return nil
	}
	// The server's own limit is for requests that end.
	if err := s.controller.SetReadDeadline(time.Time{}); err != nil {
		return fmt.Errorf("begin a stream: %w", err)
	}
	return s.write("retry: 3000\nid: " + place + "\nevent: ready\ndata: {}\n\n")
}

// alive says that nothing happened, and where the reader stands by now: what a
// filter kept back need not be looked through again.
func (s *eventStream) alive(place string) error { return s.write(": alive\nid: " + place + "\n\n") }

// send writes one event. JSON has no line breaks, so its data is one line.
func (s *eventStream) send(kind, id string, data any) error {
	text, err := json.Marshal(data)
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
