package notice

import (
	"net/url"
	"strings"
	"time"
)

// ProfileProposed: a profile was proposed, and counts for nothing until a person
// confirms it.
const ProfileProposed Kind = "profile.proposed"

// Proposal is a profile that waits for a confirmation, as far as it is told. What it
// says is read in the application, where it can be read whole.
type Proposal struct {
	ID            string
	OrgID         string
	Name          string // as a plugin wrote it
	Reason        string // as a plugin wrote it
	PolicyID      string
	PolicyVersion int
	OwnerID       string // the person, or whose key proposed it
	ByKey         bool
	At            time.Time
}

// Event is the proposal as an event. It has no number: it is told in the change that
// makes it, and nobody follows proposals.
func (p Proposal) Event() Event {
	return Event{
		OrgID:    p.OrgID,
		Kind:     ProfileProposed,
		At:       p.At,
		ActorID:  p.OwnerID,
		Proposal: &p,
	}
}

// title is the proposal in one line.
func (p Proposal) title() string {
	name := Line(p.Name, maxName)
	if name == "" {
		return "A profile without a name waits for a confirmation"
	}
	return "The profile " + plainly(name) + " waits for a confirmation"
}

// ProposalLink opens a proposal in a browser. It confirms nothing.
func ProposalLink(publicURL, proposalID string) string {
	return strings.TrimRight(publicURL, "/") + "/ui/policies/proposals/" + url.PathEscape(proposalID)
}

// Subject is the id of what the event is about.
func (e Event) Subject() string {
	if e.Proposal != nil {
		return e.Proposal.ID
	}
	return e.Request.ID
}

// Link opens what the event is about in a browser, and does nothing else.
func (e Event) Link(publicURL string) string {
	if e.Proposal != nil {
		return ProposalLink(publicURL, e.Proposal.ID)
	}
	return Link(publicURL, e.Request.ID)
}
