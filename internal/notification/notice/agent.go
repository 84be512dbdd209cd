package notice

import (
	"fmt"
	"net/url"
	"strings"
	"time"
)

// AgentKilled is the kind of event that a person stopped an agent, or more, with the kill switch.
const AgentKilled Kind = "agent.killed"

// AgentSuspended is the kind of event that an agent was suspended: by a person, or because its owner left.
const AgentSuspended Kind = "agent.suspended"

// AgentTripped is the kind of event that the kill switch stopped an agent or a key without a person.
const AgentTripped Kind = "agent.tripped"

// Agent is an agent that something happened to, which nobody need answer.
type Agent struct {
	OrgID  string
	ID     string // as clients send it
	Kind   Kind
	Reason string
	// ActorID is the person who did it; empty: nobody.
	ActorID string
	// Scope is what a person stopped with the kill switch; empty: the agent.
	Scope string
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
	return Event{
		OrgID:   a.OrgID,
		Kind:    a.Kind,
		At:      a.At,
		ActorID: a.ActorID,
		About:   &a,
	}
}

// agentPhrases say what happened, after the agent's id.
var agentPhrases = map[Kind]string{
	AgentKilled:    "was stopped with the kill switch",
	AgentSuspended: "was suspended",
	AgentTripped:   "was stopped by a trip",
}

// scopes are what the kill switch stops beside agents, as titles call it.
var scopes = map[string]string{"server": "MCP server ", "tool": "Tool ", "plan": "Plan ", "key": "API key "}

// OfAgent begins the titles of what happened to an agent, which has a page.
const OfAgent = "Agent "

// title is what happened in one line.
func (a *Agent) title() string {
	of := OfAgent
	if a.Scope == "organization" {
		return "The whole organization " + agentPhrases[a.Kind]
	}
	if scope := scopes[a.Scope]; scope != "" {
		of = scope
	}
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

// link opens what was stopped. What is no agent stands above the list of agents.
func (a *Agent) link(publicURL string) string {
	if !strings.HasPrefix(a.title(), OfAgent) {
		return AgentLink(publicURL, "")
	}
	return AgentLink(publicURL, a.ID)
}

// AgentLink opens an agent in a browser.
func AgentLink(publicURL, agentID string) string {
	return strings.TrimRight(publicURL, "/") + "/ui/agents/" + url.PathEscape(agentID)
}
