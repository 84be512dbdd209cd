package oauth

import (
	"context"
	"net/url"
	"time"

	"writ/internal/audit"
	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/page"
	"writ/internal/principal"
	"writ/internal/secret"
)

// Consent is a person's permission for a client to act as an agent.
type Consent struct {
	ID          string
	OrgID       string
	UserID      string
	AgentID     string
	KeyID       string
	ClientID    string
	ClientName  string
	RedirectURI string
	Resource    string
	CreatedAt   time.Time
	ExpiresAt   time.Time
	EndedAt     *time.Time
	EndedFor    string
}

// Live reports whether the consent holds, as far as it knows: its key may have ended.
func (c Consent) Live(now time.Time) bool { return c.EndedAt == nil && now.Before(c.ExpiresAt) }

// holder is the consent's key as the actor of what is done with its tokens.
func (c Consent) holder() principal.Principal {
	return principal.Principal{Kind: principal.Key, KeyID: c.KeyID, UserID: c.UserID, OrgID: c.OrgID}
}

// Approve lets a client act as an agent of the organization that the person acts in, and gives the address that
// takes the code to the client. The edge has checked the person's role there.
func (s *Service) Approve(ctx context.Context, p principal.Principal, query, agentID string) (string, error) {
	if p.Kind != principal.User || p.OrgID == "" {
		return "", fault.New(fault.Forbidden, "only a person may consent")
	}
	if err := p.Require(principal.OwnKeys); err != nil {
		return "", err
	}
	r, err := s.ReadRequest(ctx, query)
	if err != nil {
		return "", err
	}
	code := secret.Token("oac_")
	err = s.write(ctx, audit.LogOf(p.OrgID), func(ctx context.Context, tx *database.Tx) error {
		if err := s.sources.Live(ctx, tx, p); err != nil {
			return err
		}
		c, err := s.consent(ctx, tx, p, r, agentID)
		if err != nil {
			return err
		}
		return insertCode(ctx, tx, authorizationCode{
			Consent: c, hash: secret.Hash(code.Reveal()), challenge: r.challenge, expiresAt: tx.Now().Add(codeLife),
		})
	})
	if err != nil {
		return "", err
	}
	return s.returnTo(r.RedirectURI, r.state, url.Values{"code": {code.Reveal()}}), nil
}

// consent stores the consent with its key.
func (s *Service) consent(
	ctx context.Context, tx *database.Tx, p principal.Principal, r Request, agentID string,
) (Consent, error) {
	live, err := countLive(ctx, tx, p.OrgID, p.UserID)
	if err != nil {
		return Consent{}, err
	}
	if live >= maxConsents {
		return Consent{}, fault.New(fault.Conflict, "you have consented to %d clients here: end some first", live)
	}
	c := Consent{
		ID:          database.NewID(),
		OrgID:       p.OrgID,
		UserID:      p.UserID,
		AgentID:     agentID,
		ClientID:    r.Client.ID,
		ClientName:  r.Client.Name,
		RedirectURI: r.RedirectURI,
		Resource:    r.Resource,
		CreatedAt:   tx.Now(),
		ExpiresAt:   tx.Now().Add(ConsentLife),
	}
	c.KeyID, err = s.sources.AddKey(ctx, tx, p, NewKey{
		Name: keyName(r.Client), AgentID: agentID, ExpiresAt: c.ExpiresAt,
	})
	if err != nil {
		return Consent{}, err
	}
	if err := s.sources.Bind(ctx, tx, p, agentID, c.KeyID); err != nil {
		return Consent{}, err
	}
	if err := insertConsent(ctx, tx, c); err != nil {
		return Consent{}, err
	}
	if !isDocument(c.ClientID) {
		if known, err := touchClient(ctx, tx, c.ClientID); err != nil || !known {
			return Consent{}, orElse(err, unknownClient())
		}
	}
	return c, s.record(ctx, tx, p, given, c, nil)
}

func orElse(err error, other error) error {
	if err != nil {
		return err
	}
	return other
}

// keyName is how lists of keys show the key of a consent.
func keyName(c Client) string {
	if c.Name == "" {
		return "OAuth client"
	}
	return "OAuth client " + c.Name
}

