package apikey

import (
	"context"
	"slices"

	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/page"
	"writ/internal/principal"
)

// maxLeft limits how many keys of a former member are named.
const maxLeft = 1000

// LeftBy returns the keys of a person in an organization that work without the person being a member: those of agents.
// Keys of terminals and of consents end with the membership.
func LeftBy(ctx context.Context, tx *database.Tx, orgID, ownerID string) ([]Key, error) {
	keys, err := selectKeys(ctx, tx, filter{orgID: orgID, ownerID: ownerID}, page.Cursor{}, maxLeft)
	if err != nil {
		return nil, err
	}
	left := []Key{}
	for _, k := range keys {
		if !k.Hidden && !slices.Contains(k.Scopes, principal.CLI) && k.Status(tx.Now()) == "active" {
			left = append(left, k)
		}
	}
	return left, nil
}

// Missing is the first of some ids that is no key of an organization; empty: all are.
func Missing(ctx context.Context, r database.Reader, orgID string, ids []string) (string, error) {
	for _, id := range ids {
		if _, err := find(ctx, r, orgID, id); fault.Is(err, fault.NotFound) {
			return id, nil
		} else if err != nil {
			return "", err
		}
	}
	return "", nil
}
