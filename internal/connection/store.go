package connection

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"time"

	"writ/internal/database"
	"writ/internal/page"
	"writ/internal/secret"
)

const connectionColumns = `
	SELECT c.id, c.org_id, c.user_id, c.server_id, s.name, c.url, c.resource, c.issuer, c.token_url, c.revocation_url,
		c.client_id, c.client_method, c.scope, c.sealed, c.expires_at, c.revision, c.created_at
	FROM mcp_connection c
	JOIN mcp_server s ON s.id = c.server_id `

func scanConnection(row database.Scanner) (c Connection, err error) {
	err = row.Scan(&c.ID, &c.OrgID, &c.UserID, &c.ServerID, &c.ServerName, &c.url, &c.Resource, &c.Issuer, &c.tokenURL,
		&c.revocationURL, &c.ClientID, &c.method, &c.Scope, &c.sealed, database.ToOptionalTime(&c.ExpiresAt),
		&c.revision, database.ToTime(&c.CreatedAt))
	return c, err
}

// findConnection reads a connection of an organization. Others do not exist.
func findConnection(ctx context.Context, r database.Reader, orgID, id string) (Connection, error) {
	if !database.IsID(id) {
		return Connection{}, noSuchConnection()
	}
	c, err := scanConnection(r.QueryRow(ctx, connectionColumns+`WHERE c.org_id = $1 AND c.id = $2`, orgID, id))
	return c, database.OrMissing(err, noSuchConnection(), "read a connection")
}

// findOf reads the connection of a person with a server.
func findOf(ctx context.Context, r database.Reader, orgID, serverID, userID string) (Connection, error) {
	c, err := scanConnection(r.QueryRow(ctx, connectionColumns+`
		WHERE c.server_id = $2 AND c.user_id = $3 AND c.org_id = $1`, orgID, serverID, userID))
	return c, database.OrMissing(err, noSuchConnection(), "read the connection of a person")
}

// selectConnections lists connections after a position; owner: of one person.
func selectConnections(
	ctx context.Context, r database.Reader, orgID, owner string, after page.Cursor, limit int,
) ([]Connection, error) {
	var where database.Where
	where.And(`c.org_id = ?`, orgID)
	if owner != "" {
		where.And(`c.user_id = ?`, owner)
	}
	if !after.IsZero() {
		where.And(`(c.created_at, c.id) < (?, ?)`, after.Micros, after.ID)
	}
	found, err := database.Collect(ctx, r, scanConnection, connectionColumns+where.String()+
		`ORDER BY c.created_at DESC, c.id DESC LIMIT `+where.Bind(limit), where.Args...)
	return found, database.Wrap(err, "list connections")
}

func insertConnection(ctx context.Context, tx *database.Tx, c *Connection) error {
	_, err := tx.Exec(ctx, `
		INSERT INTO mcp_connection (id, org_id, user_id, server_id, url, resource, issuer, token_url, revocation_url,
			client_id, client_method, scope, sealed, expires_at, refreshing_until, revision, created_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, 0, 1, $15)`,
		c.ID, c.OrgID, c.UserID, c.ServerID, c.url, c.Resource, c.Issuer, c.tokenURL, c.revocationURL, c.ClientID,
		c.method, c.Scope, c.sealed, database.OptionalMicros(c.ExpiresAt), database.Micros(c.CreatedAt))
	return database.Wrap(err, "store a connection")
}

func removeOf(ctx context.Context, tx *database.Tx, serverID, userID string) error {
	_, err := tx.Exec(ctx, `DELETE FROM mcp_connection WHERE server_id = $1 AND user_id = $2`, serverID, userID)
	return database.Wrap(err, "replace a connection")
}

// EndAll ends all connections, and what people have begun, in a database that was restored: they may have ended since.
func EndAll(ctx context.Context, tx *database.Tx) error {
	for _, table := range []string{"mcp_connection", "mcp_connecting"} {
		if _, err := tx.Exec(ctx, `DELETE FROM `+table); err != nil {
			return database.Wrap(err, "end all connections")
		}
	}
	return nil
}

func remove(ctx context.Context, tx *database.Tx, id string) error {
	_, err := tx.Exec(ctx, `DELETE FROM mcp_connection WHERE id = $1`, id)
	return database.Wrap(err, "end a connection")
}

// claim makes this replica the one that renews the tokens. It reports whether it is.
func claim(ctx context.Context, tx *database.Tx, c *Connection, until time.Time) (bool, error) {
	n, err := tx.Exec(ctx, `
		UPDATE mcp_connection SET refreshing_until = $3
		WHERE id = $1 AND revision = $2 AND refreshing_until < $4`,
		c.ID, c.revision, database.Micros(until), database.Micros(tx.Now()))
	return n == 1, database.Wrap(err, "claim a connection")
}

func unclaim(ctx context.Context, tx *database.Tx, c *Connection) error {
	_, err := tx.Exec(ctx, `UPDATE mcp_connection SET refreshing_until = 0 WHERE id = $1 AND revision = $2`, c.ID,
		c.revision)
	return database.Wrap(err, "give a connection back")
}

// storeTokens stores new tokens, unless the connection was made anew meanwhile.
func storeTokens(ctx context.Context, tx *database.Tx, c *Connection, sealed []byte, expiresAt *time.Time) error {
	_, err := tx.Exec(ctx, `
		UPDATE mcp_connection SET sealed = $3, expires_at = $4, refreshing_until = 0, revision = revision + 1
		WHERE id = $1 AND revision = $2`, c.ID, c.revision, sealed, database.OptionalMicros(expiresAt))
	return database.Wrap(err, "renew a connection")
}

