package policy

import (
	"context"
	"strings"
	"time"
	"unicode/utf8"

	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/page"
	"writ/internal/policy/document"
	"writ/internal/principal"
)

// The lists cursors are bound to.
const (
	policyList  = "policy"
	versionList = "policy_version"
)

// OrgOf is the organization of a policy. It checks no permission: the API finds the caller's role in that organization,
// and answers a caller without one as if the policy did not exist.
func (s *Service) OrgOf(ctx context.Context, id string) (orgID string, err error) {
	return findOrg(ctx, s.db, id)
}

// NameOf is the name of a policy; empty if the organization has no such policy.
func (s *Service) NameOf(ctx context.Context, orgID, id string) (string, error) {
	policy, err := find(ctx, s.db, orgID, id)
	if fault.Is(err, fault.NotFound) {
		return "", nil
	}
	return policy.Name, err
}

// Get is a policy with its latest version, or another one.
func (s *Service) Get(ctx context.Context, p principal.Principal, id string, number int) (Full, error) {
	if err := requireReader(p); err != nil {
		return Full{}, err
	}
	policy, v, err := s.findNumbered(ctx, p.OrgID, id, number)
	if err != nil {
		return Full{}, err
	}
	doc, err := v.Source.Document()
	if err != nil {
		return Full{}, &BrokenError{PolicyID: id, Version: v.Number, Cause: err}
	}
	return Full{Policy: policy, Version: v, Document: doc}, nil
}

// findNumbered reads a policy and one of its versions (the latest with LatestVersion).
func (s *Service) findNumbered(ctx context.Context, orgID, id string, number int) (Policy, Version, error) {
	policy, err := find(ctx, s.db, orgID, id)
	if err != nil {
		return Policy{}, Version{}, err
	}
	if number == LatestVersion {
		number = policy.LatestVersion
	}
	v, err := findVersion(ctx, s.db, orgID, id, number)
	return policy, v, err
}

// List lists the policies of the organization, newest first.
func (s *Service) List(
	ctx context.Context, p principal.Principal, f Filter, cursor string, limit int,
) (page.Page[Policy], error) {
	if err := requireReader(p); err != nil {
		return page.Page[Policy]{}, err
	}
	if f.Status != "" && !f.Status.Valid() {
		return page.Page[Policy]{}, fault.Field("status", "must be draft, active or inactive")
	}
	if !utf8.ValidString(f.Name) || strings.ContainsRune(f.Name, 0) {
		return page.Of[Policy](nil, 1, nil), nil // no policy has a name that no database takes
	}
	query := page.Query{List: policyList, Scope: f.scope(p.OrgID), Cursor: cursor, Limit: limit}
	return page.Read(query, func(after page.Cursor, limit int) ([]Policy, error) {
		return selectPolicies(ctx, s.db, p.OrgID, f, after, limit)
	}, func(policy Policy) (time.Time, string) { return policy.CreatedAt, policy.ID })
}

// Versions lists the versions of a policy, newest first.
func (s *Service) Versions(
	ctx context.Context, p principal.Principal, id, cursor string, limit int,
) (page.Page[Version], error) {
	if err := requireReader(p); err != nil {
		return page.Page[Version]{}, err
	}
	if _, err := find(ctx, s.db, p.OrgID, id); err != nil {
		return page.Page[Version]{}, err
	}
	query := page.Query{List: versionList, Scope: id, Cursor: cursor, Limit: limit}
	return page.Read(query, func(after page.Cursor, limit int) ([]Version, error) {
		return selectVersions(ctx, s.db, p.OrgID, id, after, limit)
	}, func(v Version) (time.Time, string) { return database.Time(int64(v.Number)), id })
}

// Diff lists what changed from one version of a policy to another.
func (s *Service) Diff(ctx context.Context, p principal.Principal, id string, from, to int) ([]document.Change, error) {
	before, err := s.Get(ctx, p, id, from)
	if err != nil {
		return nil, err
	}
	after, err := s.Get(ctx, p, id, to)
	if err != nil {
		return nil, err
	}
	return document.Diff(before.Document, after.Document), nil
}

// Export is a version of a policy as YAML: its own text if that is YAML.
func (s *Service) Export(ctx context.Context, p principal.Principal, id string, number int) ([]byte, error) {
	full, err := s.Get(ctx, p, id, number)
	if err != nil {
		return nil, err
	}
	if full.Version.Source.Format == document.YAML {
		return []byte(full.Version.Source.Text), nil
	}
	return document.Render(full.Document), nil
}
