package federation

import (
	"context"
	"fmt"
	"slices"

	"writ/internal/audit"
	"writ/internal/auth"
	"writ/internal/auth/oidc"
	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/principal"
	"writ/internal/secret"
)

// recorded is a provider in the audit log, without its secret.
type recorded struct {
	Issuer      string         `json:"issuer"`
	ClientID    string         `json:"clientId"`
	Slug        string         `json:"slug,omitzero"`
	Domains     []string       `json:"domains"`
	DefaultRole principal.Role `json:"defaultRole"`
	Enforced    bool           `json:"enforced"`
	Proven      []string       `json:"proven,omitzero"`
}

// Get reads the provider of the caller's organization.
func (s *Service) Get(ctx context.Context, p principal.Principal) (Provider, error) {
	if err := p.Require(principal.ManageIdentityProvider); err != nil {
		return Provider{}, err
	}
	return providerOf(ctx, s.Database, p.OrgID)
}

// Put sets up or changes the provider of the caller's organization. A new issuer or
// client must be tested again, and ends the access that the old one gave; so does
// removing a domain. Enforcing the provider ends the terminals' keys of members who
// did not sign in with it.
func (s *Service) Put(ctx context.Context, p principal.Principal, n Settings) (Provider, error) {
	if err := p.Require(principal.ManageIdentityProvider); err != nil {
		return Provider{}, err
	}
	n, err := s.check(n)
	if err != nil {
		return Provider{}, err
	}
	var after Provider
	err = s.change(ctx, p, func(ctx context.Context, tx *database.Tx, p principal.Principal) error {
		before, err := providerOf(ctx, tx, p.OrgID)
		if err != nil && !fault.Is(err, fault.NotFound) {
			return err
		}
		if after, err = s.apply(before, n, p.OrgID, tx); err != nil {
			return err
		}
		err = putProvider(ctx, tx, after)
		if database.IsUnique(err) {
			return fault.Wrap(err, fault.Conflict, "another organization has this slug; choose another")
		}
		if err != nil {
			return err
		}
		if err := s.endLapsed(ctx, tx, p, before, after); err != nil {
			return err
		}
		return s.record(ctx, tx, p, "identity_provider.set", after)
	})
	return after, err
}

// endLapsed ends the access that a change of the provider invalidates.
func (s *Service) endLapsed(
	ctx context.Context, tx *database.Tx, p principal.Principal, before, after Provider,
) error {
	lostDomain := slices.ContainsFunc(before.Domains, func(d Domain) bool { return !after.hasDomain(d.Name) })
	if before.OrgID != "" && (before.Issuer != after.Issuer || before.ClientID != after.ClientID || lostDomain) {
		if err := s.endVouched(ctx, tx, p, p.OrgID, ""); err != nil {
			return err
		}
	}
	if !after.Enforced || before.Enforced {
		return nil
	}
	return s.Keys.EndUnvouched(ctx, tx, p, p.OrgID)
}

// endVouched ends the access that a provider vouched for, of everyone or of one
// person: sessions and the keys of terminals. The caller calls Keys.Forget after the
// change.
func (s *Service) endVouched(
	ctx context.Context, tx *database.Tx, actor principal.Principal, orgID, userID string,
) error {
	if err := auth.EndLimited(ctx, tx, orgID, userID); err != nil {
		return err
	}
	return s.Keys.EndVouched(ctx, tx, actor, orgID, userID)
}

// apply gives a provider with new settings, or a fault about a setting.
func (s *Service) apply(before Provider, n Settings, orgID string, tx *database.Tx) (Provider, error) {
	after := Provider{
		OrgID:        orgID,
		Issuer:       n.Issuer,
		ClientID:     n.ClientID,
		Slug:         n.Slug,
		DefaultRole:  n.DefaultRole,
		Enforced:     n.Enforced,
		CreatedAt:    tx.Now(),
		UpdatedAt:    tx.Now(),
		sealedSecret: before.sealedSecret,
	}
	if before.OrgID != "" {
		after.CreatedAt = before.CreatedAt
	}
	same := before.Issuer == n.Issuer && before.ClientID == n.ClientID
	if same {
		after.TestedAt = before.TestedAt
	}
	switch {
	case n.Secret.IsSet():
		after.sealedSecret = s.Sealer.Seal(sealContext(orgID), []byte(n.Secret.Reveal()))
	case !same:
		return Provider{}, fault.Field("clientSecret",
			"is required with a new issuer or client: the old one must not be sent elsewhere")
	}
	if n.Enforced && after.TestedAt == nil {
		return Provider{}, fault.Field("enforced",
			"needs a tested connection first: otherwise only owners could sign in")
	}
	for _, name := range n.Domains {
		domain := Domain{Name: name}
		if i := slices.IndexFunc(before.Domains, func(d Domain) bool { return d.Name == name }); i >= 0 {
			domain.ProvenAt = before.Domains[i].ProvenAt
		}
		after.Domains = append(after.Domains, domain)
	}
	return after, nil
}

// Delete removes the provider, and ends the access that it gave.
func (s *Service) Delete(ctx context.Context, p principal.Principal) error {
	if err := p.Require(principal.ManageIdentityProvider); err != nil {
		return err
	}
	return s.change(ctx, p, func(ctx context.Context, tx *database.Tx, p principal.Principal) error {
		before, err := providerOf(ctx, tx, p.OrgID)
		if err != nil {
			return err
		}
		if err := deleteProvider(ctx, tx, p.OrgID); err != nil {
			return err
		}
		if err := s.endVouched(ctx, tx, p, p.OrgID, ""); err != nil {
			return err
		}
		return s.record(ctx, tx, p, "identity_provider.deleted", before)
	})
}

