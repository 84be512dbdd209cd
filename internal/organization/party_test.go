package organization_test

import (
	"testing"

	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/principal"
	"writ/internal/testenv"
)

func TestPartyOf(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		p := principal.Principal{Kind: principal.User, UserID: e.user(t, "ada@example.org")}
		org, err := e.service.Create(t.Context(), p, "Blue")
		if err != nil {
			t.Fatal(err)
		}
		stranger := e.user(t, "bob@example.org")
		for name, test := range map[string]struct {
			userID, address string
			want            string // the member; empty: nobody
			kind            fault.Kind
		}{
			"by id":                     {p.UserID, "", p.UserID, ""},
			"by address":                {stranger, " ADA@example.org ", p.UserID, ""},
			"an id of who is no member": {stranger, "", "", ""},
			"no id":                     {"", "", "", ""},
			"the address of a stranger": {p.UserID, "bob@example.org", "", fault.NotFound},
			"an address of nobody":      {p.UserID, "eve@example.org", "", fault.NotFound},
			"no address at all":         {p.UserID, "ada", "", fault.NotFound},
			"bytes for an address":      {p.UserID, "\xff\x00@example.org", "", fault.NotFound},
		} {
			got, err := e.service.PartyOf(t.Context(), org.ID, test.userID, test.address)
			if fault.KindOf(err) != test.kind || got.Member.UserID != test.want || got.OrgName != "Blue" {
				t.Errorf("%s: %+v, %v, want member %q of Blue", name, got, err, test.want)
			}
		}
		_, err = e.service.PartyOf(t.Context(), database.NewID(), p.UserID, "")
		testenv.WantFault(t, "an organization that is not there", err, fault.Forbidden)
	})
}
