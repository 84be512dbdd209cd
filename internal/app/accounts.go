package app

import (
	"context"
	"slices"

	"writ/internal/accessrequest"
	"writ/internal/apikey"
	"writ/internal/audit"
	"writ/internal/auth"
	"writ/internal/auth/account"
	"writ/internal/connection"
	"writ/internal/database"
	"writ/internal/notification"
	"writ/internal/notification/notice"
	"writ/internal/organization"
)

// newAccounts builds what people do with whole accounts, from what each area holds of a person.
func (a *Areas) newAccounts(publicURL string) *account.Service {
	return account.New(account.Options{
		Database:  a.Database,
		Log:       a.log,
		Auth:      a.Auth,
		PublicURL: publicURL,
		Parts: account.Parts{
			Organizations: organizationsOf,
			OnlyOwned:     organization.OnlyOwnedBy,
			Leave: []func(context.Context, *database.Tx, account.Leaving) error{
				checkHeirs, a.leaveAgents, a.endKeys,
				func(ctx context.Context, tx *database.Tx, l account.Leaving) error {
					return a.Organizations.LeaveAll(ctx, tx, l.Principal)
				},
				func(ctx context.Context, tx *database.Tx, l account.Leaving) error {
					return a.Operators.Leave(ctx, tx, l.Principal)
				},
				a.eraseRequests, forgetPerson,
			},
		},
	})
}

// organizationsOf are the organizations that a person is in or has keys of, sorted.
func organizationsOf(ctx context.Context, r database.Reader, userID string) ([]string, error) {
	memberships, err := organization.IDsOf(ctx, r, userID)
	if err != nil {
		return nil, err
	}
	withKeys, err := apikey.OrganizationsOf(ctx, r, userID)
	all := slices.Concat(memberships, withKeys)
	slices.Sort(all)
	all = slices.Compact(all)
	return slices.DeleteFunc(all, func(id string) bool { return id == "" }), err
}

func checkHeirs(ctx context.Context, tx *database.Tx, l account.Leaving) error {
	for orgID, heir := range l.Heirs {
		if err := organization.CheckHeir(ctx, tx, orgID, heir, l.UserID); err != nil {
			return err
		}
	}
	return nil
}

// leaveAgents hands over the person's agents, or suspends them.
func (a *Areas) leaveAgents(ctx context.Context, tx *database.Tx, l account.Leaving) error {
	ids, err := organization.IDsOf(ctx, tx, l.UserID)
	if err != nil {
		return err
	}
	for _, orgID := range ids {
		if heir := l.Heirs[orgID]; heir != "" {
			err = a.Agents.HandOver(ctx, tx, l.Principal, orgID, l.UserID, heir)
		} else {
			err = a.Agents.OwnerLeft(ctx, tx, l.Principal, orgID, l.UserID)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// endKeys ends the person's keys or hands them over, and tells who gets them.
func (a *Areas) endKeys(ctx context.Context, tx *database.Tx, l account.Leaving) error {
	handed, err := a.Keys.EndOf(ctx, tx, l.Principal, l.UserID, l.Heirs)
	if err != nil {
		return err
	}
	for _, h := range handed {
		err := a.Notifications.NotifyHandOver(ctx, tx, h.HeirID, notice.HandedOver{
			OrgID: h.OrgID,
			First: h.Keys[0].ID,
			Keys:  len(h.Keys),
			Until: h.Until,
			At:    tx.Now(),
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// eraseRequests erases what the log says about how the person asked for access.
func (a *Areas) eraseRequests(ctx context.Context, tx *database.Tx, l account.Leaving) error {
	ids, err := accessrequest.IDsOf(ctx, tx, l.Email)
	if err != nil {
		return err
	}
	for _, id := range ids {
		about := audit.Subject{Type: "access_request", ID: id}
		if _, err := a.log.EraseAbout(ctx, tx, l.Principal, audit.System, about, account.Deleted); err != nil {
			return err
		}
	}
	return nil
}

func forgetPerson(ctx context.Context, tx *database.Tx, l account.Leaving) error {
	if err := notification.Forget(ctx, tx, l.UserID); err != nil {
		return err
	}
	if err := connection.Forget(ctx, tx, l.UserID); err != nil {
		return err
	}
	if err := accessrequest.Forget(ctx, tx, l.Email); err != nil {
		return err
	}
	return organization.ForgetAddress(ctx, tx, l.Email, auth.Pseudonym(l.UserID))
}
