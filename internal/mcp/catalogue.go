package mcp

import (
	"context"
	"strings"

	"writ/internal/database"
	"writ/internal/principal"
)

// Catalogue is what an SDK starts with: the approved servers, and the server of each accepted tool.
type Catalogue struct {
	Servers []string
	Tools   map[string]string // a name that several servers use is none of theirs
}

// maxCatalogueTools bounds what an SDK is told.
const maxCatalogueTools = 20_000

// Catalogue reads what an SDK starts with. Held tools are left out: nobody has agreed to what they are now.
func (s *Service) Catalogue(ctx context.Context, p principal.Principal) (Catalogue, error) {
	if err := requireReader(p); err != nil {
		return Catalogue{}, err
	}
	c := Catalogue{Tools: map[string]string{}}
	var err error
	c.Servers, err = database.Collect(ctx, s.db, database.Column[string],
		`SELECT name FROM mcp_server WHERE org_id = $1 AND status = 'approved' ORDER BY name`, p.OrgID)
	if err != nil {
		return Catalogue{}, database.Wrap(err, "list the MCP servers of an SDK")
	}
	type pair struct{ tool, server string }
	pairs, err := database.Collect(ctx, s.db, func(row database.Scanner) (t pair, err error) {
		err = row.Scan(&t.tool, &t.server)
		return t, err
	}, `
		SELECT t.name, MIN(s.name)
		FROM mcp_tool t
		JOIN mcp_server s ON s.id = t.server_id AND s.status = 'approved'
		WHERE t.org_id = $1 AND t.state = 'pinned'
		GROUP BY t.name
		HAVING COUNT(*) = 1
		ORDER BY t.name
		LIMIT $2`, p.OrgID, maxCatalogueTools)
	for _, t := range pairs {
		c.Tools[t.tool] = t.server
	}
	return c, database.Wrap(err, "list the tools of an SDK")
}

// Lists reports whether the registry of an organization has a server, and a tool, of one of these names, in any case of
// their letters. No names: whichever.
func Lists(ctx context.Context, r database.Reader, orgID string, servers, tools []string) (bool, error) {
	for _, of := range []struct {
		table string
		names []string
	}{{"mcp_server", servers}, {"mcp_tool", tools}} {
		if len(of.names) == 0 {
			continue
		}
		var where database.Where
		where.And(`org_id = ?`, orgID)
		marks := make([]string, len(of.names))
		for i, name := range of.names {
			marks[i] = where.Bind(strings.ToLower(name))
		}
		var any bool
		err := r.QueryRow(ctx, `SELECT EXISTS (SELECT 1 FROM `+of.table+where.String()+`AND LOWER(name) IN (`+
			strings.Join(marks, ", ")+`))`, where.Args...).Scan(&any)
		if err != nil || !any {
			return false, database.Wrap(err, "look for a name in the registry of MCP servers")
		}
	}
	return true, nil
}
