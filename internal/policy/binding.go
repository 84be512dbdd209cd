package policy

import (
	"context"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/principal"
)

// maxClientID is how long the id of an agent may be, in bytes.
const maxClientID = 200

// checked is b sorted and without repeats, or a fault that names what is wrong. The API checks that members exist.
func (b Bindings) checked() (Bindings, error) {
	var problems []fault.Detail
	check := func(field string, items []string, valid func(string) bool, message string) []string {
		if !slices.ContainsFunc(items, func(item string) bool { return !valid(item) }) {
			return slices.Compact(slices.Sorted(slices.Values(items)))
		}
		problems = append(problems, fault.Detail{Field: field, Message: message})
		return nil
	}
	clean := Bindings{
		Members: check("members", b.Members, database.IsID, "must be ids of people"),
		Clients: check("clients", b.Clients, isClientID,
			"must be ids of agents: 1 to 200 bytes without control characters"),
		Roles: check("roles", b.Roles, func(role string) bool { return principal.Role(role).Valid() },
			"must be owner, admin, approver, member or viewer"),
	}
	if clean.len() > MaxBindings {
		return Bindings{}, fault.New(fault.Invalid, "a policy has at most %d bindings", MaxBindings)
	}
	if problems != nil {
		return Bindings{}, fault.Fields(problems...)
	}
	return clean, nil
}

func isClientID(text string) bool {
	return text != "" && len(text) <= maxClientID && utf8.ValidString(text) &&
		!strings.ContainsFunc(text, unicode.IsControl)
}

// Bindings reads the bindings of a policy, each list sorted.
func (s *Service) Bindings(ctx context.Context, p principal.Principal, id string) (Bindings, error) {
	if err := requireReader(p); err != nil {
		return Bindings{}, err
	}
	if _, err := find(ctx, s.db, p.OrgID, id); err != nil {
		return Bindings{}, err
	}
	return readBindings(ctx, s.db, p.OrgID, id)
}

// SetBindings replaces the bindings of a policy. Without any it applies to everybody. Seen is what the person replaces:
// if the policy has other bindings by now, they stay.
func (s *Service) SetBindings(
	ctx context.Context, p principal.Principal, id string, b Bindings, seen ...Bindings,
) (Bindings, error) {
	b, err := b.checked()
	if err != nil {
		return Bindings{}, err
	}
	return s.rebind(ctx, p, id, func(_ Policy, has Bindings) (Bindings, error) {
		for _, was := range seen {
			if !was.same(has) {
				return Bindings{}, fault.New(fault.Conflict,
					"the policy has other bindings by now than you have seen: look again before you replace them")
			}
		}
		return b, nil
	})
}

// same reports whether both name the same, in any order.
func (b Bindings) same(other Bindings) bool {
	equal := func(one, two []string) bool {
		return slices.Equal(slices.Compact(slices.Sorted(slices.Values(one))), slices.Sorted(slices.Values(two)))
	}
	return equal(b.Members, other.Members) && equal(b.Clients, other.Clients) && equal(b.Roles, other.Roles)
}

// Bind adds bindings to a policy. It refuses an active policy that applies to everybody: that would then apply only
// to the new bindings and deny nothing to all others, which only SetBindings may do.
func (s *Service) Bind(ctx context.Context, p principal.Principal, id string, more Bindings) (Bindings, error) {
	more, err := more.checked()
	if err != nil {
		return Bindings{}, err
	}
	if more.len() == 0 {
		return Bindings{}, fault.New(fault.Invalid, "name a member, client or role to bind")
	}
	return s.rebind(ctx, p, id, func(policy Policy, has Bindings) (Bindings, error) {
		if policy.ActiveVersion != 0 && has.IsEmpty() {
			return Bindings{}, fault.New(fault.Conflict,
				"the policy is active and applies to everybody: with this binding it would apply to nobody else; replace the bindings (PUT) if you mean that")
		}
		return Bindings{
			Members: append(has.Members, more.Members...),
			Clients: append(has.Clients, more.Clients...),
			Roles:   append(has.Roles, more.Roles...),
		}.checked()
	})
}

// Unbind removes bindings, but not the last one: without any the policy would apply to everybody.
func (s *Service) Unbind(ctx context.Context, p principal.Principal, id string, fewer Bindings) (Bindings, error) {
	without := func(has, gone []string) []string {
		return slices.DeleteFunc(slices.Clone(has), func(item string) bool { return slices.Contains(gone, item) })
	}
	return s.rebind(ctx, p, id, func(_ Policy, has Bindings) (Bindings, error) {
		left := Bindings{
			Members: without(has.Members, fewer.Members),
			Clients: without(has.Clients, fewer.Clients),
			Roles:   without(has.Roles, fewer.Roles),
		}
		switch {
		case left.len() == has.len():
			return Bindings{}, fault.New(fault.NotFound, "the policy has no such binding")
		case left.len() == 0:
			return Bindings{}, fault.New(fault.Conflict,
				"without this binding the policy would apply to everybody: replace the bindings (PUT) if you mean that, or deactivate the policy")
		}
		return left, nil
	})
}

// rebind replaces the bindings of a policy by what change makes of them.
func (s *Service) rebind(
	ctx context.Context, p principal.Principal, id string, change func(policy Policy, has Bindings) (Bindings, error),
) (after Bindings, err error) {
	if err := requireManager(p); err != nil {
		return Bindings{}, err
	}
	err = s.change(ctx, p, id, func(ctx context.Context, tx *database.Tx, policy Policy) error {
		if policy.Face == AsProfile {
			return fault.New(fault.Conflict, "the policy is a profile: its statements say to whom they apply")
		}
		has, err := readBindings(ctx, tx, policy.OrgID, policy.ID)
		if err != nil {
			return err
		}
		if after, err = change(policy, has); err != nil {
			return err
		}
		if err := replaceBindings(ctx, tx, policy, after); err != nil {
			return err
		}
		return s.record(ctx, tx, p, bound, policy, recorded{
			Name: policy.Name, Version: policy.LatestVersion, ActiveVersion: policy.ActiveVersion,
			Bindings: (*recordedBindings)(&after),
		})
	})
	return after, err
}
