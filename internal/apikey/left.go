package apikey

import (
	"context"
	"slices"

	"writ/internal/database"
	"writ/internal/page"
	"writ/internal/principal"
)

// maxLeft limits how many keys of a former member are named.
const maxLeft = 1000

// LeftBy returns the keys of a person in an organization that work without the person being a member: those of agents.
// Keys of terminals end with the membership.
func LeftBy(ctx context.Context, tx *database.Tx, orgID, ownerID string) ([]Key, error) {
	keys, err := selectKeys(ctx, tx, filter{orgID: orgID, ownerID: ownerID}, page.Cursor{}, maxLeft)
	if err != nil {
		return nil, err
	}
	left := []Key{}
	for _, k := range keys {
		if !slices.Contains(k.Scopes, principal.CLI) && k.Status(tx.Now()) == "active" {
			left = append(left, k)
		}
	}
	return left, nil
}
