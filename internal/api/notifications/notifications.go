// Package notifications serves messages about requests for approval and profiles: the
// notifications of a person, the stream of events, and the webhooks that events are sent to.
package notifications

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"writ/internal/api/route"
	"writ/internal/notification"
	"writ/internal/notification/notice"
	"writ/internal/notification/webhook"
	"writ/internal/page"
	"writ/internal/principal"
)

// Handlers serve notifications and webhooks.
type Handlers struct {
	Notifications *notification.Service
	Webhooks      *webhook.Service
	Events        Events
	PublicURL     *url.URL

	streams *route.Slots
}

// Mount serves the routes.
func (h *Handlers) Mount(r *route.Router) {
	h.mountNotifications(r.Tagged("notifications"))
	h.mountNotification(r.Tagged("notifications"))
	h.mountWebhooks(r.Tagged("webhooks"))
}

func (h *Handlers) mountNotifications(r *route.Router) {
	member := func(rt route.Route) route.Route { return rt.For(route.Person).Needs(principal.ReadOrganization) }
	route.Handle(r, member(route.Get("/notifications", "The notifications of the caller, newest first")), h.list)
	route.Handle(r, member(route.Get("/notifications/unread-count",
		"How many notifications the caller has not read")), h.countUnread)
	route.Handle(r, member(route.Post("/notifications/{id}/read", "Mark a notification as read")).
		Unrecorded().Answers(http.StatusNoContent), h.markRead)
	route.Handle(r, member(route.Post("/notifications/read-all", "Mark all notifications as read")).
		Unrecorded(), h.markAllRead)
	route.Handle(r, member(route.Get("/notifications/preferences", "How the caller wants to be notified")),
		h.getPreferences)
	route.Handle(r, member(route.Put("/notifications/preferences", "Change how the caller wants to be notified")).
		Unrecorded().Configures(), h.putPreferences)
	route.Stream[streamEventsInput, StreamedEventBody](r, member(route.Get("/notifications/stream",
		"What happens to requests for approval, as server-sent events; the header Last-Event-ID resumes")),
		h.slots(), h.streamEvents)
}

// mountNotification serves the same under the name that the specification gives to this controller. It shows no paths
// below that name, so that those of /notifications stand in for them (ADR 64).
func (h *Handlers) mountNotification(r *route.Router) {
	member := func(rt route.Route) route.Route { return rt.For(route.Person).Needs(principal.ReadOrganization) }
	route.Handle(r, member(route.Get("/notification", "As GET /notifications")), h.list)
	route.Handle(r, member(route.Get("/notification/unread-count", "As GET /notifications/unread-count")),
		h.countUnread)
	route.Handle(r, member(route.Post("/notification/{id}/read", "As POST /notifications/{id}/read")).
		Unrecorded().Answers(http.StatusNoContent), h.markRead)
	route.Handle(r, member(route.Post("/notification/read-all", "As POST /notifications/read-all")).
		Unrecorded(), h.markAllRead)
	route.Handle(r, member(route.Get("/notification/preferences", "As GET /notifications/preferences")),
		h.getPreferences)
	route.Handle(r, member(route.Put("/notification/preferences", "As PUT /notifications/preferences")).
		Unrecorded().Configures(), h.putPreferences)
	route.Stream[streamEventsInput, StreamedEventBody](r, member(route.Get("/notification/stream",
		"As GET /notifications/stream; both count together")), h.slots(), h.streamEvents)
}

// slots bound the streams of both names together.
func (h *Handlers) slots() *route.Slots {
	if h.streams == nil {
		h.streams = &route.Slots{Each: []int{streamsPerUser, streamsPerOrganization}, Total: streamsInTotal}
	}
	return h.streams
}

// NotificationBody is a notification of a person.
type NotificationBody struct {
	ID        string      `json:"id" format:"uuid"`
	Kind      notice.Kind `json:"kind" example:"approval.opened"`
	SubjectID string      `json:"subjectId" doc:"The approval request, proposed profile or webhook that it is about."`
	Title     string      `json:"title" example:"bank.pay waits for an approval (risk: high)"`
	Risk      string      `json:"risk" doc:"Of the request; empty: unknown."`
	CreatedAt time.Time   `json:"createdAt"`
	ReadAt    *time.Time  `json:"readAt" doc:"null: not read."`
}

func notificationBody(n notification.Notification) NotificationBody {
	return NotificationBody{
		ID:        n.ID,
		Kind:      n.Kind,
		SubjectID: n.SubjectID,
		Title:     n.Title,
		Risk:      n.Risk,
		CreatedAt: n.CreatedAt,
		ReadAt:    n.ReadAt,
	}
}

type listNotificationsInput struct {
	route.OrganizationQuery
	route.PageInput
	Unread string `query:"unread" enum:"true,false" doc:"true: only unread notifications."`
}

func (h *Handlers) list(
	ctx context.Context, caller principal.Principal, in *listNotificationsInput,
) (page.Page[NotificationBody], error) {
	found, err := h.Notifications.List(ctx, caller, in.Unread == "true", in.Cursor, in.Limit)
	return route.MapPage(found, notificationBody), err
}

// UnreadBody is how many notifications a person has not read.
type UnreadBody struct {
	Unread int `json:"unread" doc:"At most 1000 are counted."`
}

func (h *Handlers) countUnread(
	ctx context.Context, caller principal.Principal, _ *route.OrganizationQuery,
) (UnreadBody, error) {
	unread, err := h.Notifications.Unread(ctx, caller)
	return UnreadBody{unread}, err
}

type notificationInput struct {
	route.OrganizationQuery
	route.IDInput
}

func (h *Handlers) markRead(
	ctx context.Context, caller principal.Principal, in *notificationInput,
) (route.None, error) {
	return route.None{}, h.Notifications.MarkRead(ctx, caller, in.ID)
}

// MarkedBody is how many notifications were marked as read.
type MarkedBody struct {
	Marked int `json:"marked" doc:"How many were unread."`
}

func (h *Handlers) markAllRead(
	ctx context.Context, caller principal.Principal, _ *route.OrganizationQuery,
) (MarkedBody, error) {
	marked, err := h.Notifications.MarkAllRead(ctx, caller)
	return MarkedBody{marked}, err
}

// PreferencesBody is how a person wants to be notified, in one organization.
type PreferencesBody struct {
	Mail bool `json:"mail" doc:"Whether a mail announces requests and profiles that wait for the person's answer."`
}

func (h *Handlers) getPreferences(
	ctx context.Context, caller principal.Principal, _ *route.OrganizationQuery,
) (PreferencesBody, error) {
	wants, err := h.Notifications.Preferences(ctx, caller)
	return PreferencesBody{wants.Mail}, err
}

type preferencesInput struct {
	route.OrganizationQuery
	Body PreferencesBody
}

func (h *Handlers) putPreferences(
	ctx context.Context, caller principal.Principal, in *preferencesInput,
) (PreferencesBody, error) {
	err := h.Notifications.SetPreferences(ctx, caller, notification.Preferences{Mail: in.Body.Mail})
	return in.Body, err
}
