package organization_test

import (
	"slices"
	"testing"

	"writ/internal/fault"
	"writ/internal/organization"
	"writ/internal/principal"
	"writ/internal/testenv"
)

// TestInstalled: the operator finds organizations by id or exact name, and nobody else lists them.
func TestInstalled(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		ctx, operator := t.Context(), principal.Operator()
		blue, closed := e.create(t, "Blue"), e.create(t, "Red")
		if err := e.service.Close(ctx, closed); err != nil {
			t.Fatal(err)
		}
		all, err := e.service.Installed(ctx, operator)
		if err != nil || len(all) != 2 {
			t.Fatalf("%+v, %v", all, err)
		}
		if o := all[0]; o.ID != blue.OrgID || o.Name != "Blue" || o.Members != 1 || o.ClosedAt != nil {
			t.Errorf("the first is %+v", o)
		}
		if all[1].ID != closed.OrgID || all[1].ClosedAt == nil {
			t.Errorf("the closed one is %+v", all[1])
		}
		members, err := e.service.InstalledMembers(ctx, operator)
		want := []organization.InstalledMember{
			{UserID: blue.UserID, OrgID: blue.OrgID, Name: "Blue", Role: principal.Owner},
		}
		if err != nil || !slices.Equal(members, want) {
			t.Errorf("the members are %+v, %v, want %+v", members, err, want)
		}
		for _, named := range []string{"Blue", blue.OrgID} {
			if id, err := e.service.IDNamed(ctx, operator, named); err != nil || id != blue.OrgID {
				t.Errorf("%q is %q, %v", named, id, err)
			}
		}
		for _, named := range []string{"blue", "Red", ""} {
			_, err := e.service.IDNamed(ctx, operator, named)
			testenv.WantFault(t, named, err, fault.NotFound)
		}
		e.create(t, "Blue")
		_, err = e.service.IDNamed(ctx, operator, "Blue")
		testenv.WantFault(t, "two of a name", err, fault.Conflict)
		for name, p := range map[string]principal.Principal{"an owner": blue, "nobody": {}} {
			_, err := e.service.Installed(ctx, p)
			testenv.WantFault(t, name, err, fault.Forbidden)
			_, err = e.service.InstalledMembers(ctx, p)
			testenv.WantFault(t, name, err, fault.Forbidden)
			_, err = e.service.IDNamed(ctx, p, "Blue")
			testenv.WantFault(t, name, err, fault.Forbidden)
		}
	})
}
