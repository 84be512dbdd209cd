package certificate

import (
	"context"
	"errors"
	"time"

	"writ/internal/audit"
	"writ/internal/certificate/authority"
	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/names"
	"writ/internal/page"
	"writ/internal/principal"
	"writ/internal/secret"
)

// What the audit log says of authorities.
const (
	authorityCreated = "certificate.authority_created"
	authorityType    = "certificate_authority"
)

// opened is an authority with its key, which fails if the master key does not open it.
func (s *Service) opened(a *Authority) (*authority.Authority, error) {
	key, err := s.Sealer.Open(sealContext(a), a.sealed)
	if err != nil {
		if errors.Is(err, secret.ErrSealBroken) {
			return nil, fault.Wrap(err, fault.Unavailable, "the key of the organization's certificate authority cannot be "+
				"unsealed, so that it signs nothing: the operator restores the master key, or an administrator makes a new "+
				"authority by rotating it")
		}
		return nil, err
	}
	return authority.Open(a.DER, key)
}

// sealContext ties a sealed key to its row and organization.
func sealContext(a *Authority) string { return "certificate-authority/" + a.OrgID + "/" + a.ID }

// signer is the authority that signs now. The first use makes it, and one that would expire before what it signs is
// replaced.
func (s *Service) signer(
	ctx context.Context, tx *database.Tx, p principal.Principal,
) (*Authority, *authority.Authority, error) {
	current, err := currentOf(ctx, tx, p.OrgID)
	if err != nil {
		return nil, nil, err
	}
	if current != nil && tx.Now().Add(2*MaxLife).Before(current.ExpiresAt) {
		opened, err := s.opened(current)
		return current, opened, err
	}
	algorithm := authority.P256
	if current != nil {
		algorithm = current.Algorithm
	}
	return s.replace(ctx, tx, p, current, algorithm, MaxLife)
}

// replace makes a new authority, and retires the one before (nil: there is none) after an overlap. Without an overlap
// those that were replaced earlier end too: whoever wants no overlap trusts nothing that was signed so far.
func (s *Service) replace(
	ctx context.Context, tx *database.Tx, p principal.Principal, before *Authority, algorithm authority.Algorithm,
	overlap time.Duration,
) (*Authority, *authority.Authority, error) {
	made, err := authority.New(p.OrgID, algorithm, tx.Now())
	if err != nil {
		return nil, nil, err
	}
	key, err := authority.MarshalKey(made.Key)
	if err != nil {
		return nil, nil, err
	}
	a := &Authority{
		ID:        database.NewID(),
		OrgID:     p.OrgID,
		Algorithm: algorithm,
		DER:       made.Certificate.Raw,
		CreatedAt: tx.Now(),
		ExpiresAt: made.Certificate.NotAfter,
	}
	a.sealed = s.Sealer.Seal(sealContext(a), key)
	payload := map[string]any{
		"algorithm": string(algorithm), "fingerprint": authority.Fingerprint(a.DER), "expiresAt": a.ExpiresAt,
	}
	if before != nil {
		until := tx.Now().Add(overlap)
		if err := retireAuthority(ctx, tx, before.ID, until); err != nil {
			return nil, nil, err
		}
		payload["replaces"], payload["trustedUntil"] = before.ID, until
	}
	if overlap == 0 {
		if err := endAuthorities(ctx, tx, p.OrgID, tx.Now()); err != nil {
			return nil, nil, err
		}
	}
	if err := insertAuthority(ctx, tx, a); err != nil {
		return nil, nil, err
	}
	_, err = s.Log.Append(ctx, tx, audit.Entry{
		Log: audit.LogOf(p.OrgID), Action: authorityCreated, Actor: p,
		Subject: audit.Subject{Type: authorityType, ID: a.ID}, Payload: payload,
	})
	return a, made, err
}

// Rotation says how an authority is replaced.
type Rotation struct {
	Algorithm authority.Algorithm // empty: as before, or P-256
	// Overlap is how long what the authority before has signed still counts; 0: that ends at once, with what earlier
	// ones have signed.
	Overlap time.Duration
}

