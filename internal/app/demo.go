package app

import (
	"context"
	"errors"

	"writ/internal/api"
	"writ/internal/audit"
	"writ/internal/auth"
	"writ/internal/config"
	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/organization"
	"writ/internal/principal"
)

// MakeDemo makes an organization with demo data for a person, by calling the routes as they would. It is whole or
// leaves nothing open.
func (a *Areas) MakeDemo(ctx context.Context, o Options, ownerID string) (organization.Organization, error) {
	owner := principal.Principal{Kind: principal.User, UserID: ownerID}
	// The routes ask for it again, and nobody is here to prove it.
	if factor, err := a.Auth.SecondFactor(ctx, owner); err != nil {
		return organization.Organization{}, err
	} else if factor.Enrolled {
		return organization.Organization{}, fault.New(fault.Conflict, "this account has a second factor, which only its owner can "+
			"prove: use the button \"Look around with demo data\" of the dashboard, or give another account with --owner")
	}
	made, err := a.Organizations.CreateDemo(ctx, owner)
	if err != nil {
		return made, err
	}
	if err := a.fillDemo(ctx, o, owner, made.ID); err != nil {
		owner.OrgID, owner.Role = made.ID, principal.Owner
		return made, errors.Join(err, a.Organizations.Close(context.WithoutCancel(ctx), owner))
	}
	return made, nil
}

func (a *Areas) fillDemo(ctx context.Context, o Options, owner principal.Principal, orgID string) (err error) {
	var opened auth.Opened
	err = a.Database.Write(ctx, database.Change{Logs: []string{audit.System}, Do: func(
		ctx context.Context, tx *database.Tx,
	) (err error) {
		opened, err = a.Auth.StartSession(ctx, tx, owner.UserID, "", auth.Device{UserAgent: "writd demo"})
		return err
	}})
	if err != nil {
		return err
	}
	tokens, err := a.Auth.Issue(ctx, opened)
	if err != nil {
		return err
	}
	token := tokens.Access.Reveal()
	defer func() { err = errors.Join(err, a.endSession(context.WithoutCancel(ctx), token)) }()
	edge := api.New((&Server{Areas: a}).apiConfig(o, publicURL(o.Config, o.Config.Port)))
	return edge.FillDemo(ctx, token, orgID)
}

func (a *Areas) endSession(ctx context.Context, accessToken string) error {
	p, err := a.Auth.Authenticate(ctx, accessToken)
	if err != nil {
		return err
	}
	return a.Auth.RevokeSession(ctx, p, p.SessionID)
}

// CloseDemos closes every organization of demo data that a person owns, and gives their ids.
func (a *Areas) CloseDemos(ctx context.Context, ownerID string) (closed []string, err error) {
	mine, err := a.Organizations.ListForUser(ctx, ownerID)
	if err != nil {
		return nil, err
	}
	for _, m := range mine {
		if !m.IsDemo() || m.Role != principal.Owner {
			continue
		}
		owner := principal.Principal{Kind: principal.User, UserID: ownerID, OrgID: m.ID, Role: m.Role}
		if err := a.Organizations.Close(ctx, owner); err != nil {
			return closed, err
		}
		closed = append(closed, m.ID)
	}
	return closed, nil
}

// PublicURL is where people reach the server.
func PublicURL(c config.Config) string { return publicURL(c, c.Port).String() }
