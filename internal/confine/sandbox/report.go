package sandbox

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"writ/internal/confine"
)

// Report says what was held, how the command ended, and which refusals were seen. A file
// that could not be opened is not seen: the kernel tells only the command.
type Report struct {
	Version     int            `json:"version"`
	Decision    string         `json:"decision,omitempty"`
	Held        Held           `json:"held"`
	NotHeld     []string       `json:"notHeld"` // what the caller went without, by name
	Limits      confine.Limits `json:"limits"`
	Removed     []string       `json:"removedVariables"`
	Exit        int            `json:"exit"`
	Signal      string         `json:"signal,omitempty"` // that ended the command
	TimedOut    bool           `json:"timedOut"`
	DurationMS  int64          `json:"durationMs"`
	Calls       []Count        `json:"refusedCalls"` // system calls, by name
	Hosts       []Count        `json:"refusedHosts"`
	Protected   []Change       `json:"protected"`
	CallsAreAll bool           `json:"callsObserved"` // false: refused calls were not counted
}

// Held is what confined the command.
type Held struct {
	System     string   `json:"system"`
	Landlock   int      `json:"landlock"` // the version of its interface; 0 is none
	Namespaces []string `json:"namespaces"`
	Filter     bool     `json:"filter"`
	Quotas     Quotas   `json:"quotas"`
	Net        string   `json:"net"` // none or proxy
}

// Count is how often something was refused.
type Count struct {
	Name  string `json:"name"`
	Count int    `json:"count"`
}

// maxCounts bounds how many different names are counted.
const maxCounts = 256

// counter counts by name. What exceeds maxCounts is counted as "other".
type counter map[string]int

func (c counter) add(name string) {
	if _, known := c[name]; !known && len(c) >= maxCounts {
		name = "other"
	}
	c[name]++
}

func (c counter) list() []Count {
	counts := make([]Count, 0, len(c))
	for _, name := range slices.Sorted(maps.Keys(c)) {
		counts = append(counts, Count{Name: name, Count: c[name]})
	}
	slices.SortStableFunc(counts, func(a, b Count) int { return cmp.Compare(b.Count, a.Count) })
	return counts
}

// ending is how a command ended.
type ending struct {
	Exit   int     `json:"exit"`
	Signal string  `json:"signal,omitempty"`
	Calls  []Count `json:"calls,omitempty"`
}

func newReport(o *Options, removed []string, began time.Time) *Report {
	return &Report{
		Version: 1, Decision: o.Decision,
		NotHeld: notNil(o.Without), Limits: o.Limits, Removed: notNil(removed),
		DurationMS: time.Since(began).Milliseconds(),
		Calls:      []Count{}, Hosts: []Count{}, Protected: []Change{},
	}
}

// tell adds what happened to protected paths. A command that changed them has not succeeded.
func (r *Report) tell(changes []Change) {
	r.Protected = changes
	if r.Exit == 0 && slices.ContainsFunc(changes, func(c Change) bool { return !c.Expected }) {
		r.Exit = ExitProtected
	}
}

func notNil(list []string) []string { return append([]string{}, list...) }
