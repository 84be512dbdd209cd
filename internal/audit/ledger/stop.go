package ledger

import (
	"fmt"
	"strings"
)

// The actions of the kill switch: something was stopped, and may run again.
const (
	Killed  = "agent.killed"
	Revived = "agent.revived"
)

// Stop is what the kill switch stopped or lifted. The agent, server, tool or plan stands in
// the members of Decision.
type Stop struct {
	Scope string   `json:"scope,omitzero"` // agent, organization, server, tool, plan
	Keys  []string `json:"keys,omitempty"` // that stop with an agent
}

// StoppedError: the log allowed a call that the kill switch had stopped.
type StoppedError struct{ Index, Since int64 }

func (e *StoppedError) Error() string {
	return fmt.Sprintf("entry %d allows a call that the kill switch stopped with entry %d", e.Index, e.Since)
}

// stops follows the kill switch through a log.
type stops struct {
	active map[stopped]int64 // the entry that stopped it
}

// stopped is one thing that is stopped.
type stopped struct{ what, id string }

const stoppedKey = "key"

// follow takes an entry into account, or refuses an allow that the stops before it do not permit.
func (s *stops) follow(r *Record) error {
	switch r.Action {
	case Killed:
		if s.active == nil {
			s.active = map[stopped]int64{}
		}
		for _, of := range stoppedBy(r) {
			if _, known := s.active[of]; !known {
				s.active[of] = r.Index
			}
		}
	case Revived:
		for _, of := range stoppedBy(r) {
			delete(s.active, of)
		}
	}
	if len(s.active) == 0 || r.Verdict != "allow" {
		return nil
	}
	for _, of := range []stopped{
		{"organization", ""}, {"agent", r.Agent}, {stoppedKey, r.Actor.ID}, {"plan", r.Plan},
		{"server", strings.ToLower(r.Server)}, {"tool", strings.ToLower(r.Tool)},
		{"tool", strings.ToLower(r.Server + "." + r.Tool)},
	} {
		if since, ok := s.active[of]; ok && (of.id != "" || of.what == "organization") {
			return &StoppedError{Index: r.Index, Since: since}
		}
	}
	return nil
}

// stoppedBy is what an entry of the kill switch is about.
func stoppedBy(r *Record) []stopped {
	id := ""
	switch r.Scope {
	case "agent":
		id = r.Agent
	case "server":
		id = strings.ToLower(r.Server)
	case "tool":
		id = strings.ToLower(r.Tool)
	case "plan":
		id = r.Plan
	}
	all := []stopped{{r.Scope, id}}
	for _, key := range r.Keys {
		all = append(all, stopped{stoppedKey, key})
	}
	return all
}