// expire makes the access token count as ended.
func expire(ctx context.Context, tx *database.Tx, id string) error {
	_, err := tx.Exec(ctx, `UPDATE mcp_connection SET expires_at = 0 WHERE id = $1`, id)
	return database.Wrap(err, "expire a token")
}

func connectingContext(hash []byte) string { return "mcp-connecting/" + hex.EncodeToString(hash) }

// insertConnecting stores what a person begins, and forgets what is over and what is too much.
func (s *Service) insertConnecting(ctx context.Context, tx *database.Tx, c *connecting) error {
	text, err := json.Marshal(held{Verifier: c.verifier, Secret: c.client.secret})
	if err != nil {
		return err
	}
	sealed := s.Sealer.Seal(connectingContext(c.hash), text)
	_, err = tx.Exec(ctx, `
		DELETE FROM mcp_connecting
		WHERE expires_at < $1 OR state_hash IN (
			SELECT state_hash FROM mcp_connecting WHERE user_id = $2 ORDER BY expires_at DESC LIMIT 100 OFFSET $3)`,
		database.Micros(tx.Now()), c.userID, maxConnecting-1)
	if err != nil {
		return database.Wrap(err, "forget what people have begun")
	}
	a := c.authority
	_, err = tx.Exec(ctx, `
		INSERT INTO mcp_connecting (state_hash, org_id, user_id, server_id, url, resource, issuer, names_issuer, token_url,
			revocation_url, client_id, client_method, scope, sealed, expires_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)`,
		c.hash, c.orgID, c.userID, c.server.ID, c.server.URL, a.resource, a.issuer, database.Bit(a.namesIssuer),
		a.tokenURL, a.revocationURL, c.client.id, a.method, a.scope, sealed, database.Micros(c.expiresAt))
	return database.Wrap(err, "store what a person begins")
}

// findConnecting reads what this person has begun. What others have begun does not exist.
func (s *Service) findConnecting(
	ctx context.Context, r database.Reader, userID, state string,
) (c connecting, err error) {
	c.hash = secret.Hash(state)
	var sealed []byte
	a := &c.authority
	err = r.QueryRow(ctx, `
		SELECT org_id, user_id, server_id, url, resource, issuer, names_issuer, token_url, revocation_url, client_id,
			client_method, scope, sealed, expires_at
		FROM mcp_connecting
		WHERE state_hash = $1 AND user_id = $2`, c.hash, userID).Scan(&c.orgID, &c.userID, &c.server.ID, &c.server.URL,
		&a.resource, &a.issuer, database.ToBool(&a.namesIssuer), &a.tokenURL, &a.revocationURL, &c.client.id, &a.method,
		&a.scope, &sealed, database.ToTime(&c.expiresAt))
	if err != nil {
		return connecting{}, database.OrMissing(err, notBegun(), "read what a person has begun")
	}
	if !s.db.Now().Before(c.expiresAt) {
		return connecting{}, notBegun()
	}
	text, err := s.Sealer.Open(connectingContext(c.hash), sealed)
	if err != nil {
		return connecting{}, err
	}
	var kept held
	if err := json.Unmarshal(text, &kept); err != nil {
		return connecting{}, err
	}
	c.verifier, c.client.secret, c.client.method = kept.Verifier, kept.Secret, a.method
	return c, nil
}

func removeConnecting(ctx context.Context, tx *database.Tx, hash []byte) error {
	n, err := tx.Exec(ctx, `DELETE FROM mcp_connecting WHERE state_hash = $1`, hash)
	if err == nil && n != 1 {
		return notBegun()
	}
	return database.Wrap(err, "forget what a person has begun")
}

func clientContext(orgID, issuer string) string { return "mcp-oauth-client/" + orgID + "/" + issuer }

func (s *Service) findClient(ctx context.Context, orgID, issuer string) (c oauthClient, err error) {
	var sealed []byte
	err = s.db.QueryRow(ctx, `
		SELECT client_id, client_method, sealed, expires_at
		FROM mcp_oauth_client
		WHERE org_id = $1 AND issuer = $2 AND redirect_uri = $3`, orgID, issuer, s.redirectURI()).Scan(&c.id, &c.method,
		&sealed, database.ToOptionalTime(&c.expiresAt))
	if err != nil {
		return oauthClient{}, database.OrMissing(err, noSuchConnection(), "read an OAuth client")
	}
	if len(sealed) > 0 {
		text, err := s.Sealer.Open(clientContext(orgID, issuer), sealed)
		if err != nil {
			return oauthClient{}, err
		}
		c.secret = string(text)
	}
	return c, nil
}

func (s *Service) storeClient(ctx context.Context, tx *database.Tx, orgID, issuer string, c oauthClient) error {
	var sealed any
	if c.secret != "" {
		sealed = s.Sealer.Seal(clientContext(orgID, issuer), []byte(c.secret))
	}
	_, err := tx.Exec(ctx, `
		INSERT INTO mcp_oauth_client (org_id, issuer, redirect_uri, client_id, client_method, sealed, expires_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7)
		ON CONFLICT (org_id, issuer, redirect_uri) DO UPDATE
		SET client_id = excluded.client_id, client_method = excluded.client_method, sealed = excluded.sealed,
			expires_at = excluded.expires_at`,
		orgID, issuer, s.redirectURI(), c.id, c.method, sealed, database.OptionalMicros(c.expiresAt))
	return database.Wrap(err, "store an OAuth client")
}

// Forget ends the connections of a person, and what they have begun, within the change that deletes their account.
func Forget(ctx context.Context, tx *database.Tx, userID string) error {
	for _, table := range []string{"mcp_connection", "mcp_connecting"} {
		if _, err := tx.Exec(ctx, `DELETE FROM `+table+` WHERE user_id = $1`, userID); err != nil {
			return database.Wrap(err, "end the connections of %s", userID)
		}
	}
	return nil
}
