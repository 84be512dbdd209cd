package organization

import (
	"context"
	"strings"

	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/principal"
)

// demoEnding ends the names of organizations of demo data, and of no others: wherever the name is shown, it says that
// nothing in there is real.
const (
	demoEnding = " (demo data)"
	demoName   = "Acme" + demoEnding
)

func isDemo(name string) bool { return strings.HasSuffix(name, demoEnding) }

// IsDemo reports whether the organization was made for demo data.
func (o Organization) IsDemo() bool { return isDemo(o.Name) }

// CreateDemo makes an organization for demo data with the caller, a person, as its owner. A person has at most one.
func (s *Service) CreateDemo(ctx context.Context, p principal.Principal) (Organization, error) {
	if p.Kind != principal.User {
		return Organization{}, fault.New(fault.Forbidden, "only a person can create an organization")
	}
	return s.create(ctx, p, demoName)
}

// ErrHasDemo refuses demo data to somebody who has some.
var ErrHasDemo = fault.New(fault.Conflict, "you have demo data already: close it to make it anew")

func refuseSecondDemo(ctx context.Context, tx *database.Tx, userID string) error {
	mine, err := membershipsOf(ctx, tx, userID)
	if err != nil {
		return err
	}
	for _, m := range mine {
		if m.IsDemo() {
			return ErrHasDemo
		}
	}
	return nil
}
