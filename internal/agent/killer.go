package agent

import (
	"context"

	"writ/internal/audit"
	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/principal"
)

// writeAsKiller makes a change of a person who may use the kill switch: owners and admins,
// and approvers if the organization says so.
func (s *Service) writeAsKiller(
	ctx context.Context, p principal.Principal,
	do func(ctx context.Context, tx *database.Tx, role principal.Role) error,
) error {
	if p.Kind != principal.User || p.OrgID == "" {
		return fault.New(fault.Forbidden, "only a person may use the kill switch")
	}
	if err := p.Require(principal.KillAgents); err != nil {
		return err
	}
	return s.db.Write(ctx, database.Change{
		Lane: database.Urgent, Logs: []string{audit.LogOf(p.OrgID)},
		Do: func(ctx context.Context, tx *database.Tx) error {
			role, err := s.requireKiller(ctx, tx, p)
			if err != nil {
				return err
			}
			return do(ctx, tx, role)
		},
	})
}

// requireKiller looks again whether a person may use the kill switch, within the change.
func (s *Service) requireKiller(
	ctx context.Context, tx *database.Tx, p principal.Principal,
) (principal.Role, error) {
	role, err := s.sources.Role(ctx, tx, p.OrgID, p.UserID)
	if err != nil {
		return "", err
	}
	settings, err := readSettings(ctx, tx, p.OrgID)
	if err != nil {
		return "", err
	}
	if !role.May(principal.KillAgents) || role == principal.Approver && !settings.ApproversMayKill {
		return "", fault.New(fault.Forbidden, "your role in this organization does not use the kill switch: "+
			"it takes at least the role admin, or an admin who sets approversMayKill")
	}
	return role, nil
}
