package policy

import (
	"context"
	"errors"

	"writ/internal/database"
	"writ/internal/page"
	"writ/internal/policy/document"
)

// The formats as they are stored.
const (
	storedYAML = "yaml"
	storedJSON = "json"
)

func storedFormat(f document.Format) string {
	if f == document.JSON {
		return storedJSON
	}
	return storedYAML
}

func formatOf(stored string) (document.Format, error) {
	switch stored {
	case storedYAML:
		return document.YAML, nil
	case storedJSON:
		return document.JSON, nil
	}
	return document.YAML, errors.New("the stored format is neither yaml nor json")
}

// versionColumns are those scanVersion reads, of policy_version as v. A list leaves the source empty, because it may
// be large.
const (
	versionColumns = `v.source, ` + listedColumns
	listedColumns  = `
	v.policy_id, v.version, v.format, v.digest, v.rules, COALESCE(v.restored_from, 0), v.author_kind, v.author_id,
	v.created_at`
)

func scanVersion(s database.Scanner) (v Version, err error) {
	var format string
	err = s.Scan(&v.Source.Text, &v.PolicyID, &v.Number, &format, &v.Digest, &v.Rules, &v.RestoredFrom, &v.Author.Kind,
		&v.Author.ID, database.ToTime(&v.CreatedAt))
	if err != nil {
		return Version{}, err
	}
	if v.Source.Format, err = formatOf(format); err != nil {
		err = &BrokenError{v.PolicyID, v.Number, err}
	}
	return v, err
}

func insertVersion(ctx context.Context, tx *database.Tx, orgID string, v Version) error {
	_, err := tx.Exec(ctx, `
		INSERT INTO policy_version (org_id, policy_id, version, format, source, digest, rules, restored_from, author_kind, author_id, created_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`,
		orgID, v.PolicyID, v.Number, storedFormat(v.Source.Format), v.Source.Text, v.Digest, v.Rules,
		optionalVersion(v.RestoredFrom), string(v.Author.Kind), v.Author.ID, database.Micros(v.CreatedAt))
	return database.Wrap(err, "store version %d of policy %s", v.Number, v.PolicyID)
}

// findVersion reads one version of a policy of an organization.
func findVersion(ctx context.Context, r database.Reader, orgID, policyID string, number int) (Version, error) {
	v, err := scanVersion(r.QueryRow(ctx, `
		SELECT `+versionColumns+`
		FROM policy_version v
		WHERE v.org_id = $1 AND v.policy_id = $2 AND v.version = $3`, orgID, policyID, number))
	if err != nil {
		return Version{}, database.OrMissing(err, noVersion(), "read version %d of policy %s", number, policyID)
	}
	if v.Source.digest() != v.Digest {
		return Version{}, &BrokenError{policyID, number, errors.New("its text is not the one that was stored")}
	}
	return v, nil
}

// selectVersions reads up to limit versions after a position, newest first and without their text. A position's time
// is the number of its version.
func selectVersions(
	ctx context.Context, r database.Reader, orgID, policyID string, after page.Cursor, limit int,
) ([]Version, error) {
	before := int64(MaxVersions) + 1
	if !after.IsZero() {
		before = after.Micros
	}
	versions, err := database.Collect(ctx, r, scanVersion, `
		SELECT '', `+listedColumns+`
		FROM policy_version v
		WHERE v.org_id = $1 AND v.policy_id = $2 AND v.version < $3
		ORDER BY v.version DESC
		LIMIT $4`, orgID, policyID, before, limit)
	return versions, database.Wrap(err, "list the versions of policy %s", policyID)
}
