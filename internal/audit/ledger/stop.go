package ledger

import (
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"writ/internal/toolname"
)

// The actions of the kill switch: something was stopped, and may run again. And a lease, which permits calls that ask
// nobody, so that none may stand behind a kill.
const (
	Killed  = "agent.killed"
	Revived = "agent.revived"
	Leased  = "agent.leased"
)

// Stop is what the kill switch stopped or lifted. The agent, server, tool or plan stands in the members of Decision,
// the key in the subject.
type Stop struct {
	Scope string   `json:"scope,omitzero"`  // agent, organization, server, tool, plan, key
	Keys  []string `json:"keys,omitempty"`  // that stop with an agent or key
	IDs   []string `json:"stops,omitempty"` // of the stop that begins, or of those that end
}

// StoppedError: the log allowed a call that the kill switch had stopped.
type StoppedError struct{ Index, Since int64 }

func (e *StoppedError) Error() string {
	return fmt.Sprintf("entry %d allows a call that the kill switch stopped with entry %d", e.Index, e.Since)
}

// stops follows the kill switch through a log.
type stops struct {
	active map[string]*activeStop // by its id, or for entries without one by its subject
}

// activeStop is a stop that was not lifted.
type activeStop struct {
	since          int64
	of             stopSubject
	keys           map[string]bool
	servers, tools []string // all names that are stopped
}

// stopSubject is what an entry of the kill switch is about.
type stopSubject struct{ scope, id string }

// unnamed stands for the id of a stop that has none, as entries of an earlier Writ.
func (s stopSubject) unnamed() string { return s.scope + " " + s.id }

// follow takes an entry into account, or refuses an allow or lease that the stops before it do not permit. The payload
// of a lease names its tools; nil: it was erased.
func (s *stops) follow(r *Record, payload []byte) error {
	switch r.Action {
	case Killed:
		s.begin(r)
	case Revived:
		s.end(r)
	}
	if len(s.active) == 0 || r.Verdict != "allow" && r.Action != Leased {
		return nil
	}
	tools := leasedTools(r, payload)
	since := int64(-1)
	for _, stop := range s.active {
		if stop.forbids(r, tools) && (since < 0 || stop.since < since) {
			since = stop.since
		}
	}
	if since < 0 {
		return nil
	}
	return &StoppedError{Index: r.Index, Since: since}
}

func (s *stops) begin(r *Record) {
	if s.active == nil {
		s.active = map[string]*activeStop{}
	}
	of := r.stopSubject()
	id := of.unnamed()
	if len(r.IDs) > 0 {
		id = r.IDs[0]
	}
	stop := s.active[id]
	if stop == nil {
		stop = &activeStop{since: r.Index, of: of, keys: map[string]bool{}}
		s.active[id] = stop
	}
	for _, key := range r.Keys {
		stop.keys[key] = true
	}
	switch of.scope {
	case "server":
		stop.servers = toolname.StoppedServer(of.id)
	case "tool":
		stop.tools = toolname.StoppedTool(of.id)
	case "key":
		stop.keys[of.id] = true
	}
}

// end lifts the stops that an entry names. One without ids lifts all of its subject, as an earlier Writ did.
func (s *stops) end(r *Record) {
	of := r.stopSubject()
	for id, stop := range s.active {
		if slices.Contains(r.IDs, id) || stop.of == of && (len(r.IDs) == 0 || id == of.unnamed()) {
			delete(s.active, id)
		}
	}
}

// forbids reports whether a stop forbids what an entry allows.
func (s *activeStop) forbids(r *Record, leased []toolname.Name) bool {
	switch s.of.scope {
	case "organization":
		return true
	case "agent":
		if r.Agent != "" && r.Agent == s.of.id {
			return true
		}
	case "plan":
		return s.of.id != "" && (r.Plan == s.of.id || r.Under == s.of.id)
	case "server", "tool":
		return slices.ContainsFunc(append(leased, toolname.Name{Server: r.Server, Tool: r.Tool}), s.names)
	}
	return s.keys[r.Actor.ID]
}

// names reports whether a tool is stopped, as it was recorded and as its name is read.
func (s *activeStop) names(n toolname.Name) bool {
	if n.Tool == "" {
		return false
	}
	if toolname.IsStopped(s.servers, s.tools, n.Server, n.Tool) {
		return true
	}
	server, tool, ok := toolname.Split(n.Tool)
	return ok && (n.Server == "" || strings.EqualFold(server, n.Server)) &&
		toolname.IsStopped(s.servers, s.tools, server, tool)
}

// leasedTools are the tools of a lease, as far as its payload was not erased.
func leasedTools(r *Record, payload []byte) []toolname.Name {
	if r.Action != Leased || payload == nil {
		return nil
	}
	var lease struct {
		Tools []struct {
			Server string `json:"server"`
			Tool   string `json:"tool"`
		} `json:"tools"`
	}
	if json.Unmarshal(payload, &lease) != nil {
		return nil
	}
	names := make([]toolname.Name, len(lease.Tools))
	for i, tool := range lease.Tools {
		names[i] = toolname.Name{Server: tool.Server, Tool: tool.Tool}
	}
	return names
}

// stopSubject is the subject of an entry of the kill switch.
func (r *Record) stopSubject() stopSubject {
	id := ""
	switch r.Scope {
	case "agent":
		id = r.Agent
	case "server":
		id = r.Server
	case "tool":
		id = r.Tool
	case "plan":
		id = r.Plan
	case "key":
		id = r.Subject.ID
	}
	return stopSubject{r.Scope, id}
}
