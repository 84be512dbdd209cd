package notice

import (
	"net/url"
	"strings"
	"time"
)

// ProfileProposed is the kind of event that a profile was proposed. It has no effect
// until a person confirms it.
const ProfileProposed Kind = "profile.proposed"

// Proposal is a profile that needs a confirmation, without its content: people read
// that in the application, where they see all of it.
type Proposal struct {
	ID            string
	OrgID         string
	Name          string // as a plugin wrote it
	Reason        string // as a plugin wrote it
	PolicyID      string
	PolicyVersion int
	OwnerID       string // the person who proposed it, or the owner of the key that did
	ByKey         bool
	At            time.Time
}

// Event is the proposal as an event. It has no number: its notifications are made in
// the change that makes the proposal.
func (p Proposal) Event() Event {
	return Event{
		OrgID:   p.OrgID,
		Kind:    ProfileProposed,
		At:      p.At,
		ActorID: p.OwnerID,
		About:   &p,
	}
}

// title is the proposal in one line.
func (p *Proposal) title() string {
	name := "A profile without a name"
	if given := safeName(p.Name); given != "" {
		name = "The profile " + given
	}
	return name + " waits for a confirmation"
}

// ProposalLink opens a proposal in a browser. It confirms nothing.
func ProposalLink(publicURL, proposalID string) string {
	return strings.TrimRight(publicURL, "/") + "/ui/policies/proposals/" + url.PathEscape(proposalID)
}

func (p *Proposal) subject() string { return p.ID }

func (p *Proposal) link(publicURL string) string { return ProposalLink(publicURL, p.ID) }
