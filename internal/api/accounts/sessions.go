package accounts

import (
	"context"
	"net/http"
	"time"

	"writ/internal/api/route"
	"writ/internal/apikey"
	"writ/internal/auth"
	"writ/internal/principal"
)

func (h *Handlers) mountSessions(r *route.Router) {
	route.Handle(r, route.Get("/auth/sessions", "The caller's sessions").
		For(route.Person).LimitedToo(), h.listSessions)
	route.Handle(r, route.Delete("/auth/sessions/{id}", "End a session, and with it the keys of its terminal").
		For(route.Person).LimitedToo().Records("session.revoked").Answers(http.StatusNoContent), h.revokeSession)
}

// SessionBody is a session of a person.
type SessionBody struct {
	ID         string    `json:"id" format:"uuid"`
	Address    string    `json:"address" doc:"The network address it began from."`
	UserAgent  string    `json:"userAgent"`
	CreatedAt  time.Time `json:"createdAt"`
	LastUsedAt time.Time `json:"lastUsedAt" doc:"When its tokens were last refreshed."`
	ExpiresAt  time.Time `json:"expiresAt"`
	Current    bool      `json:"current" doc:"Whether this request belongs to it."`
	// Keys are there for a terminal only.
	Keys []SessionKeyBody `json:"keys,omitempty" doc:"The keys that end with it: those of its terminal."`
}

// SessionKeyBody is a terminal's key.
type SessionKeyBody struct {
	ID             string `json:"id" format:"uuid"`
	Name           string `json:"name" example:"cli-2026-11-19"`
	OrganizationID string `json:"organizationId" format:"uuid"`
}

func (h *Handlers) listSessions(
	ctx context.Context, caller principal.Principal, _ *route.None,
) (route.Items[SessionBody], error) {
	sessions, err := h.Auth.Sessions(ctx, caller)
	if err != nil {
		return route.Items[SessionBody]{}, err
	}
	keys, err := h.Keys.OfSessions(ctx, caller.UserID)
	return route.ItemsOf(sessions, func(s auth.Session) SessionBody {
		return SessionBody{
			ID:         s.ID,
			Address:    s.Address,
			UserAgent:  s.UserAgent,
			CreatedAt:  s.CreatedAt,
			LastUsedAt: s.LastUsedAt,
			ExpiresAt:  s.ExpiresAt,
			Current:    s.ID == caller.SessionID,
			Keys:       sessionKeys(keys[s.ID]),
		}
	}), err
}

func sessionKeys(keys []apikey.Key) []SessionKeyBody {
	var bodies []SessionKeyBody
	for _, k := range keys {
		bodies = append(bodies, SessionKeyBody{k.ID, k.Name, k.OrgID})
	}
	return bodies
}

func (h *Handlers) revokeSession(
	ctx context.Context, caller principal.Principal, in *route.IDInput,
) (route.None, error) {
	return route.None{}, h.Auth.RevokeSession(ctx, caller, in.ID)
}
