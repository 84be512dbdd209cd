package notice

import (
	"fmt"
	"net/url"
	"strings"
	"time"
)

// AgentSuspended is the kind of event that an agent was suspended because its owner left.
const AgentSuspended Kind = "agent.suspended"

// AgentTripped is the kind of event that the kill switch stopped an agent or a key without a person.
const AgentTripped Kind = "agent.tripped"

// Agent is an agent that something happened to, which nobody need answer.
type Agent struct {
	OrgID  string
	ID     string // as clients send it
	Kind   Kind
	Reason string
	// Key: the id is that of an API key which is bound to no agent.
	Key bool
	// Elsewhere: it was stopped with a key of another organization, and so were others; Keys is how many.
	Elsewhere bool
	Keys      int
	At        time.Time
}

// Event is what happened as an event. It has no number: its notifications are made in
// the change that it tells of.
func (a Agent) Event() Event {
	return Event{OrgID: a.OrgID, Kind: a.Kind, At: a.At, About: &a}
}

// agentPhrases say what happened, after the agent's id.
var agentPhrases = map[Kind]string{AgentSuspended: "was suspended", AgentTripped: "was stopped by a trip"}

// title is what happened in one line.
func (a *Agent) title() string {
	of := "Agent "
	if a.Key {
		of = "API key "
	}
	if a.Elsewhere && a.Keys > 1 {
		return fmt.Sprintf("API key %s and %d others were stopped with a key of another organization", safeName(a.ID),
			a.Keys-1)
	}
	if a.Elsewhere {
		return of + safeName(a.ID) + " was stopped with a key of another organization"
	}
	return of + safeName(a.ID) + " " + agentPhrases[a.Kind]
}

func (a *Agent) subject() string { return a.ID }

// link opens what was stopped: a key that is bound to no agent has no page of its own.
func (a *Agent) link(publicURL string) string {
	if a.Key {
		return AgentLink(publicURL, "")
	}
	return AgentLink(publicURL, a.ID)
}

// AgentLink opens an agent in a browser.
func AgentLink(publicURL, agentID string) string {
	return strings.TrimRight(publicURL, "/") + "/ui/agents/" + url.PathEscape(agentID)
}
