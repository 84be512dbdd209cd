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
	"github.com/go-json-experiment/json"

	"writ/internal/fault"
	"writ/internal/notification/notice"
	"writ/internal/principal"
)

const eventStreamType = "text/event-stream"

// How a stream of events is paced and bounded. Each reader has a goroutine and a
// place in the events of its own, so that a slow one holds up nobody.
const (
	streamsPerUser  = 5
	streamsAtAll    = 1000
	eventsAtOnce    = 100
	streamLook      = time.Second      // for what other replicas wrote
	streamCheck     = 5 * time.Second  // whether the reader may still read
	streamHeartbeat = 15 * time.Second // proxies end what is silent for long
	streamWrite     = 10 * time.Second // for a reader to take a part
)

// openStreams counts the streams of this process.
type openStreams struct {
	mu    sync.Mutex // guards the rest
	users map[string]int
	all   int
}

// enter counts a stream of a person until leave is called.
func (o *openStreams) enter(userID string) (leave func(), err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.users[userID] >= streamsPerUser || o.all >= streamsAtAll {
		busy := fault.New(fault.TooMany, "too many streams are open: close one, or list the requests instead")
		busy.RetryAfter = streamHeartbeat
		return nil, busy
	}
	if o.users == nil {
		o.users = map[string]int{}
	}
	o.users[userID]++
	o.all++
	return func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		if o.all--; o.users[userID] == 1 {
			delete(o.users, userID)
			return
		}
		o.users[userID]--
	}, nil
}

// StreamedEventBody is the data of an event in the stream.
type StreamedEventBody struct {
	Number    int64       `json:"number" doc:"Of the event; also its id."`
	Kind      notice.Kind `json:"kind"`
	At        time.Time   `json:"at"`
	Title     string      `json:"title"`
	RequestID string      `json:"requestId"`
	Status    string      `json:"status" doc:"Of the request, now."`
	Server    string      `json:"server"`
	Tool      string      `json:"tool"`
	AgentID   string      `json:"agentId,omitzero"`
	Risk      string      `json:"risk,omitzero"`
	URL       string      `json:"url" doc:"Opens the request; it approves nothing."`
}

// mountStream serves events as they happen, by hand: the answer has no end of its
// own.
func (a *API) mountStream(r Route) {
	if err := r.check(); err != nil {
		panic(err) // a mistake in this package, found by any test
	}
	a.routes = append(a.routes, r)
	a.mux.HandleFunc(r.Method+" "+r.Path, func(w http.ResponseWriter, request *http.Request) {
		caller, err := a.admit(request, r)
		if err == nil {
			err = a.streamEvents(w, request, r, caller)
		}
		if err != nil {
			a.writeError(w, request, err)
		}
	})
	content := func(kind string, t reflect.Type) map[string]*huma.MediaType {
		return map[string]*huma.MediaType{kind: {Schema: a.huma.OpenAPI().Components.Schemas.Schema(t, true, "")}}
	}
	responses := map[string]*huma.Response{"200": {Description: "OK", Content: content(eventStreamType, reflect.TypeFor[StreamedEventBody]())}}
	for _, status := range append(errorsOf(r), http.StatusTooManyRequests) {
		responses[strconv.Itoa(status)] = &huma.Response{Description: http.StatusText(status), Content: content("application/json", reflect.TypeFor[ErrorBody]())}
	}
	a.huma.OpenAPI().AddOperation(&huma.Operation{
		OperationID: operationID(r), Method: r.Method, Path: r.Path, Summary: r.Summary, Tags: []string{r.Tag}, Security: security(r.Mode),
		Parameters: []*huma.Param{
			{Name: organizationQuery, In: "query", Description: "The organization. Absent: the only one of the caller.", Schema: &huma.Schema{Type: huma.TypeString}},
		},
		Responses: responses,
	})
}

