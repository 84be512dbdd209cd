package ledger

import (
	"fmt"
	"maps"
	"slices"
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
	Scope string   `json:"scope,omitzero"` // agent, organization, server, tool, plan, key
	Keys  []string `json:"keys,omitempty"` // that stop with an agent
}

// StoppedError: the log allowed a call that the kill switch had stopped.
type StoppedError struct{ Index, Since int64 }

func (e *StoppedError) Error() string {
	return fmt.Sprintf("entry %d allows a call that the kill switch stopped with entry %d", e.Index, e.Since)
}

// stops follows the kill switch through a log.
type stops struct {
	// active is what is stopped, and by the entries about which subjects: a key may stop with several agents.
	active map[stopped]map[stopped]int64
}

// stopped is one thing that is stopped.
type stopped struct{ what, id string }

const stoppedKey = "key"

// follow takes an entry into account, or refuses an allow that the stops before it do not permit.
func (s *stops) follow(r *Record) error {
	switch r.Action {
	case Killed:
		if s.active == nil {
			s.active = map[stopped]map[stopped]int64{}
		}
		by := r.stopSubject()
		for _, of := range stoppedBy(r) {
			if s.active[of] == nil {
				s.active[of] = map[stopped]int64{}
			}
			if _, known := s.active[of][by]; !known {
				s.active[of][by] = r.Index
			}
		}
	case Revived:
		by := r.stopSubject()
		for of := range s.active {
			if delete(s.active[of], by); len(s.active[of]) == 0 {
				delete(s.active, of)
			}
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
		if since := s.active[of]; len(since) > 0 && (of.id != "" || of.what == "organization") {
			return &StoppedError{Index: r.Index, Since: slices.Min(slices.Collect(maps.Values(since)))}
		}
	}
	return nil
}

// stopSubject is the subject of an entry of the kill switch.
func (r *Record) stopSubject() stopped {
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
	case stoppedKey:
		id = r.Subject.ID
	}
	return stopped{r.Scope, id}
}

// stoppedBy is what an entry of the kill switch is about.
func stoppedBy(r *Record) []stopped {
	all := []stopped{r.stopSubject()}
	for _, key := range r.Keys {
		all = append(all, stopped{stoppedKey, key})
	}
	return all
}
