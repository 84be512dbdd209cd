package testserver

import (
	"context"
	"strings"
	"time"

	"writ/client"
	"writ/internal/apikey"
	"writ/internal/audit"
	"writ/internal/auth"
	"writ/internal/database"
	"writ/internal/principal"
	"writ/internal/secret"
)

// StartDevice asks to sign in from a terminal.
func (s *Server) StartDevice(start client.DeviceStart) client.DeviceCode {
	s.T.Helper()
	code, err := s.Public.StartDevice(s.T.Context(), start)
	if err != nil {
		s.T.Fatalf("ask to sign in from a terminal: %v", err)
	}
	return code
}

// ApprovedDevice is a terminal that was let in and has not come for its key yet.
func (s *Server) ApprovedDevice(p *Person, orgID string) client.DeviceCode {
	s.T.Helper()
	code := s.StartDevice(client.DeviceStart{Client: client.WritClient})
	if err := p.ApproveDevice(s.T.Context(), client.DeviceApproval{
		UserCode: code.UserCode, OrganizationID: orgID,
	}); err != nil {
		s.T.Fatalf("let a terminal in: %v", err)
	}
	return code
}

// FreshAddress is an address that nobody has.
func FreshAddress() string { return "someone." + secret.Digits(9).Reveal() + "@example.org" }

// OpenInvite stores an invitation nobody was mailed.
func (s *Server) OpenInvite(orgID, role string) (id string) {
	s.T.Helper()
	id = database.NewID()
	err := s.Database.Write(s.T.Context(), database.Change{Do: func(ctx context.Context, tx *database.Tx) error {
		_, err := tx.Exec(ctx, `
			INSERT INTO organization_invite (id, org_id, email, role, token_hash, invited_by, created_at, expires_at)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`, id, orgID, FreshAddress(), role, secret.Hash(id),
			database.NewID(),
			database.Micros(tx.Now()), database.Micros(tx.Now().Add(time.Hour)))
		return err
	}})
	if err != nil {
		s.T.Fatalf("open an invitation: %v", err)
	}
	return id
}

// BareMember makes a member who never signs in, which saves the time of that.
func (s *Server) BareMember(orgID, role string) (userID string) {
	s.T.Helper()
	now := s.Database.Now()
	user := auth.User{
		ID:         database.NewID(),
		Email:      role + "." + secret.Digits(9).Reveal() + "@example.org",
		Name:       role,
		VerifiedAt: &now,
	}
	err := s.Database.Write(s.T.Context(), database.Change{Logs: []string{audit.System}, Do: func(
		ctx context.Context, tx *database.Tx,
	) error {
		return s.Auth.AddUser(ctx, tx, principal.Operator(), &user, "no password has this hash")
	}})
	if err != nil {
		s.T.Fatalf("make a %s: %v", role, err)
	}
	s.PutMember(orgID, user.ID, role)
	return user.ID
}

// PutMember stores a membership without an invitation or an entry in the log.
func (s *Server) PutMember(orgID, userID, role string) {
	s.T.Helper()
	err := s.Database.Write(s.T.Context(), database.Change{Do: func(ctx context.Context, tx *database.Tx) error {
		_, err := tx.Exec(ctx,
			`INSERT INTO organization_member (org_id, user_id, role, joined_at) VALUES ($1, $2, $3, $4)`,
			orgID, userID, role, database.Micros(tx.Now()))
		return err
	}})
	if err != nil {
		s.T.Fatalf("put %s into %s: %v", userID, orgID, err)
	}
}

// KeyFor issues a key with default scopes without asking anybody.
func (s *Server) KeyFor(userID, orgID string) apikey.Issued {
	s.T.Helper()
	var issued apikey.Issued
	err := s.Database.Write(s.T.Context(), database.Change{Logs: []string{audit.LogOf(orgID)}, Do: func(
		ctx context.Context, tx *database.Tx,
	) (err error) {
		issued, err = s.Keys.Add(ctx, tx, principal.Operator(), userID, apikey.NewKey{Name: "issued", OrgID: orgID})
		return err
	}})
	if err != nil {
		s.T.Fatalf("issue a key: %v", err)
	}
	return issued
}

// NextPassword is one that nobody has yet.
const NextPassword = "another horse battery"

// UnboundKey has every scope, and no organization.
func (s *Server) UnboundKey(p *Person) *client.Client {
	s.T.Helper()
	key, err := p.CreateKey(s.T.Context(), client.NewKey{Name: "unbound", Scopes: []string{"enforce", "policy.draft"}})
	if err != nil {
		s.T.Fatal(err)
	}
	return s.Public.WithKey(key.APIKey)
}

// FreshIn is an address in a domain that nobody has.
func FreshIn(domain string) string {
	name, _, _ := strings.Cut(FreshAddress(), "@")
	return name + "@" + domain
}
