package api

import (
	"context"
	"net/http"
	"time"

	"writ/internal/auth"
	"writ/internal/principal"
)

func (a *API) mountSessions() {
	handle(a, Route{
		Method:     http.MethodGet,
		Path:       "/auth/sessions",
		Tag:        "auth",
		Summary:    "Where one is signed in",
		Mode:       JWT,
		ForLimited: true,
	}, a.listSessions)
	handle(a, Route{
		Method: http.MethodDelete, Path: "/auth/sessions/{id}", Tag: "auth", Summary: "End a session",
		Mode: JWT, ForLimited: true, Audit: "session.revoked", Status: http.StatusNoContent,
	}, a.revokeSession)
}

// SessionBody is a place where a person is signed in.
type SessionBody struct {
	ID         string    `json:"id" format:"uuid"`
	Address    string    `json:"address" doc:"The network address it began from."`
	UserAgent  string    `json:"userAgent"`
	CreatedAt  time.Time `json:"createdAt"`
	LastUsedAt time.Time `json:"lastUsedAt" doc:"When its tokens were last refreshed."`
	ExpiresAt  time.Time `json:"expiresAt"`
	Current    bool      `json:"current" doc:"Whether this request belongs to it."`
}

type sessionsOutput struct {
	Body struct {
		Items []SessionBody `json:"items" nullable:"false"`
	}
}

func (a *API) listSessions(ctx context.Context, caller principal.Principal, _ *none) (*sessionsOutput, error) {
	sessions, err := a.Auth.Sessions(ctx, caller)
	if err != nil {
		return nil, err
	}
	out := &sessionsOutput{}
	for _, s := range sessions {
		out.Body.Items = append(out.Body.Items, sessionBody(s, caller.SessionID))
	}
	return out, nil
}

func sessionBody(s auth.Session, current string) SessionBody {
	return SessionBody{
		ID: s.ID, Address: s.Address, UserAgent: s.UserAgent,
		CreatedAt: s.CreatedAt, LastUsedAt: s.LastUsedAt, ExpiresAt: s.ExpiresAt,
		Current: s.ID == current,
	}
}

func (a *API) revokeSession(ctx context.Context, caller principal.Principal, in *IDInput) (*none, error) {
	return nil, a.Auth.RevokeSession(ctx, caller, in.ID)
}
