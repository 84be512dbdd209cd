package notice_test

import (
	"strings"
	"testing"

	"writ/internal/notification/notice"
)

// TestProposalsAreTold: plugins, and so agents, choose the names of profiles.
func TestProposalsAreTold(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"":                             "A profile without a name waits for a confirmation",
		"armorgemini-current":          "The profile armorgemini-current waits for a confirmation",
		"x was confirmed. Nothing":     `The profile "x was confirmed. Nothing" waits for a confirmation`,
		"https://eve.example/sign-in":  `The profile "https:/ /eve.example/sign-in" waits for a confirmation`,
		"a\r\nBcc: eve@example.org":    `The profile "a Bcc: eve@example.org" waits for a confirmation`,
		strings.Repeat("n", 500):       "The profile " + strings.Repeat("n", 120) + "… waits for a confirmation",
		"\u202egnihton swolla\u202c x": `The profile "gnihton swolla x" waits for a confirmation`,
	} {
		if got := (notice.Proposal{Name: name}).Event().Title(); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
	e := notice.Proposal{ID: "../?confirm=1#", OrgID: "o"}.Event()
	if link := e.Link("https://writ.example.org/"); link != "https://writ.example.org/ui/policies/proposals/..%2F%3Fconfirm=1%23" || e.Subject() != "../?confirm=1#" || e.OrgID != "o" {
		t.Errorf("link: %s, of %s", link, e.Subject())
	}
}