// Deny refuses a client, and gives the address that tells it so.
func (s *Service) Deny(ctx context.Context, p principal.Principal, query string) (string, error) {
	if p.Kind != principal.User {
		return "", fault.New(fault.Forbidden, "only a person may refuse a client")
	}
	r, err := s.ReadRequest(ctx, query)
	if err != nil {
		return "", err
	}
	err = s.write(ctx, audit.System, func(ctx context.Context, tx *database.Tx) error {
		_, err := s.log.Append(ctx, tx, audit.Entry{
			Log:         audit.System,
			Action:      denied,
			Actor:       p,
			Subject:     audit.Subject{Type: "user", ID: p.UserID},
			Payload:     map[string]any{"client": r.Client.ID, "name": r.Client.Name, "redirectUri": r.RedirectURI},
			Observation: true,
		})
		return err
	})
	if err != nil {
		return "", err
	}
	return s.returned(r, refuse(AccessDenied, "the person refused")).ReturnTo, nil
}

// record appends to the organization's log what happened to a consent.
func (s *Service) record(
	ctx context.Context, tx *database.Tx, by principal.Principal, action string, c Consent, more map[string]any,
) error {
	payload := map[string]any{
		"agent": c.AgentID, "key": c.KeyID, "owner": c.UserID, "client": c.ClientID, "clientName": c.ClientName,
		"redirectUri": c.RedirectURI, "resource": c.Resource,
	}
	for name, value := range more {
		payload[name] = value
	}
	_, err := s.log.Append(ctx, tx, audit.Entry{
		Log:     audit.LogOf(c.OrgID),
		Action:  action,
		Actor:   by,
		Subject: audit.Subject{Type: "consent", ID: c.ID},
		Payload: payload,
	})
	return err
}

// end ends a consent with its key, within a change that declares the organization's log. One that has ended stays as
// it is.
func (s *Service) end(
	ctx context.Context, tx *database.Tx, by principal.Principal, action string, c Consent, reason string,
) error {
	if ending, err := markEnded(ctx, tx, c.ID, reason); err != nil || !ending {
		return err
	}
	if err := s.sources.EndKey(ctx, tx, by, c.OrgID, c.KeyID); err != nil {
		return err
	}
	if err := s.sources.Unbind(ctx, tx, by, c.OrgID, c.AgentID, c.KeyID); err != nil {
		return err
	}
	return s.record(ctx, tx, by, action, c, map[string]any{"reason": reason})
}

// managesAll reports whether the caller sees and ends other people's consents.
func managesAll(p principal.Principal) bool { return p.May(principal.ManageKeys) }

func requireMember(p principal.Principal) error {
	if p.Kind != principal.User || p.OrgID == "" {
		return fault.New(fault.Forbidden, "only a person may see consents")
	}
	return p.Require(principal.ReadOrganization)
}

// List lists consents of the organization, newest first: all to people who manage keys, else the caller's own.
func (s *Service) List(
	ctx context.Context, p principal.Principal, cursor string, limit int,
) (page.Page[Consent], error) {
	if err := requireMember(p); err != nil {
		return page.Page[Consent]{}, err
	}
	owner := p.UserID
	if managesAll(p) {
		owner = ""
	}
	q := page.Query{List: "oauth_consent", Scope: p.OrgID + "/" + owner, Cursor: cursor, Limit: limit}
	return page.Read(q, func(after page.Cursor, limit int) ([]Consent, error) {
		return selectConsents(ctx, s.db, p.OrgID, owner, after, limit)
	}, func(c Consent) (time.Time, string) { return c.CreatedAt, c.ID })
}

// End ends a consent that the caller may see. Ending it again changes nothing.
func (s *Service) End(ctx context.Context, p principal.Principal, id string) error {
	if err := requireMember(p); err != nil {
		return err
	}
	return s.write(ctx, audit.LogOf(p.OrgID), func(ctx context.Context, tx *database.Tx) error {
		c, err := findConsent(ctx, tx, p.OrgID, id)
		if err != nil {
			return err
		}
		if c.UserID != p.UserID && !managesAll(p) {
			return noSuchConsent()
		}
		return s.end(ctx, tx, p, ended, c, "a person ended it")
	})
}

func noSuchConsent() error { return fault.New(fault.NotFound, "no such consent") }
