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

// Identity is who somebody is elsewhere, and the account it leads to here.
type Identity struct {
	ID        string
	OrgID     string // whose provider vouches for it; empty: Google
	Issuer    string
	Subject   string
	UserID    string
	Email     string // as the provider told it
	Linked    bool   // the account's owner asked for it
	CreatedAt time.Time
}

// Identities lists those of the caller's account, the oldest first.
func (s *Service) Identities(ctx context.Context, p principal.Principal) ([]Identity, error) {
	return identitiesOf(ctx, s.Database, p.UserID)
}

// Unlink removes an identity from the caller's account, and ends the sessions and
// terminals' keys that its organization vouched for, or with Google's every other
// session. The account is left as it is: its owner can set a password by mail.
func (s *Service) Unlink(ctx context.Context, p principal.Principal, id string) error {
	missing := fault.New(fault.NotFound, "there is no such identity")
	if !database.IsID(id) {
		return missing
	}
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
		return recordIdentity(ctx, tx, "identity.unlinked", p.UserID, identity)
	}})
}

// endUnlinked ends what an identity let in. Sessions that Google brought look like
// any other, so all but the caller's own end.
func (s *Service) endUnlinked(ctx context.Context, tx *database.Tx, p principal.Principal, i Identity) error {
	if i.OrgID == "" {
		return auth.EndOtherSessions(ctx, tx, p.UserID, p.SessionID)
	}
	return s.endVouched(ctx, tx, p, i.OrgID, p.UserID)
}

// recordIdentity writes to the system's log. The subject is the provider's own
// name for a person and is left out.
func recordIdentity(ctx context.Context, tx *database.Tx, action, userID string, i Identity) error {
	payload := map[string]any{"organization": i.OrgID, "issuer": i.Issuer, "email": i.Email, "linked": i.Linked}
	if i.ID != "" {
		payload["identity"] = i.ID
	}
	_, err := audit.Append(ctx, tx, audit.Entry{
		Log:         audit.System,
		Action:      action,
		Actor:       as(userID),
		Subject:     audit.Subject{Type: "user", ID: userID},
		Payload:     payload,
		Observation: true,
	})
	return err
}
