package mcp

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"writ/internal/database"
	"writ/internal/mcp/definition"
)

const serverColumns = `
	SELECT s.id, s.org_id, s.name, s.description, s.transport, s.url, s.command, s.auth, s.auth_header, s.oauth_client_id, s.sealed_secret,
		s.metadata, s.status, s.source, s.key_id, s.registered_by, s.decided_by, s.decided_at, s.reason, s.created_at,
		s.updated_at, s.revision, s.about, s.listed_hash, s.pinned, s.unreadable, s.checked_at, s.healthy, s.since,
		s.latency, s.problem, s.watched,
		(SELECT COUNT(*) FROM mcp_tool t WHERE t.server_id = s.id),
		(SELECT COUNT(*) FROM mcp_tool t WHERE t.server_id = s.id AND t.state NOT IN ('listed', 'pinned'))
	FROM mcp_server s `

func scanServer(row database.Scanner) (s Server, err error) {
	var command, metadata, about string
	var healthy sql.NullInt64
	var latency int64
	h := &s.Health
	err = row.Scan(&s.ID, &s.OrgID, &s.Name, &s.Description, &s.Transport, &s.URL, &command, &s.Auth.Type,
		&s.Auth.Header, &s.Auth.ClientID, &s.sealed,
		&metadata, &s.Status, &s.Source, &s.KeyID, &s.RegisteredBy, &s.DecidedBy,
		database.ToOptionalTime(&s.DecidedAt), &s.Reason, database.ToTime(&s.CreatedAt), database.ToTime(&s.UpdatedAt),
		&s.revision, &about, &s.ListedHash, database.ToBool(&s.Pinned), database.ToBool(&h.Unreadable),
		database.ToOptionalTime(&h.CheckedAt), &healthy, database.ToOptionalTime(&h.Since), &latency, &h.Problem,
		database.ToBool(&h.Watched), &s.Tools, &s.Held)
	if err != nil {
		return s, err
	}
	s.Auth.HasSecret = len(s.sealed) > 0
	h.Healthy, h.Latency = healthy.Int64 == 1, time.Duration(latency)*time.Microsecond
	if metadata != "" {
		s.Metadata = jsontext.Value(metadata)
	}
	if command != "" {
		err = json.Unmarshal([]byte(command), &s.Command)
	}
	if err == nil && about != "" {
		err = json.Unmarshal([]byte(about), &s.About)
	}
	return s, err
}

// find reads a server of an organization by its id or, if none has it, by its name.
func find(ctx context.Context, r database.Reader, orgID, idOrName string) (Server, error) {
	if !utf8.ValidString(idOrName) || strings.Contains(idOrName, "\x00") {
		return Server{}, noSuchServer() // no database takes it
	}
	s, err := scanServer(r.QueryRow(ctx, serverColumns+`
		WHERE s.org_id = $1 AND (s.id = $2 OR s.name = $2)
		ORDER BY CASE WHEN s.id = $2 THEN 0 ELSE 1 END
		LIMIT 1`, orgID, idOrName))
	return s, database.OrMissing(err, noSuchServer(), "read an MCP server")
}

func findNamed(ctx context.Context, r database.Reader, orgID, name string) (Server, error) {
	s, err := scanServer(r.QueryRow(ctx, serverColumns+`WHERE s.org_id = $1 AND s.name = $2`, orgID, name))
	return s, database.OrMissing(err, noSuchServer(), "read an MCP server")
}

func list(ctx context.Context, r database.Reader, orgID string, status Status) ([]Server, error) {
	where := database.Where{}
	where.And(`s.org_id = ?`, orgID)
	if status != "" {
		where.And(`s.status = ?`, string(status))
	}
	found, err := database.Collect(ctx, r, scanServer, serverColumns+where.String()+`ORDER BY s.name`, where.Args...)
	return found, database.Wrap(err, "list MCP servers")
}

// counts are how many servers an organization has, and how many a key and all keys propose.
func counts(ctx context.Context, r database.Reader, orgID, keyID string) (all, proposed, mine int, err error) {
	err = r.QueryRow(ctx, `
		SELECT COUNT(*), COALESCE(SUM(CASE WHEN status = 'pending' THEN 1 ELSE 0 END), 0),
			COALESCE(SUM(CASE WHEN status = 'pending' AND key_id = $2 THEN 1 ELSE 0 END), 0)
		FROM mcp_server
		WHERE org_id = $1`, orgID, keyID).Scan(&all, &proposed, &mine)
	return all, proposed, mine, database.Wrap(err, "count MCP servers")
}

