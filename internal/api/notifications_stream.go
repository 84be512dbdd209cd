package api

import (
	"context"
	"strconv"
	"time"

	"writ/internal/fault"
	"writ/internal/notification/notice"
	"writ/internal/principal"
)

// How many streams of approvals are open at a time.
const (
	approvalStreamsPerUser         = 5
	approvalStreamsPerOrganization = 500
	approvalStreamsAtAll           = 1000
)

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
	OrganizationQuery
	LastEventID string `header:"Last-Event-ID" maxLength:"100" doc:"The id of the last event that was seen. Absent: what happens from now on."`
}

// streamEvents is the feed of what happens to requests, from the number on of the
// last event that the reader has seen, or the latest there is.
func (a *API) streamEvents(ctx context.Context, caller principal.Principal, in *streamEventsInput) (feed, error) {
	last, err := a.Approvals.LastEvent(ctx, caller.OrgID)
	if err != nil {
		return nil, err
	}
	f := &approvalFeed{api: a, orgID: caller.OrgID, after: last}
	if in.LastEventID == "" {
		return f, nil
	}
	number, err := strconv.ParseInt(in.LastEventID, 10, 64)
	if err != nil || number < 0 {
		return nil, fault.Field("Last-Event-ID", "must be the id of an event of this stream")
	}
	f.after = min(number, last) // a restored server may have fewer than it once sent
	return f, nil
}

// approvalFeed is what happens to the requests of an organization.
type approvalFeed struct {
	api   *API
	orgID string
	after int64 // number of the last event that was read
}

func (f *approvalFeed) Position() string { return strconv.FormatInt(f.after, 10) }

func (f *approvalFeed) Changed() <-chan struct{} { return f.api.Approvals.Changed(f.orgID) }

func (f *approvalFeed) Next(ctx context.Context) (told []feedEvent, more bool, err error) {
	events, err := f.api.Notifications.Sources.Events(ctx, f.orgID, f.after, eventsAtOnce)
	if err != nil {
		return nil, false, err
	}
	for _, e := range events {
		f.after = e.Number
		told = append(told, feedEvent{Kind: string(e.Kind), ID: f.Position(), Body: func(caller principal.Principal) any {
			if caller.OrgID != e.OrgID || !caller.May(principal.DecideApprovals) && caller.UserID != e.Request.OwnerID {
				return nil
			}
			return f.api.streamedEvent(e)
		}})
	}
	return told, len(told) > 0, nil
}

func (a *API) streamedEvent(e notice.Event) StreamedEventBody {
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
		URL:       notice.Link(a.PublicURL.String(), e.Request.ID),
	}
}
