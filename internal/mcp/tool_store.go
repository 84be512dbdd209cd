package mcp

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"writ/internal/database"
	"writ/internal/mcp/definition"
)

const toolColumns = `
	SELECT name, state, moved_from, since, listed_hash, listed, accepted_hash, accepted, accepted_by, accepted_at
	FROM mcp_tool `

func scanTool(s database.Scanner) (t Tool, err error) {
	var listed, accepted string
	err = s.Scan(&t.Name, &t.State, &t.MovedFrom, database.ToTime(&t.Since), &t.Listed.Hash, &listed,
		&t.Accepted.Hash, &accepted, &t.AcceptedBy, database.ToOptionalTime(&t.AcceptedAt))
	if err == nil {
		t.Listed.Tool, err = parseTool(listed)
	}
	if err == nil {
		t.Accepted.Tool, err = parseTool(accepted)
	}
	return t, err
}

func parseTool(text string) (t definition.Tool, err error) {
	if text == "" {
		return t, nil
	}
	err = json.Unmarshal([]byte(text), &t)
	return t, err
}

func toolText(v Version) (string, error) {
	if v.Hash == "" {
		return "", nil
	}
	text, err := json.Marshal(v.Tool, json.Deterministic(true))
	return string(text), err
}

// readTools reads the tools of a server, by name.
func readTools(ctx context.Context, r database.Reader, serverID string) ([]Tool, error) {
	tools, err := database.Collect(ctx, r, scanTool, toolColumns+`WHERE server_id = $1 ORDER BY name`, serverID)
	return tools, database.Wrap(err, "read the tools of an MCP server")
}

func findTool(ctx context.Context, r database.Reader, serverID, name string) (Tool, error) {
	t, err := scanTool(r.QueryRow(ctx, toolColumns+`WHERE server_id = $1 AND name = $2`, serverID, name))
	return t, database.OrMissing(err, noSuchTool(), "read a tool of an MCP server")
}

// namesAtOnce bounds the parameters of a query.
const namesAtOnce = 200

// replaceTools stores the tools of a server in place of those before.
func replaceTools(ctx context.Context, tx *database.Tx, s *Server, tools []Tool) error {
	if _, err := tx.Exec(ctx, `DELETE FROM mcp_tool WHERE server_id = $1`, s.ID); err != nil {
		return fmt.Errorf("replace the tools of an MCP server: %w", err)
	}
	rows := make([][]any, len(tools))
	for i := range tools {
		row, err := toolRow(s, &tools[i])
		if err != nil {
			return err
		}
		rows[i] = row
	}
	err := tx.Insert(ctx, `
		INSERT INTO mcp_tool (server_id, org_id, name, state, moved_from, since, listed_hash, listed, accepted_hash,
			accepted, accepted_by, accepted_at)`, rows, ``)
	return database.Wrap(err, "store the tools of an MCP server")
}

func toolRow(s *Server, t *Tool) ([]any, error) {
	listed, err := toolText(t.Listed)
	if err != nil {
		return nil, err
	}
	accepted, err := toolText(t.Accepted)
	return []any{
		s.ID, s.OrgID, t.Name, string(t.State), t.MovedFrom, database.Micros(t.Since), t.Listed.Hash, listed,
		t.Accepted.Hash, accepted, t.AcceptedBy, database.OptionalMicros(t.AcceptedAt),
	}, err
}

// updateTool stores what a person has accepted of a tool, if it is still listed with the hash that they saw.
func updateTool(ctx context.Context, tx *database.Tx, s *Server, t *Tool) error {
	row, err := toolRow(s, t)
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `
		UPDATE mcp_tool
		SET state = $3, moved_from = $4, since = $5, accepted_hash = $6, accepted = $7, accepted_by = $8, accepted_at = $9
		WHERE server_id = $1 AND name = $2`,
		s.ID, t.Name, row[3], row[4], row[5], row[8], row[9], row[10], row[11])
	return database.Wrap(err, "accept a tool of an MCP server")
}

func deleteTool(ctx context.Context, tx *database.Tx, serverID, name string) error {
	_, err := tx.Exec(ctx, `DELETE FROM mcp_tool WHERE server_id = $1 AND name = $2`, serverID, name)
	return database.Wrap(err, "forget a tool of an MCP server")
}

// acceptedElsewhere are other approved servers of an organization by the names of tools that are accepted there, of
// those tools that are asked for.
func acceptedElsewhere(
	ctx context.Context, r database.Reader, s *Server, unknown []string,
) (map[string]string, error) {
	found := map[string]string{}
	for chunk := range slices.Chunk(unknown, namesAtOnce) {
		where := database.Where{}
		where.And(`t.org_id = ? AND t.server_id <> ? AND t.accepted_hash <> ''`, s.OrgID, s.ID)
		marks := make([]string, len(chunk))
		for i, name := range chunk {
			marks[i] = where.Bind(name)
		}
		type pair struct{ tool, server string }
		pairs, err := database.Collect(ctx, r, func(row database.Scanner) (p pair, err error) {
			err = row.Scan(&p.tool, &p.server)
			return p, err
		}, `
			SELECT t.name, MIN(o.name)
			FROM mcp_tool t
			JOIN mcp_server o ON o.id = t.server_id AND o.status = 'approved'`+where.String()+
			`AND t.name IN (`+strings.Join(marks, ", ")+`) GROUP BY t.name`, where.Args...)
		if err != nil {
			return nil, fmt.Errorf("look for tools of other MCP servers: %w", err)
		}
		for _, p := range pairs {
			found[p.tool] = p.server
		}
	}
	return found, nil
}