// Test fetches the provider's description and keys, looks up the DNS records that
// prove the domains, and stores the results. A provider that does not work is an
// Unavailable fault.
func (s *Service) Test(ctx context.Context, p principal.Principal) (Provider, error) {
	provider, err := s.Get(ctx, p)
	if err != nil {
		return Provider{}, err
	}
	party, err := s.relyingParty(provider)
	if err != nil {
		return Provider{}, err
	}
	if err := s.party.Check(ctx, party); err != nil {
		return Provider{}, err
	}
	proven := s.proven(ctx, provider)
	var after Provider
	err = s.change(ctx, p, func(ctx context.Context, tx *database.Tx, p principal.Principal) error {
		if after, err = providerOf(ctx, tx, p.OrgID); err != nil {
			return err
		}
		if after.Issuer != provider.Issuer || after.ClientID != provider.ClientID {
			return fault.New(fault.Conflict, "the identity provider was changed meanwhile; test it again")
		}
		now := tx.Now()
		after.TestedAt, after.UpdatedAt = &now, now
		for i, d := range after.Domains {
			after.Domains[i].ProvenAt = nil
			if proven[d.Name] {
				after.Domains[i].ProvenAt = &now
			}
		}
		if err := putProvider(ctx, tx, after); err != nil {
			return err
		}
		return s.record(ctx, tx, p, "identity_provider.tested", after)
	})
	return after, err
}

// Enforces reports whether an organization requires its people to sign in with its
// provider.
func (s *Service) Enforces(ctx context.Context, orgID string) (bool, error) {
	return Enforced(ctx, s.Database, orgID)
}

// Enforced is Enforces within a change.
func Enforced(ctx context.Context, r database.Reader, orgID string) (bool, error) {
	var enforced bool
	err := r.QueryRow(ctx, `SELECT enforced FROM identity_provider WHERE org_id = $1`, orgID).Scan(
		database.ToBool(&enforced))
	return enforced, database.OrMissing(err, nil, "read whether %s enforces its identity provider", orgID)
}

// RecordName is the name of the DNS record that proves a domain to be an
// organization's.
func RecordName(domain string) string { return "_writ." + domain }

// RecordValue is the value of that record.
func RecordValue(orgID string) string { return "writ-organization=" + orgID }

// proven looks up the records of all domains of a provider. A lookup that fails or
// takes too long proves nothing.
func (s *Service) proven(ctx context.Context, p Provider) map[string]bool {
	ctx, cancel := context.WithTimeout(ctx, proofTime)
	defer cancel()
	proven := map[string]bool{}
	for _, d := range p.Domains {
		texts, err := s.LookupTXT(ctx, RecordName(d.Name))
		proven[d.Name] = err == nil && slices.Contains(texts, RecordValue(p.OrgID))
	}
	return proven
}

func sealContext(orgID string) string { return "identity-provider/" + orgID }

// CallbackPath is where a provider sends browsers back to; an empty organization is
// Google.
func CallbackPath(orgID string) string {
	if orgID == "" {
		return "/auth/google/callback"
	}
	return "/auth/oidc/" + orgID + "/callback"
}

// relyingParty is a provider as package oidc knows it, with its secret opened.
func (s *Service) relyingParty(p Provider) (oidc.Provider, error) {
	plain, err := s.Sealer.Open(sealContext(p.OrgID), p.sealedSecret)
	if err != nil {
		return oidc.Provider{}, fmt.Errorf("open the client secret of %s's identity provider: %w", p.OrgID, err)
	}
	return oidc.Provider{
		Issuer: p.Issuer, ClientID: p.ClientID, Secret: secret.NewText(string(plain)),
		RedirectURL: s.PublicURL + CallbackPath(p.OrgID),
	}, nil
}

// change makes a change in the caller's organization, if the caller's role still
// allows it under the organization's lock.
func (s *Service) change(
	ctx context.Context, p principal.Principal,
	do func(ctx context.Context, tx *database.Tx, p principal.Principal) error,
) error {
	// Also after an error: the commit may have taken effect.
	defer s.Keys.Forget()
	return s.Database.Write(ctx, database.Change{Logs: []string{p.OrgID}, Do: func(
		ctx context.Context, tx *database.Tx,
	) error {
		role, err := s.Members.Role(ctx, tx, p.OrgID, p.UserID)
		if err != nil {
			return err
		}
		p.Role = role
		if err := p.Require(principal.ManageIdentityProvider); err != nil {
			return err
		}
		return do(ctx, tx, p)
	}})
}

func (s *Service) record(
	ctx context.Context, tx *database.Tx, p principal.Principal, action string, provider Provider,
) error {
	payload := recorded{
		Issuer:      provider.Issuer,
		ClientID:    provider.ClientID,
		Slug:        provider.Slug,
		DefaultRole: provider.DefaultRole,
		Enforced:    provider.Enforced,
	}
	for _, d := range provider.Domains {
		payload.Domains = append(payload.Domains, d.Name)
		if d.ProvenAt != nil {
			payload.Proven = append(payload.Proven, d.Name)
		}
	}
	_, err := s.Log.Append(ctx, tx, audit.Entry{
		Log:         p.OrgID,
		Action:      action,
		Actor:       p,
		Subject:     audit.Subject{Type: "identity_provider", ID: p.OrgID},
		Payload:     payload,
		Observation: true,
	})
	return err
}
