package api_test

import (
	"context"

	"writ/client"
	"writ/internal/testserver"
)

func keyRoleCases() []roleCase {
	create := func(ctx context.Context, s *testserver.Server, org string, p *testserver.Person) error {
		_, err := p.CreateKey(ctx, client.NewKey{Name: "new", OrganizationID: org})
		return err
	}
	provision := func(ctx context.Context, s *testserver.Server, org string, p *testserver.Person) error {
		_, err := p.ProvisionKey(ctx, client.NewKey{Product: "new", OrganizationID: org})
		return err
	}
	list := func(ctx context.Context, s *testserver.Server, org string, p *testserver.Person) error {
		_, err := p.Keys(ctx, org, client.List{})
		return err
	}
	revokeOwn := func(ctx context.Context, s *testserver.Server, org string, p *testserver.Person) error {
		return p.RevokeKey(ctx, s.KeyFor(p.ID, org).ID)
	}
	revokeOther := func(ctx context.Context, s *testserver.Server, org string, p *testserver.Person) error {
		return p.RevokeKey(ctx, s.KeyFor(s.BareMember(org, "owner"), org).ID)
	}
	rotateOwn := func(ctx context.Context, s *testserver.Server, org string, p *testserver.Person) error {
		_, err := p.RotateKey(ctx, s.KeyFor(p.ID, org).ID)
		return err
	}
	rotateOther := func(ctx context.Context, s *testserver.Server, org string, p *testserver.Person) error {
		_, err := p.RotateKey(ctx, s.KeyFor(s.BareMember(org, "owner"), org).ID)
		return err
	}
	return []roleCase{
		{"POST /api-keys", "create", keyHolders, 403, create},
		{"POST /api-keys/provision", "provision", keyHolders, 403, provision},
		{"GET /api-keys", "list", anyRole, 0, list},
		{"POST /api-keys/{id}/revoke", "one's own", anyRole, 0, revokeOwn},
		{"POST /api-keys/{id}/revoke", "another's", managers, 404, revokeOther},
		{"POST /api-keys/{id}/rotate", "one's own", keyHolders, 403, rotateOwn},
		{"POST /api-keys/{id}/rotate", "another's", managers, 404, rotateOther},
	}
}

func memberRoleCases() []roleCase {
	changeRole := func(from, to string) func(context.Context, *testserver.Server, string, *testserver.Person) error {
		return func(ctx context.Context, s *testserver.Server, org string, p *testserver.Person) error {
			_, err := p.ChangeRole(ctx, org, s.BareMember(org, from), to)
			return err
		}
	}
	remove := func(role string) func(context.Context, *testserver.Server, string, *testserver.Person) error {
		return func(ctx context.Context, s *testserver.Server, org string, p *testserver.Person) error {
			return p.RemoveMember(ctx, org, s.BareMember(org, role))
		}
	}
	invite := func(role string) func(context.Context, *testserver.Server, string, *testserver.Person) error {
		return func(ctx context.Context, s *testserver.Server, org string, p *testserver.Person) error {
			_, err := p.Invite(ctx, org, testserver.FreshAddress(), role)
			return err
		}
	}
	withdraw := func(role string) func(context.Context, *testserver.Server, string, *testserver.Person) error {
		return func(ctx context.Context, s *testserver.Server, org string, p *testserver.Person) error {
			return p.WithdrawInvite(ctx, org, s.OpenInvite(org, role))
		}
	}
	const (
		change    = "PATCH /organization/{orgId}/members/{userId}/role"
		member    = "DELETE /organization/{orgId}/members/{userId}"
		newInvite = "POST /organization/{orgId}/members/invite"
		oldInvite = "DELETE /organization/{orgId}/invites/{id}"
	)
	return []roleCase{
		{change, "a member's", managers, 403, changeRole("member", "viewer")},
		{change, "an admin's", managers, 403, changeRole("admin", "approver")},
		{change, "to owner", ownerOnly, 403, changeRole("admin", "owner")},
		{change, "an owner's", ownerOnly, 403, changeRole("owner", "member")},
		{member, "a viewer", managers, 403, remove("viewer")},
		{member, "an admin", managers, 403, remove("admin")},
		{member, "an owner", ownerOnly, 403, remove("owner")},
		{member, "oneself", anyRole, 0, leaveAndReturn},
		{newInvite, "a member", managers, 403, invite("member")},
		{newInvite, "an admin", managers, 403, invite("admin")},
		{newInvite, "an owner", ownerOnly, 403, invite("owner")},
		{oldInvite, "of a member", managers, 403, withdraw("member")},
		{oldInvite, "of an owner", ownerOnly, 403, withdraw("owner")},
	}
}

// leaveAndReturn leaves the other cases what they need.
func leaveAndReturn(ctx context.Context, s *testserver.Server, org string, p *testserver.Person) error {
	before, err := p.Organization(ctx, org)
	if err != nil {
		return err
	}
	if err := p.RemoveMember(ctx, org, p.ID); err != nil {
		return err
	}
	s.PutMember(org, p.ID, before.Role)
	return nil
}

func organizationRoleCases() []roleCase {
	return []roleCase{
		{"GET /organization/{orgId}", "read", anyRole, 0,
			func(ctx context.Context, s *testserver.Server, org string, p *testserver.Person) error {
				_, err := p.Organization(ctx, org)
				return err
			}},
		{"PATCH /organization/{orgId}", "rename", managers, 403,
			func(ctx context.Context, s *testserver.Server, org string, p *testserver.Person) error {
				_, err := p.RenameOrganization(ctx, org, "Renamed")
				return err
			}},
		{"GET /organization/{orgId}/members", "list", anyRole, 0,
			func(ctx context.Context, s *testserver.Server, org string, p *testserver.Person) error {
				_, err := p.Members(ctx, org, client.List{})
				return err
			}},
		{"GET /organization/{orgId}/invites", "list", managers, 403,
			func(ctx context.Context, s *testserver.Server, org string, p *testserver.Person) error {
				_, err := p.Invites(ctx, org)
				return err
			}},
	}
}

func closingRoleCases() []roleCase {
	return []roleCase{
		{"DELETE /organization/{orgId}", "close", ownerOnly, 403,
			func(ctx context.Context, s *testserver.Server, org string, p *testserver.Person) error {
				return p.CloseOrganization(ctx, org)
			}},
	}
}
