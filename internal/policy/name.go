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

// mostAlike is how many drafts of one name get a number.
const mostAlike = 20

// FreeName is a name for a draft that nobody named: the one that is wished for, with
// a number where that is taken. Somebody may take it meanwhile; storing says so.
func (s *Service) FreeName(ctx context.Context, p principal.Principal, wished string) (string, error) {
	if err := requireDrafter(p); err != nil {
		return "", err
	}
	name := wished
	for n := 2; n <= mostAlike; n++ {
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

// RequireFreeName refuses a name that a policy has, before much is done for it.
func (s *Service) RequireFreeName(ctx context.Context, p principal.Principal, name string) error {
	if err := requireDrafter(p); err != nil {
		return err
	}
	return requireFreeName(ctx, s.db, Policy{OrgID: p.OrgID, Name: name})
}

func requireFreeName(ctx context.Context, r database.Reader, policy Policy) error {
	other, err := findByName(ctx, r, policy.OrgID, policy.Name)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil
	case err != nil:
		return err
	case other.ID == policy.ID:
		return nil
	}
	return nameTaken(policy.Name, other.ID)
}

func nameTaken(name, id string) error {
	return fault.New(fault.Conflict,
		"the organization has a policy named %q already: give another name, or write the next version of that policy (%s)", name, id)
}