// streamEvents answers with events until the reader, their right to read, or the
// server goes.
func (a *API) streamEvents(w http.ResponseWriter, r *http.Request, route Route, caller principal.Principal) error {
	after, err := a.resumeAfter(r, caller.OrgID)
	if err != nil {
		return err
	}
	leave, err := a.streams.enter(caller.UserID)
	if err != nil {
		return err
	}
	defer leave()
	out := &eventStream{w: w, controller: http.NewResponseController(w)}
	if err := out.begin(r.Method == http.MethodHead, after); err != nil || r.Method == http.MethodHead {
		return nil //nolint:nilerr // the answer has begun: nobody can be told
	}
	if err := a.follow(r, route, out, caller, after); err != nil && r.Context().Err() == nil {
		// Why it ends is for the reader; that it ended is no failure of the server.
		_ = out.send("end", "", struct {
			Message string `json:"message"`
		}{a.render(r.Context(), err).Message.text})
	}
	return nil
}

// resumeAfter is the number of the last event that the reader has seen: what the
// header says, or the latest there is.
func (a *API) resumeAfter(r *http.Request, orgID string) (int64, error) {
	last, err := a.Approvals.LastEvent(r.Context(), orgID)
	if err != nil {
		return 0, err
	}
	seen := r.Header.Get("Last-Event-ID")
	if seen == "" {
		return last, nil
	}
	number, err := strconv.ParseInt(seen, 10, 64)
	if err != nil || number < 0 {
		return 0, fault.Field("Last-Event-ID", "must be the id of an event of this stream")
	}
	return min(number, last), nil // a restored server may have fewer than it once sent
}

// follow sends events from a number on. Before any is sent, and from time to time,
// the reader is admitted anew: a token ends, a session is revoked, a member leaves.
func (a *API) follow(r *http.Request, route Route, out *eventStream, caller principal.Principal, after int64) error {
	look, check, beat := time.NewTicker(streamLook), time.NewTicker(streamCheck), time.NewTicker(streamHeartbeat)
	defer look.Stop()
	defer check.Stop()
	defer beat.Stop()
	for {
		changed := a.Approvals.Changed(caller.OrgID)
		sent, err := a.sendEvents(r, route, out, caller.OrgID, &after)
		if err != nil {
			return err
		}
		if sent {
			continue
		}
		select {
		case <-changed:
		case <-look.C:
		case <-beat.C:
			err = out.comment("alive")
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

// sendEvents sends those after a number that the caller may see, moves the number
// on, and reports whether there were any.
func (a *API) sendEvents(r *http.Request, route Route, out *eventStream, orgID string, after *int64) (bool, error) {
	events, err := a.Notifications.Sources.Events(r.Context(), orgID, *after, eventsAtOnce)
	if err != nil || len(events) == 0 {
		return false, err
	}
	caller, err := a.admit(r, route)
	if err != nil {
		return false, err
	}
	for _, e := range events {
		*after = e.Number
		if caller.OrgID != e.OrgID || !caller.May(principal.DecideApprovals) && caller.UserID != e.Request.OwnerID {
			continue
		}
		if err := out.send(string(e.Kind), strconv.FormatInt(e.Number, 10), a.streamedEvent(e)); err != nil {
			return false, err
		}
	}
	return true, nil
}

func (a *API) streamedEvent(e notice.Event) StreamedEventBody {
	return StreamedEventBody{
		Number: e.Number, Kind: e.Kind, At: e.At, Title: e.Title(), RequestID: e.Request.ID, Status: e.Request.Status, Server: e.Request.Server,
		Tool: e.Request.Tool, AgentID: e.Request.AgentID, Risk: e.Request.Risk, URL: notice.Link(a.PublicURL.String(), e.Request.ID),
	}
}

// eventStream writes server-sent events. A reader who does not take a part in time
// is let go.
type eventStream struct {
	w          http.ResponseWriter
	controller *http.ResponseController
}

// begin writes the head of the answer, and where the reader stands: who is cut off
// before the first event can resume too.
func (s *eventStream) begin(headOnly bool, after int64) error {
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
	return s.write(fmt.Sprintf("retry: 3000\nid: %d\nevent: ready\ndata: {}\n\n", after))
}

func (s *eventStream) comment(text string) error { return s.write(": " + text + "\n\n") }

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
	if err := s.controller.SetWriteDeadline(time.Now().Add(streamWrite)); err != nil {
		return fmt.Errorf("write to a stream: %w", err)
	}
	if _, err := s.w.Write([]byte(part)); err != nil {
		return fmt.Errorf("write to a stream: %w: %w", context.Canceled, err)
	}
	return s.controller.Flush()
}
