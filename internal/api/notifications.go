package api

import (
	"context"
	"net/http"
	"time"

	"writ/internal/api/route"
	"writ/internal/notification"
	"writ/internal/notification/notice"
	"writ/internal/page"
	"writ/internal/principal"
)

const notificationsTag = "notifications"

func (a *API) mountNotifications() {
	declare := func(method, path, summary, records string, status int) Route {
		return Route{
			Method: method, Path: "/notifications" + path, Tag: notificationsTag, Summary: summary,
			Mode: JWT, Action: principal.ReadOrganization, Audit: records, Status: status,
		}
	}
	handle(a, declare(http.MethodGet, "", "What the caller was told, newest first", "", 0), a.listNotifications)
	handle(a, declare(http.MethodGet, "/unread-count", "How many notifications the caller has not read", "", 0),
		a.countUnread)
	handle(a, declare(http.MethodPost, "/{id}/read", "Mark a notification as read", notRecorded, http.StatusNoContent),
		a.markRead)
	handle(a, declare(http.MethodPost, "/read-all", "Mark all notifications as read", notRecorded, 0), a.markAllRead)
	handle(a, declare(http.MethodGet, "/preferences", "How the caller wants to be told", "", 0), a.getPreferences)
	handle(a, declare(http.MethodPut, "/preferences", "Change how the caller wants to be told", notRecorded, 0),
		a.putPreferences)
	route.Stream[streamEventsInput, StreamedEventBody](a.router,
		declare(http.MethodGet, "/stream",
			"What happens to requests for approval, as server-sent events; the header Last-Event-ID resumes", "",
			http.StatusOK),
		&route.Slots{Each: []int{approvalStreamsPerUser, approvalStreamsPerOrganization}, Total: approvalStreamsAtAll}, a.streamEvents)
}

// NotificationBody is what a person was told.
type NotificationBody struct {
	ID        string      `json:"id" format:"uuid"`
	Kind      notice.Kind `json:"kind" example:"approval.opened"`
	SubjectID string      `json:"subjectId" doc:"The request, the proposal of a profile, or the webhook, it is about."`
	Title     string      `json:"title" example:"bank.pay waits for an approval (risk: high)"`
	Risk      string      `json:"risk" doc:"Of the request; empty: none is known."`
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
	OrganizationQuery
	PageInput
	Unread string `query:"unread" enum:"true,false" doc:"true: only those that were not read."`
}

type notificationsOutput struct{ Body page.Page[NotificationBody] }

func (a *API) listNotifications(
	ctx context.Context, caller principal.Principal, in *listNotificationsInput,
) (*notificationsOutput, error) {
	found, err := a.Notifications.List(ctx, caller, in.Unread == "true", in.Cursor, in.Limit)
	return &notificationsOutput{route.MapPage(found, notificationBody)}, err
}

type unreadOutput struct {
	Body struct {
		Unread int `json:"unread" doc:"At most 1000 are counted."`
	}
}

func (a *API) countUnread(
	ctx context.Context, caller principal.Principal, _ *OrganizationQuery,
) (*unreadOutput, error) {
	out := &unreadOutput{}
	var err error
	out.Body.Unread, err = a.Notifications.Unread(ctx, caller)
	return out, err
}

type notificationInput struct {
	OrganizationQuery
	IDInput
}

func (a *API) markRead(ctx context.Context, caller principal.Principal, in *notificationInput) (*none, error) {
	return nil, a.Notifications.MarkRead(ctx, caller, in.ID)
}

type markedOutput struct {
	Body struct {
		Marked int `json:"marked" doc:"How many were unread."`
	}
}

func (a *API) markAllRead(
	ctx context.Context, caller principal.Principal, _ *OrganizationQuery,
) (*markedOutput, error) {
	out := &markedOutput{}
	var err error
	out.Body.Marked, err = a.Notifications.MarkAllRead(ctx, caller)
	return out, err
}

// PreferencesBody is how a person wants to be told, in one organization.
type PreferencesBody struct {
	Mail bool `json:"mail" doc:"Whether a mail says that requests and profiles wait for the person's answer."`
}

type preferencesOutput struct{ Body PreferencesBody }

func (a *API) getPreferences(
	ctx context.Context, caller principal.Principal, _ *OrganizationQuery,
) (*preferencesOutput, error) {
	wants, err := a.Notifications.Preferences(ctx, caller)
	return &preferencesOutput{PreferencesBody{wants.Mail}}, err
}

type preferencesInput struct {
	OrganizationQuery
	Body PreferencesBody
}

func (a *API) putPreferences(
	ctx context.Context, caller principal.Principal, in *preferencesInput,
) (*preferencesOutput, error) {
	err := a.Notifications.SetPreferences(ctx, caller, notification.Preferences{Mail: in.Body.Mail})
	return &preferencesOutput{in.Body}, err
}
