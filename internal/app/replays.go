package app

import (
	"context"

	"writ/internal/apikey"
	"writ/internal/fault"
	"writ/internal/replay"
	"writ/internal/toolcall"
)

// openReplays builds what tells how policies would have judged recorded calls.
func (a *Areas) openReplays() {
	a.Replays = replay.New(a.Database, a.Policies, replay.Sources{
		Owner: func(ctx context.Context, orgID, keyID string) (string, error) {
			return apikey.OwnerOf(ctx, a.Database, orgID, keyID)
		},
		Party: a.partyOf,
		Plan:  a.Intent.PlanOf,
	})
}

// partyOf is a member as conditions see people. Nobody has an address that no
// member has: then it is as the client says, as it is for a decision.
func (a *Areas) partyOf(ctx context.Context, orgID, userID, address string) (string, toolcall.User, error) {
	found, err := a.Organizations.PartyOf(ctx, orgID, userID, address)
	if err != nil && !(address != "" && fault.Is(err, fault.NotFound)) {
		return "", toolcall.User{}, err
	}
	m := found.Member
	return found.OrgName, toolcall.User{ID: m.UserID, Email: m.Email, Role: string(m.Role)}, nil
}
