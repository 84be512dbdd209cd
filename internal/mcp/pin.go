package mcp

import (
	"slices"
	"strings"
	"time"

	"writ/internal/mcp/definition"
)

// State is how a tool stands to what a person has accepted.
type State string

// The states. All but Listed and Pinned hold the tool.
const (
	Listed   State = "listed"   // of a server that is not approved: nothing is pinned
	Pinned   State = "pinned"   // as a person has accepted it
	Changed  State = "changed"  // it is not what a person has accepted, or was not for a while
	Added    State = "new"      // it came after the server was approved
	Moved    State = "moved"    // it is new here, and a person has accepted a tool of that name on another server
	Returned State = "returned" // it was gone, and is back
	Gone     State = "gone"     // a person has accepted it, and the server lists it no more
)

// Holds reports whether calls of such a tool wait for a person.
func (s State) Holds() bool { return s != Listed && s != Pinned }

// Version is a tool as its server described it at some time. The zero value is none.
type Version struct {
	Hash string
	Tool definition.Tool
}

// Tool is a tool of a server, as it is listed and as a person has accepted it.
type Tool struct {
	Name       string
	State      State
	MovedFrom  string // the other server, of Moved
	Since      time.Time
	Listed     Version
	Accepted   Version
	AcceptedBy string
	AcceptedAt *time.Time
}

// Diff is how the tool differs from what a person has accepted.
func (t *Tool) Diff() []definition.Change {
	if t.Accepted.Hash == "" || t.Listed.Hash == "" || t.Accepted.Hash == t.Listed.Hash {
		return nil
	}
	return definition.Diff(t.Accepted.Tool, t.Listed.Tool)
}

// Why says in one sentence why the tool is held; empty: it is not.
func (t *Tool) Why() string {
	if t.State == Changed && t.Listed.Hash == t.Accepted.Hash {
		return "the tool is again what a person has accepted, but was something else in between"
	}
	return t.State.why(t.MovedFrom)
}

func (s State) why(from string) string {
	switch s {
	case Changed:
		return "the tool is not what a person has accepted"
	case Added:
		return "the tool came after the server was approved, and nobody has accepted it"
	case Moved:
		return "the tool is new on this server, and was accepted on another one: " + from
	case Returned:
		return "the tool was gone and is back, and nobody has accepted it since"
	case Gone:
		return "the server does not list the tool any more"
	}
	return ""
}

// pins are the tools of a server and what is known about other servers.
type pins struct {
	known []Tool
	// trusted: what is listed now is what a person has agreed to.
	trusted bool
	by      string // that person
	at      time.Time
	// pinned: tools of this server were pinned before.
	pinned bool
	// elsewhere are servers on which a tool of a name is accepted.
	elsewhere map[string]string
}

// compare is the tools after a server has listed some, by name. It is pure.
func (p pins) compare(listed []Version) []Tool {
	known := make(map[string]Tool, len(p.known))
	for _, t := range p.known {
		known[t.Name] = t
	}
	all := make([]Tool, 0, len(listed))
	for _, v := range listed {
		t, ok := known[v.Tool.Name]
		delete(known, v.Tool.Name)
		if !ok {
			t = Tool{Name: v.Tool.Name, Since: p.at}
		}
		all = append(all, p.next(t, v))
	}
	for _, t := range known { // no longer listed
		if t.Accepted.Hash == "" {
			continue // nobody has accepted it, so nobody misses it
		}
		t.Listed = Version{}
		t.enter(Gone, p.at)
		all = append(all, t)
	}
	slices.SortFunc(all, func(a, b Tool) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// next is a tool after it was listed.
func (p pins) next(t Tool, v Version) Tool {
	was := t.Listed
	t.Listed = v
	switch {
	case p.trusted:
		t.accept(p.by, p.at)
	case !p.pinned:
		t.enter(Listed, p.at)
	case t.Accepted.Hash == "" && p.elsewhere[t.Name] != "":
		t.MovedFrom = p.elsewhere[t.Name]
		t.enter(Moved, p.at)
	case t.Accepted.Hash == "":
		t.enter(Added, p.at)
	case t.State == Gone, t.State == Returned:
		t.enter(Returned, p.at)
	case v.Hash != t.Accepted.Hash:
		if was.Hash != v.Hash {
			t.State = "" // it changed again
		}
		t.enter(Changed, p.at)
	case t.State == Changed:
		// It was something else for a while. Only a person knows what ran meanwhile.
	default:
		t.enter(Pinned, p.at)
	}
	return t
}

func (t *Tool) enter(s State, at time.Time) {
	if t.State != s {
		t.State, t.Since = s, at
	}
}

// accept makes what is listed what a person has agreed to.
func (t *Tool) accept(by string, at time.Time) {
	t.Accepted, t.AcceptedBy, t.AcceptedAt, t.MovedFrom = t.Listed, by, &at, ""
	t.State, t.Since = Pinned, at
}

// Difference is what became of a tool, for the log.
type Difference struct {
	Tool  string              `json:"tool"`
	State State               `json:"state"`
	From  string              `json:"from,omitempty"`
	Hash  string              `json:"hash,omitempty"`
	Diff  []definition.Change `json:"diff,omitempty"`
}

// Limits of what an entry of the log says.
const (
	maxDifferences = 50
	maxDiffs       = 10 // of which the entry has the diff
)

// differences are the tools that came into another state, or changed again.
func differences(before, after []Tool) (found []Difference, more int) {
	was := make(map[string]Tool, len(before))
	for _, t := range before {
		was[t.Name] = t
	}
	for _, t := range after {
		old := was[t.Name]
		if old.State == t.State && old.Listed.Hash == t.Listed.Hash {
			continue
		}
		if len(found) == maxDifferences {
			more++
			continue
		}
		d := Difference{Tool: t.Name, State: t.State, From: t.MovedFrom, Hash: t.Listed.Hash}
		if len(found) < maxDiffs {
			d.Diff = t.Diff()
		}
		found = append(found, d)
	}
	return found, more
}
