package writ

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"writ/client"
	"writ/internal/cli"
)

// organization is the organization that the person works in: the one given, or their
// only one.
func (p *asPerson) organization(ctx context.Context, c *client.Client) (string, error) {
	if p.orgID != "" {
		return p.orgID, nil
	}
	mine, err := c.Organizations(ctx)
	if err != nil {
		return "", err
	}
	if len(mine) == 0 {
		return "", errNoOrganization
	}
	if len(mine) != 1 {
		return "", fmt.Errorf("you are in %d organizations: give %s%s", len(mine), p.namedBy(), choices(mine))
	}
	return mine[0].ID, nil
}

// errNoOrganization says what whoever is in none does first.
var errNoOrganization = errors.New("you are in no organization yet: accept an invitation with writ invites accept, " +
	"or make one in the dashboard")

func (p *asPerson) namedBy() string { return cmp.Or(p.orgFlag, "--organization") }

// findOrganization looks up the organization that was given by name.
func (p *asPerson) findOrganization(ctx context.Context, c *client.Client) error {
	if p.orgID == "" || p.orgIsID || uuidOf(p.orgID) != "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	mine, err := c.Organizations(ctx)
	if err != nil {
		return hinted(fmt.Errorf("look for the organization %q: %w", p.orgID, err), p.signInAgain())
	}
	var called []client.Organization
	for _, o := range mine {
		if o.Name == p.orgID {
			called = append(called, o)
		}
	}
	switch len(called) {
	case 0:
		return fmt.Errorf("you are in no organization called %q: give %s%s", p.orgID, p.namedBy(), choices(mine))
	case 1:
		p.orgID, p.orgIsID = called[0].ID, true
		return nil
	}
	return fmt.Errorf("you are in %d organizations called %q: give the id%s", len(called), p.orgID, choices(called))
}

// maxChoices bounds how many organizations an error names.
const maxChoices = 10

// choices lists the organizations that a flag can name, for the end of an error.
func choices(mine []client.Organization) string {
	if len(mine) == 0 {
		return ""
	}
	var named []string
	for _, o := range mine[:min(len(mine), maxChoices)] {
		named = append(named, cli.Line(fmt.Sprintf("%s (%s)", o.Name, o.ID)))
	}
	if len(mine) > maxChoices {
		named = append(named, "… (writ orgs lists them all)")
	}
	return ", one of " + strings.Join(named, ", ")
}

// uuidOf reads a UUID, also without hyphens as OpenTelemetry writes the ids of traces.
// It is empty for any other text.
func uuidOf(text string) string {
	digits := strings.ToLower(text)
	if len(digits) == 36 {
		for _, at := range []int{23, 18, 13, 8} {
			if digits[at] != '-' {
				return ""
			}
			digits = digits[:at] + digits[at+1:]
		}
	}
	if len(digits) != 32 || strings.Trim(digits, "0123456789abcdef") != "" {
		return ""
	}
	return strings.Join([]string{digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]}, "-")
}
