package mcp

import (
	"context"
	"fmt"

	"github.com/go-json-experiment/json"

	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/mcp/scan"
)

// references are ids of other catalogues, as they are stored.
type references struct {
	OWASP   []string `json:"owasp"`
	SAFEMCP []string `json:"safeMcp"`
}

const findingColumns = `
	SELECT fingerprint, rule, severity, place, title, evidence, advice, refs, present, first_seen_at, last_seen_at,
		accepted_by, accepted_at, accepted_for
	FROM mcp_finding `

func scanFinding(row database.Scanner) (f Finding, err error) {
	var severity, refs string
	err = row.Scan(&f.Fingerprint, &f.ID, &severity, &f.Place, &f.Title, &f.Evidence, &f.Advice, &refs,
		database.ToBool(&f.Present), database.ToTime(&f.FirstSeenAt), database.ToTime(&f.LastSeenAt), &f.AcceptedBy,
		database.ToOptionalTime(&f.AcceptedAt), &f.AcceptedFor)
	if err != nil {
		return f, err
	}
	var ids references
	if err = json.Unmarshal([]byte(refs), &ids); err == nil {
		f.OWASP, f.SAFEMCP = ids.OWASP, ids.SAFEMCP
		f.Severity, err = scan.ParseSeverity(severity)
	}
	return f, err
}

// readFindings reads what the last scan found, and what a person has accepted before.
func readFindings(ctx context.Context, r database.Reader, serverID string) ([]Finding, error) {
	found, err := database.Collect(ctx, r, scanFinding, findingColumns+`
		WHERE server_id = $1 AND (present = 1 OR accepted_by <> '')
		ORDER BY fingerprint
		LIMIT $2`, serverID, 2*scan.MaxFindings)
	return found, database.Wrap(err, "read what was found about an MCP server")
}

func findFinding(ctx context.Context, r database.Reader, serverID, fingerprint string) (Finding, error) {
	f, err := scanFinding(r.QueryRow(ctx, findingColumns+`WHERE server_id = $1 AND fingerprint = $2 AND present = 1`,
		serverID, fingerprint))
	return f, database.OrMissing(err, fault.New(fault.NotFound, "no such finding"),
		"read what was found about an MCP server")
}

// replaceFindings stores what a scan found, and gives how many of it were not known. What a person has accepted stays
// accepted; what is found no more and was accepted by nobody is forgotten.
func replaceFindings(
	ctx context.Context, tx *database.Tx, serverID string, found []scan.Finding,
) (added int64, err error) {
	now := database.Micros(tx.Now())
	for _, statement := range []string{
		`DELETE FROM mcp_finding WHERE server_id = $1 AND present = 0 AND accepted_by = ''`,
		`UPDATE mcp_finding SET present = 0 WHERE server_id = $1`,
	} {
		if _, err := tx.Exec(ctx, statement, serverID); err != nil {
			return 0, fmt.Errorf("store what was found about an MCP server: %w", err)
		}
	}
	rows := make([][]any, len(found))
	for i, f := range found {
		refs, err := json.Marshal(references{f.OWASP, f.SAFEMCP})
		if err != nil {
			return 0, err
		}
		rows[i] = []any{
			serverID, f.Fingerprint, f.ID, f.Severity.String(), f.Place, f.Title, f.Evidence, f.Advice, string(refs), 1,
			now, now, "", nil, "",
		}
	}
	err = tx.Insert(ctx, `
		INSERT INTO mcp_finding (server_id, fingerprint, rule, severity, place, title, evidence, advice, refs, present,
			first_seen_at, last_seen_at, accepted_by, accepted_at, accepted_for)`, rows,
		`ON CONFLICT (server_id, fingerprint) DO UPDATE SET present = 1, last_seen_at = excluded.last_seen_at,
			severity = excluded.severity, place = excluded.place`)
	if err != nil {
		return 0, fmt.Errorf("store what was found about an MCP server: %w", err)
	}
	err = tx.QueryRow(ctx,
		`SELECT COUNT(*) FROM mcp_finding WHERE server_id = $1 AND first_seen_at = $2 AND present = 1`,
		serverID, now).Scan(&added)
	return added, database.Wrap(err, "count what was found about an MCP server")
}

func acceptFinding(ctx context.Context, tx *database.Tx, serverID string, f *Finding) error {
	_, err := tx.Exec(ctx, `
		UPDATE mcp_finding
		SET accepted_by = $3, accepted_at = $4, accepted_for = $5
		WHERE server_id = $1 AND fingerprint = $2`,
		serverID, f.Fingerprint, f.AcceptedBy, database.OptionalMicros(f.AcceptedAt), f.AcceptedFor)
	return database.Wrap(err, "accept what was found about an MCP server")
}
