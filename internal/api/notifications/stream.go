package notifications

import (
	"context"
	"strconv"
	"time"

	"writ/internal/api/route"
	"writ/internal/fault"
	"writ/internal/notification/notice"
	"writ/internal/principal"
)

// How many streams of approvals are open at a time.
const (
	streamsPerUser         = 5
	streamsPerOrganization = 500
	streamsInTotal         = 1000
)

// Events are what happens to the requests for approval of an organization.
type Events interface {
	// LastEvent is the number of the latest event.
	LastEvent(ctx context.Context, orgID string) (int64, error)
	// Changed is closed when something happens in this process.
	Changed(orgID string) <-chan struct{}
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

type streamEventsInput struct {
	route.OrganizationQuery
	LastEventID string `header:"Last-Event-ID" maxLength:"100" doc:"The id of the last event that was received. Absent: only new events."`
}

// streamEvents is the feed of events after the last one that the reader has received, or after the
// latest one.
func (h *Handlers) streamEvents(
	ctx context.Context, caller principal.Principal, in *streamEventsInput,
) (route.Feed, error) {
	last, err := h.Events.LastEvent(ctx, caller.OrgID)
	if err != nil {
		return nil, err
	}
	f := &feed{handlers: h, orgID: caller.OrgID, after: last}
	if in.LastEventID == "" {
		return f, nil
	}
	number, err := strconv.ParseInt(in.LastEventID, 10, 64)
	if err != nil || number < 0 {
		return nil, fault.Field("Last-Event-ID", "must be the id of an event of this stream")
	}
	f.after = min(number, last) // a restored server may have fewer events than it once sent
	return f, nil
}

// feed is the events of an organization.
type feed struct {
	handlers *Handlers
	orgID    string
	after    int64 // number of the last event that was read
}

func (f *feed) Position() string { return strconv.FormatInt(f.after, 10) }

func (f *feed) Changed() <-chan struct{} { return f.handlers.Events.Changed(f.orgID) }

func (f *feed) Next(ctx context.Context) (events []route.Event, more bool, err error) {
	happened, err := f.handlers.Notifications.Sources.Events(ctx, f.orgID, f.after, route.EventsAtOnce)
	for _, e := range happened {
		f.after = e.Number
		events = append(events, route.Event{Kind: string(e.Kind), ID: f.Position(), Body: func(
			caller principal.Principal,
		) any {
			if caller.OrgID != e.OrgID || !caller.May(principal.DecideApprovals) && caller.UserID != e.Request.OwnerID {
				return nil
			}
			return f.handlers.streamedEvent(e)
		}})
	}
	return events, len(events) > 0, err
}

func (h *Handlers) streamedEvent(e notice.Event) StreamedEventBody {
	return StreamedEventBody{
		Number:    e.Number,
		Kind:      e.Kind,
		At:        e.At,
		Title:     e.Title(),
		RequestID: e.Request.ID,
		Status:    e.Request.Status,
		Server:    e.Request.Server,
		Tool:      e.Request.Tool,
		AgentID:   e.Request.AgentID,
		Risk:      e.Request.Risk,
		URL:       notice.Link(h.PublicURL.String(), e.Request.ID),
	}
}