// texts are the columns of a server that hold JSON.
func (s *Server) texts() (command, about string, err error) {
	if len(s.Command) > 0 {
		raw, err := json.Marshal(s.Command)
		if err != nil {
			return "", "", err
		}
		command = string(raw)
	}
	said := s.About
	said.Tools, said.Command, said.URL, said.Auth, said.Transport = nil, nil, "", "", ""
	raw, err := json.Marshal(said, json.Deterministic(true))
	return command, string(raw), err
}

func insert(ctx context.Context, tx *database.Tx, s *Server) error {
	command, about, err := s.texts()
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `
		INSERT INTO mcp_server (id, org_id, name, description, transport, url, command, auth, auth_header, sealed_secret,
			metadata, status, source, key_id, registered_by, decided_by, decided_at, reason, created_at, updated_at,
			revision, about, listed_hash, pinned, unreadable, latency, problem, watched, check_at, oauth_client_id)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $19, 1, $20, '',
			0, 0, 0, '', $21, $22, $23)`,
		s.ID, s.OrgID, s.Name, s.Description, s.Transport, s.URL, command, s.Auth.Type, s.Auth.Header,
		optional(s.sealed),
		string(s.Metadata), string(s.Status), s.Source, s.KeyID, s.RegisteredBy, s.DecidedBy,
		database.OptionalMicros(s.DecidedAt), s.Reason, database.Micros(s.CreatedAt), about,
		database.Bit(s.isAsked()), database.Micros(s.firstCheck()), s.Auth.ClientID)
	return database.Wrap(err, "store an MCP server")
}

// update stores what a person has changed.
func update(ctx context.Context, tx *database.Tx, s *Server) error {
	command, _, err := s.texts()
	if err != nil {
		return err
	}
	now := tx.Now()
	_, err = tx.Exec(ctx, `
		UPDATE mcp_server
		SET description = $2, transport = $3, url = $4, command = $5, auth = $6, auth_header = $7, sealed_secret = $8,
			metadata = $9, status = $10, decided_by = $11, decided_at = $12, reason = $13, updated_at = $14,
			revision = revision + 1, watched = $15, check_at = $14, oauth_client_id = $16
		WHERE id = $1`,
		s.ID, s.Description, s.Transport, s.URL, command, s.Auth.Type, s.Auth.Header, optional(s.sealed),
		string(s.Metadata), string(s.Status), s.DecidedBy, database.OptionalMicros(s.DecidedAt), s.Reason,
		database.Micros(now), database.Bit(s.isAsked()), s.Auth.ClientID)
	return database.Wrap(err, "change an MCP server")
}

// isAsked reports whether the server is asked behind the scenes: on a schedule or, while it is pending, once.
func (s *Server) isAsked() bool {
	return s.Status != Denied && s.URL != "" && s.Transport != definition.Stdio
}

// firstCheck is when a new server is asked behind the scenes. Whoever registers an approved one asks it at once.
func (s *Server) firstCheck() time.Time {
	if s.Status == Pending {
		return s.CreatedAt
	}
	return s.CreatedAt.Add(WatchEvery)
}

// remove deletes a server with all that is known of it.
func remove(ctx context.Context, tx *database.Tx, id string) error {
	// The row first: another replica that stores a check of it just now waits for it, and then finds none.
	if _, err := tx.Exec(ctx, `UPDATE mcp_server SET watched = 0 WHERE id = $1`, id); err != nil {
		return fmt.Errorf("remove an MCP server: %w", err)
	}
	for _, table := range []string{"mcp_finding", "mcp_check", "mcp_tool"} {
		if _, err := tx.Exec(ctx, `DELETE FROM `+table+` WHERE server_id = $1`, id); err != nil {
			return fmt.Errorf("remove an MCP server: %w", err)
		}
	}
	_, err := tx.Exec(ctx, `DELETE FROM mcp_server WHERE id = $1`, id)
	return database.Wrap(err, "remove an MCP server")
}

// optional is stored as NULL where there is nothing.
func optional(sealed []byte) any {
	if len(sealed) == 0 {
		return nil
	}
	return sealed
}
