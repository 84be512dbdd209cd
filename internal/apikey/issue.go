package apikey

import (
	"context"
	"time"

	"writ/internal/audit"
	"writ/internal/database"
	"writ/internal/principal"
	"writ/internal/secret"
)

// action is what happened to a key, in the audit log.
type action string

const (
	created     action = "key.created"
	provisioned action = "key.provisioned"
	revoked     action = "key.revoked"
	rotated     action = "key.rotated"
)

// Add issues a key within a change of another area: the first run, or a sign-in
// from a terminal. It gives any scope and checks no right. The change must declare
// audit.LogOf(n.OrgID).
func (s *Service) Add(
	ctx context.Context, tx *database.Tx, actor principal.Principal, ownerID string, n NewKey,
) (Issued, error) {
	n, err := n.checked(tx.Now(), allScopes())
	if err != nil {
		return Issued{}, err
	}
	return s.add(ctx, tx, actor, ownerID, n, created)
}

// AddHidden issues the key of a consent, within the change that records the consent: it may do what an agent
// does, and its secret is forgotten at once. The change must declare audit.LogOf(n.OrgID).
func (s *Service) AddHidden(
	ctx context.Context, tx *database.Tx, owner principal.Principal, n NewKey,
) (Key, error) {
	n.hidden, n.Scopes = true, []principal.Scope{principal.Enforce, principal.Audit, principal.RequestDelegation}
	n.Limited = owner.LimitedTo != ""
	n, err := n.checked(tx.Now(), allScopes())
	if err != nil {
		return Key{}, err
	}
	issued, err := s.add(ctx, tx, owner, owner.UserID, n, created)
	return issued.Key, err
}

// EndHidden revokes the key of a consent, within the change that ends the consent. A key that has ended stays as
// it is.
func (s *Service) EndHidden(
	ctx context.Context, tx *database.Tx, by principal.Principal, orgID, id string,
) error {
	k, err := find(ctx, tx, orgID, id)
	if err != nil {
		return err
	}
	if changed, err := markRevoked(ctx, tx, k.ID); err != nil || !changed {
		return err
	}
	return s.record(ctx, tx, by, revoked, k, nil)
}

// add stores a new key and records it. n is checked.
func (s *Service) add(
	ctx context.Context, tx *database.Tx, actor principal.Principal, ownerID string, n NewKey, a action,
) (Issued, error) {
	issued, err := store(ctx, tx, ownerID, n)
	if err != nil {
		return Issued{}, err
	}
	return issued, s.record(ctx, tx, actor, a, issued.Key, nil)
}

// store makes the secret and the row of a new key.
func store(ctx context.Context, tx *database.Tx, ownerID string, n NewKey) (Issued, error) {
	token := secret.Token(n.Environment.mark())
	k := Key{
		ID:          database.NewID(),
		OrgID:       n.OrgID,
		OwnerID:     ownerID,
		Name:        n.Name,
		Environment: n.Environment,
		Product:     n.Product,
		Scopes:      n.Scopes,
		Prefix:      token.Reveal()[:shownPrefix],
		CreatedAt:   tx.Now(),
		ExpiresAt:   n.ExpiresAt,
		Limited:     n.Limited,
		Hidden:      n.hidden,
	}
	return Issued{Key: k, Secret: token}, insert(ctx, tx, k, n, secret.Hash(token.Reveal()))
}

// recorded is a key in the audit log.
type recorded struct {
	Name        string            `json:"name"`
	Prefix      string            `json:"prefix"`
	Scopes      []principal.Scope `json:"scopes"`
	Environment Environment       `json:"environment"`
	Product     string            `json:"product"`
	Owner       string            `json:"owner"`
	Hidden      bool              `json:"hidden,omitzero"`
	Replacement *replacement      `json:"replacement,omitzero"` // of a rotated key
	SecretEnds  string            `json:"secretEnds,omitzero"`  // of one that was handed over
}

type replacement struct {
	ID     string `json:"id"`
	Prefix string `json:"prefix"`
	Owner  string `json:"owner"`
}

// record appends to the log of the key's organization. next is the key that replaces
// it, if any.
func (s *Service) record(
	ctx context.Context, tx *database.Tx, actor principal.Principal, a action, k Key, next *Key,
) error {
	payload := recorded{
		Name:        k.Name,
		Prefix:      k.Prefix,
		Scopes:      k.Scopes,
		Environment: k.Environment,
		Product:     k.Product,
		Owner:       k.OwnerID,
		Hidden:      k.Hidden,
	}
	if a == handedOver {
		payload.SecretEnds = k.ExpiresAt.UTC().Format(time.RFC3339)
	}
	if next != nil {
		payload.Replacement = &replacement{ID: next.ID, Prefix: next.Prefix, Owner: next.OwnerID}
	}
	_, err := s.log.Append(ctx, tx, audit.Entry{
		Log:     audit.LogOf(k.OrgID),
		Action:  string(a),
		Actor:   actor,
		Subject: audit.Subject{Type: "api_key", ID: k.ID},
		Payload: payload,
	})
	return err
}