// RotateAuthority makes a new authority of the caller's organization. It needs no key of the one before, so that one
// whose key cannot be unsealed can be replaced.
func (s *Service) RotateAuthority(ctx context.Context, p principal.Principal, r Rotation) (Authority, error) {
	if err := requirePerson(p, principal.UpdateOrganization); err != nil {
		return Authority{}, err
	}
	if r.Algorithm != "" && !r.Algorithm.Valid() {
		return Authority{}, fault.Field("algorithm", "must be p256 or ed25519")
	}
	if r.Overlap < 0 || r.Overlap > MaxLife {
		return Authority{}, fault.Field("overlapSeconds", "must be from 0 to %d", MaxLife/time.Second)
	}
	var made Authority
	err := s.write(ctx, p.OrgID, func(ctx context.Context, tx *database.Tx) error {
		trusted, err := trustedAuthorities(ctx, tx, p.OrgID, tx.Now())
		if err != nil {
			return err
		}
		if len(trusted) >= maxAuthorities && r.Overlap > 0 {
			return fault.New(fault.Conflict, "%d certificate authorities are trusted still: wait until one ends", len(trusted))
		}
		current, err := currentOf(ctx, tx, p.OrgID)
		if err != nil {
			return err
		}
		algorithm := r.Algorithm
		if algorithm == "" && current != nil {
			algorithm = current.Algorithm
		}
		if algorithm == "" {
			algorithm = authority.P256
		}
		a, _, err := s.replace(ctx, tx, p, current, algorithm, r.Overlap)
		if err == nil {
			made = *a
		}
		return err
	})
	return made, err
}

// Authorities are those of the caller's organization that are trusted now, the one that signs first.
func (s *Service) Authorities(ctx context.Context, p principal.Principal) ([]Authority, error) {
	if err := requireReader(p); err != nil {
		return nil, err
	}
	return trustedAuthorities(ctx, s.db, p.OrgID, s.db.Now())
}

// AuthorityCertificate is the certificate of an authority. Anyone may read it: certificates say where it is.
func (s *Service) AuthorityCertificate(ctx context.Context, id string) ([]byte, error) {
	a, err := findAuthority(ctx, s.db, id)
	return a.DER, err
}

// RevocationList is the revocation list of an authority as of now, in DER. Anyone may read it.
func (s *Service) RevocationList(ctx context.Context, id string) ([]byte, error) {
	a, err := findAuthority(ctx, s.db, id)
	if err != nil {
		return nil, err
	}
	now := s.db.Now()
	revoked, err := revokedBy(ctx, s.db, a.ID, now)
	if err != nil {
		return nil, err
	}
	signer, err := s.opened(&a)
	if err != nil {
		return nil, err
	}
	return signer.List(revoked, now)
}

// List lists certificates of the caller's organization, newest first.
func (s *Service) List(
	ctx context.Context, p principal.Principal, f Filter, cursor string, limit int,
) (page.Page[Certificate], error) {
	if err := requirePerson(p, principal.ReadOrganization); err != nil {
		return page.Page[Certificate]{}, err
	}
	if f.Kind != "" && !f.Kind.Valid() {
		return page.Page[Certificate]{}, fault.Field("kind", "must be agent or server")
	}
	if !names.Valid(f.Subject) {
		return page.Page[Certificate]{Items: []Certificate{}}, nil // nobody is called that
	}
	scope := p.OrgID + "/" + string(f.Kind) + "/" + f.Subject
	if f.Live {
		scope += "/live"
	}
	q := page.Query{List: "certificate", Scope: scope, Cursor: cursor, Limit: limit}
	return page.Read(q, func(after page.Cursor, limit int) ([]Certificate, error) {
		return list(ctx, s.db, p.OrgID, f, s.db.Now(), after, limit)
	}, func(c Certificate) (time.Time, string) { return c.CreatedAt, c.ID })
}

// Get reads a certificate.
func (s *Service) Get(ctx context.Context, p principal.Principal, id string) (Certificate, error) {
	if err := requirePerson(p, principal.ReadOrganization); err != nil {
		return Certificate{}, err
	}
	return find(ctx, s.db, p.OrgID, id)
}

// requireReader admits every member, and keys of the organization.
func requireReader(p principal.Principal) error {
	if p.OrgID == "" {
		return fault.New(fault.Forbidden, "this key belongs to no organization")
	}
	if p.Kind == principal.Key {
		return nil
	}
	return p.Require(principal.ReadOrganization)
}
