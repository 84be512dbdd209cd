package testenv

import (
	"writ/internal/database"
	"writ/internal/principal"
	"writ/internal/secret"
)

// Organization stores an organization and gives its id.
func (e *Env) Organization(name string) string {
	e.T.Helper()
	id := database.NewID()
	e.Exec(`INSERT INTO organization (id, name, created_at, updated_at) VALUES ($1, $2, 1, 1)`, id, name)
	return id
}

// User stores an account and gives its id.
func (e *Env) User(email string) string {
	e.T.Helper()
	id := database.NewID()
	e.addUser(id, email)
	return id
}

func (e *Env) addUser(id, email string) {
	e.T.Helper()
	e.Exec(`INSERT INTO user_account (id, email, name, password_hash, created_at) VALUES ($1, $2, $2, '', 1)`, id,
		email)
}

// Member makes a user a member of an organization, without an audit entry.
func (e *Env) Member(orgID, userID string, role principal.Role) {
	e.T.Helper()
	e.Exec(`INSERT INTO organization_member (org_id, user_id, role, joined_at) VALUES ($1, $2, $3, 1)`, orgID, userID,
		string(role))
}

// NewPerson stores a new member of an organization, whose address is the id at example.org.
func (e *Env) NewPerson(orgID string, role principal.Role) principal.Principal {
	e.T.Helper()
	userID := database.NewID()
	e.addUser(userID, userID+"@example.org")
	e.Member(orgID, userID, role)
	return Person(userID, orgID, role)
}

// Person is a user acting in an organization, or in none. It stores nothing.
func Person(userID, orgID string, role principal.Role) principal.Principal {
	return principal.Principal{Kind: principal.User, UserID: userID, OrgID: orgID, Role: role}
}

// Key stores a key. The scopes are the caller's alone.
func (e *Env) Key(ownerID, orgID string, scopes ...principal.Scope) principal.Principal {
	e.T.Helper()
	id := database.NewID()
	e.Exec(`INSERT INTO api_key (id, org_id, owner_id, name, environment, product, scopes, prefix, hash, created_at)
		VALUES ($1, $2, $3, '', 'sandbox', '', '', '', $4, 1)`, id, orgID, ownerID, secret.Hash(id))
	return principal.Principal{
		Kind:   principal.Key,
		KeyID:  id,
		UserID: ownerID,
		OrgID:  orgID,
		Scopes: scopes,
	}
}
