package policy

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/principal"
)

// maxNumbered is how many drafts of one name get a number.
const maxNumbered = 20

// FreeName is a name for a draft that has none: the wished one, with a number if it is taken. It may be taken before
// the draft is stored, which then fails.
func (s *Service) FreeName(ctx context.Context, p principal.Principal, wished string) (string, error) {
	if err := requireDrafter(p); err != nil {
		return "", err
	}
	name := wished
	for n := 2; n <= maxNumbered; n++ {
		_, err := findByName(ctx, s.db, p.OrgID, name)
		if errors.Is(err, sql.ErrNoRows) {
			return name, nil
		}
		if err != nil {
			return "", err
		}
		name = fmt.Sprintf("%s %d", wished, n)
	}
	return name, nil
}

// RequireFreeName refuses a name that is taken, before the caller does much work.
func (s *Service) RequireFreeName(ctx context.Context, p principal.Principal, name string) error {
	if err := requireDrafter(p); err != nil {
		return err
	}
	return requireFreeName(ctx, s.db, Policy{OrgID: p.OrgID, Name: name})
}

func requireFreeName(ctx context.Context, r database.Reader, policy Policy) error {
	other, err := findByName(ctx, r, policy.OrgID, policy.Name)
	if err != nil || other.ID == policy.ID {
		return database.OrMissing(err, nil, "check the name of a policy")
	}
	return fault.New(fault.Conflict,
		"the organization has a policy named %q already: give another name, or write the next version of that policy (%s)",
		policy.Name, other.ID)
}
