package policy

import (
	"context"
	"strings"
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

// OrgOf is the organization of a policy. It asks nobody's leave: the edge needs
// it to find the caller's role there, and must answer a caller without one as if
// the policy did not exist.
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
	policy, err := find(ctx, s.db, p.OrgID, id)
	if err != nil {
		return Full{}, err
	}
	if number == LatestVersion {
		number = policy.LatestVersion
	}
	v, err := findVersion(ctx, s.db, p.OrgID, id, number)
	if err != nil {
		return Full{}, err
	}
	doc, err := v.Source.Document()
	if err != nil {
		return Full{}, &BrokenError{PolicyID: id, Version: number, Cause: err}
	}
	return Full{Policy: policy, Version: v, Document: doc}, nil
}

// List shows the policies of the organization, newest first. The limit is
// page.DefaultLimit when it is not positive, and page.MaxLimit at most.
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
	after, err := page.Decode(cursor, policyList, f.scope(p.OrgID))
	if err != nil {
		return page.Page[Policy]{}, err
	}
	limit = bounded(limit)
	policies, err := selectPolicies(ctx, s.db, p.OrgID, f, after, limit+1)
	if err != nil {
		return page.Page[Policy]{}, err
	}
	return page.Of(policies, limit, func(policy Policy) page.Cursor {
		return page.Cursor{
			List: policyList, Scope: f.scope(p.OrgID), Micros: database.Micros(policy.CreatedAt), ID: policy.ID,
		}
	}), nil
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
	after, err := page.Decode(cursor, versionList, id)
	if err != nil {
		return page.Page[Version]{}, err
	}
	limit = bounded(limit)
	versions, err := selectVersions(ctx, s.db, p.OrgID, id, after, limit+1)
	if err != nil {
		return page.Page[Version]{}, err
	}
	return page.Of(versions, limit, func(v Version) page.Cursor {
		return page.Cursor{List: versionList, Scope: id, Micros: int64(v.Number), ID: id}
	}), nil
}

func bounded(limit int) int {
	if limit <= 0 {
		return page.DefaultLimit
	}
	return min(limit, page.MaxLimit)
}

// Diff tells what changed from one version of a policy to another.
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

// Export is a version of a policy as YAML: the very text it was written as, where
// it was written as YAML.
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
