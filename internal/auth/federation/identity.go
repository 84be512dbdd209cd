package federation

import (
	"context"
	"slices"
	"time"

	"writ/internal/audit"
	"writ/internal/auth"
	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/principal"
)

// Identity is an external account, and the account here that it belongs to.
type Identity struct {
	ID        string
	OrgID     string // whose provider vouches for it; empty: Google
	Issuer    string
	Subject   string
	UserID    string
	Email     string // as the provider gave it
	Linked    bool   // the account's owner linked it
	CreatedAt time.Time
}

// Identities lists those of the caller's account, oldest first.
func (s *Service) Identities(ctx context.Context, p principal.Principal) ([]Identity, error) {
	return identitiesOf(ctx, s.Database, p.UserID)
}

// Unlink removes an identity from the caller's account. It ends the sessions and the
// keys of terminals that the identity's organization vouched for, or for Google every
// other session. The account stays: its owner can set a password by mail.
func (s *Service) Unlink(ctx context.Context, p principal.Principal, id string) error {
	missing := fault.New(fault.NotFound, "there is no such identity")
	list, err := identitiesOf(ctx, s.Database, p.UserID)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(list, func(i Identity) bool { return i.ID == id })
	if i < 0 {
		return missing
	}
	identity, logs := list[i], []string{audit.System}
	if identity.OrgID != "" {
		logs = append(logs, identity.OrgID)
	}
	defer s.Keys.Forget()
	return s.Database.Write(ctx, database.Change{Logs: logs, Do: func(ctx context.Context, tx *database.Tx) error {
		removed, err := deleteIdentity(ctx, tx, p.UserID, id)
		if err != nil {
			return err
		}
		if !removed { // by another request, meanwhile
			return missing
		}
		if err := s.endUnlinked(ctx, tx, p, identity); err != nil {
			return err
		}
		return s.recordIdentity(ctx, tx, "identity.unlinked", p.UserID, identity)
	}})
}

// endUnlinked ends the access that an identity gave. Google's sessions look like any
// other, so all but the caller's own end.
func (s *Service) endUnlinked(ctx context.Context, tx *database.Tx, p principal.Principal, i Identity) error {
	if i.OrgID == "" {
		return auth.EndOtherSessions(ctx, tx, p.UserID, p.SessionID)
	}
	return s.endVouched(ctx, tx, p, i.OrgID, p.UserID)
}

// recordIdentity appends to the system log. It leaves out the subject, the provider's
// own name for the person.
func (s *Service) recordIdentity(ctx context.Context, tx *database.Tx, action, userID string, i Identity) error {
	payload := map[string]any{"organization": i.OrgID, "issuer": i.Issuer, "email": i.Email, "linked": i.Linked}
	if i.ID != "" {
		payload["identity"] = i.ID
	}
	_, err := s.Log.Append(ctx, tx, audit.Entry{
		Log:         audit.System,
		Action:      action,
		Actor:       as(userID),
		Subject:     audit.Subject{Type: "user", ID: userID},
		Payload:     payload,
		Observation: true,
	})
	return err
}
