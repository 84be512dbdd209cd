package replay

import (
	"context"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"

	"writ/internal/database"
	"writ/internal/policy"
	"writ/internal/policy/document"
)

// columns are those that scan reads.
const (
	columns = `
	id, org_id, state, name, policy_id, version, digest, left_out, days, from_at, until_at, author_kind, author_id,
	created_at, ended_at, attempts, runner, done, total, problem, format, source, `
	withReport    = columns + `report`
	withoutReport = columns + `''`
)

func scan(s database.Scanner) (j Job, err error) {
	var format, source, report, without string
	err = s.Scan(&j.ID, &j.OrgID, &j.State, &j.Name, &j.PolicyID, &j.Version, &j.Digest, &without, &j.Days,
		database.ToTime(&j.From), database.ToTime(&j.Until), &j.Author.Kind, &j.Author.ID,
		database.ToTime(&j.CreatedAt), database.ToOptionalTime(&j.EndedAt), &j.attempts, &j.runner, &j.Done, &j.Total,
		&j.Problem, &format, &source, &report)
	if err != nil {
		return Job{}, err
	}
	j.Without = strings.Fields(without)
	if format != "" {
		j.source = &policy.Source{Text: source, Format: formatOf(format)}
	}
	if report != "" {
		j.Report = &Report{}
		if err := json.Unmarshal([]byte(report), j.Report); err != nil {
			return Job{}, fmt.Errorf("read the report of replay %s: %w", j.ID, err)
		}
	}
	return j, nil
}

// The formats as stored.
const (
	storedYAML = "yaml"
	storedJSON = "json"
)

func formatOf(stored string) document.Format {
	if stored == storedJSON {
		return document.JSON
	}
	return document.YAML
}

func (j *Job) stored() (format, source string) {
	switch {
	case j.source == nil:
		return "", ""
	case j.source.Format == document.JSON:
		return storedJSON, j.source.Text
	}
	return storedYAML, j.source.Text
}

func insert(ctx context.Context, tx *database.Tx, j Job) error {
	format, source := j.stored()
	_, err := tx.Exec(ctx, `
		INSERT INTO policy_replay (id, org_id, state, name, policy_id, version, format, source, digest, left_out, days, from_at, until_at,
			author_kind, author_id, created_at, attempts, runner, lease_until, done, total, problem, report)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, 0, '', 0, 0, 0, '', '')`,
		j.ID, j.OrgID, string(j.State), j.Name, j.PolicyID, j.Version, format, source, j.Digest,
		strings.Join(j.Without, " "), j.Days, database.Micros(j.From), database.Micros(j.Until),
		string(j.Author.Kind), j.Author.ID, database.Micros(j.CreatedAt))
	return database.Wrap(err, "store replay %s", j.ID)
}

func hasOpen(ctx context.Context, r database.Reader, orgID string) (bool, error) {
	var n int
	err := r.QueryRow(ctx, `SELECT COUNT(*) FROM policy_replay WHERE org_id = $1 AND state IN ('waiting', 'running')`,
		orgID).Scan(&n)
	return n > 0, database.Wrap(err, "look for a replay of %s", orgID)
}

// deleteOldest keeps only the newest replays of an organization.
func deleteOldest(ctx context.Context, tx *database.Tx, orgID string, leave int) error {
	_, err := tx.Exec(ctx, `
		DELETE FROM policy_replay
		WHERE org_id = $1 AND state NOT IN ('waiting', 'running') AND id NOT IN (
			SELECT id
			FROM policy_replay
			WHERE org_id = $1
			ORDER BY created_at DESC, id DESC
			LIMIT $2
		)`, orgID, leave)
	return database.Wrap(err, "delete old replays of %s", orgID)
}

func find(ctx context.Context, r database.Reader, orgID, id string) (Job, error) {
	if !database.IsID(id) {
		return Job{}, noReplay()
	}
	j, err := scan(r.QueryRow(ctx, `SELECT `+withReport+` FROM policy_replay WHERE org_id = $1 AND id = $2`, orgID, id))
	return j, database.OrMissing(err, noReplay(), "read replay %s", id)
}

func list(ctx context.Context, r database.Reader, orgID string) ([]Job, error) {
	jobs, err := database.Collect(ctx, r, scan, `
		SELECT `+withoutReport+`
		FROM policy_replay
		WHERE org_id = $1
		ORDER BY created_at DESC, id DESC`, orgID)
	return jobs, database.Wrap(err, "list the replays of %s", orgID)
}

// end stores the result of a replay and drops its document.
func end(ctx context.Context, tx *database.Tx, j Job) error {
	report := ""
	if j.Report != nil {
		text, err := json.Marshal(j.Report, json.Deterministic(true))
		if err != nil {
			return fmt.Errorf("write the report of replay %s: %w", j.ID, err)
		}
		report = string(text)
	}
	_, err := tx.Exec(ctx, `
		UPDATE policy_replay
		SET state = $3, ended_at = $4, done = $5, total = $6, problem = $7, report = $8, format = '', source = '', runner = '', lease_until = 0
		WHERE org_id = $1 AND id = $2`,
		j.OrgID, j.ID, string(j.State), database.OptionalMicros(j.EndedAt), j.Done, j.Total, j.Problem, report)
	return database.Wrap(err, "end replay %s", j.ID)
}
