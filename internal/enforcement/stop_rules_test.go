package enforcement_test

import (
	"cmp"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"writ/internal/agent"
)

// rules is what must hold of stops, suspensions and trips in acme, written without the database. There is one agent
// that may be registered, billing, and ids that are only sent.
type rules struct {
	makers     map[string]string          // of keys; a key without one was made by a person
	sent       map[string]map[string]bool // the keys that sent an id
	registered bool                       // billing is
	bound      []string                   // the keys of billing
	suspended  bool                       // billing is
	stops      map[agent.Subject]*stopRule
	windows    map[agent.Subject]*window
}

// stopRule is a stop that holds.
type stopRule struct {
	keys map[string]bool // those, and all that come from them, stop
	// tripped are keys that stopped by a trip of their own: it does not reach beyond a bound key.
	tripped map[string]bool
	person  bool // it reaches into other organizations
}

// window is a count of calls.
type window struct {
	since time.Time
	n     int
}

func newRules() rules {
	return rules{
		makers:  map[string]string{},
		sent:    map[string]map[string]bool{},
		stops:   map[agent.Subject]*stopRule{},
		windows: map[agent.Subject]*window{},
	}
}

func (r *rules) sentWith(name, key string) {
	if name == "" {
		return
	}
	if r.sent[name] == nil {
		r.sent[name] = map[string]bool{}
	}
	r.sent[name][key] = true
}

// isKnown reports whether anything knows an id.
func (r *rules) isKnown(name string) bool {
	return len(r.sent[name]) > 0 || name == "billing" && r.registered
}

// permitted reports whether a call of a key in acme may run.
func (r *rules) permitted(key, name string) bool {
	for of, stop := range r.stops {
		if of.Scope == agent.OfOrganization || of == (agent.Subject{Scope: agent.OfAgent, ID: name}) ||
			r.reaches(stop, key) {
			return false
		}
	}
	return !r.suspends(key) && !(r.suspended && name == "billing")
}

// stoppedElsewhere reports whether a key of another organization stops.
func (r *rules) stoppedElsewhere(key string) bool {
	for _, stop := range r.stops {
		if stop.person && r.reaches(stop, key) {
			return true
		}
	}
	return false
}

// reaches reports whether a stop is about a key, or one that it comes from.
func (r *rules) reaches(stop *stopRule, key string) bool {
	isAgents := false // a key below is bound to an agent
	for ; key != ""; key = r.makers[key] {
		if stop.keys[key] || stop.tripped[key] && !isAgents {
			return true
		}
		isAgents = isAgents || slices.Contains(r.bound, key)
	}
	return false
}

// suspends reports whether the suspension of billing is about a key: one of its own, or one that these made.
func (r *rules) suspends(key string) bool {
	for ; r.suspended && key != ""; key = r.makers[key] {
		if slices.Contains(r.bound, key) {
			return true
		}
	}
	return false
}

// mayMake reports whether another key may be made of one.
func (r *rules) mayMake(key string) bool {
	for _, stop := range r.stops {
		if r.reaches(stop, key) {
			return false
		}
	}
	return !r.suspends(key)
}

// stop stops a subject.
func (r *rules) stop(of agent.Subject, trip bool) {
	stop := r.stops[of]
	if stop == nil {
		stop = &stopRule{keys: map[string]bool{}, tripped: map[string]bool{}}
		r.stops[of] = stop
	}
	stop.person = stop.person || !trip
	switch {
	case of.Scope == agent.OfKey && trip:
		stop.tripped[of.ID] = true
	case of.Scope == agent.OfKey:
		stop.keys[of.ID] = true
	case of.ID == "billing" && len(r.bound) > 0:
		for _, key := range r.bound {
			stop.keys[key] = true
		}
	case of.Scope == agent.OfAgent:
		maps.Copy(stop.keys, r.sent[of.ID])
	}
}

// bindTo binds keys to billing. They stop if it is stopped.
func (r *rules) bindTo(bound []string) {
	r.registered, r.bound = true, bound
	if stop := r.stops[agent.Subject{Scope: agent.OfAgent, ID: "billing"}]; stop != nil {
		for _, key := range bound {
			stop.keys[key], stop.person = true, true
		}
	}
}

func (r *rules) isStopped(of agent.Subject) bool { return r.stops[of] != nil }

// anyStop draws a stop.
func (r *rules) anyStop(draw *rand.Rand) (agent.Subject, bool) {
	all := slices.SortedFunc(maps.Keys(r.stops), func(a, b agent.Subject) int {
		return cmp.Or(cmp.Compare(a.Scope, b.Scope), cmp.Compare(a.ID, b.ID))
	})
	if len(all) == 0 {
		return agent.Subject{}, false
	}
	return all[draw.IntN(len(all))], true
}

// lift ends a stop. What its calls counted for begins anew.
func (r *rules) lift(of agent.Subject) {
	delete(r.stops, of)
	delete(r.windows, of)
	if of.Scope == agent.OfKey {
		at, _ := r.countedAt(of.ID)
		delete(r.windows, at)
		delete(r.windows, agent.Subject{Scope: agent.OfKey, ID: r.root(of.ID)})
	}
}

// root is the key of a person that a key comes from.
func (r *rules) root(key string) string {
	for r.makers[key] != "" {
		key = r.makers[key]
	}
	return key
}

// countedAt is what a call of a key counts for, and what a trip of it stops: the agent of its line, which only a bound
// key stops; else its root, and the key itself.
func (r *rules) countedAt(key string) (at, stops agent.Subject) {
	stops = agent.Subject{Scope: agent.OfKey, ID: key}
	for k := key; k != ""; k = r.makers[k] {
		if !slices.Contains(r.bound, k) {
			continue
		}
		at = agent.Subject{Scope: agent.OfAgent, ID: "billing"}
		if k == key {
			stops = at
		}
		return at, stops
	}
	return agent.Subject{Scope: agent.OfKey, ID: r.root(key)}, stops
}

// counted counts a call, and reports what it trips.
func (r *rules) counted(key string, now time.Time) (stops agent.Subject, trips bool) {
	at, stops := r.countedAt(key)
	w := r.windows[at]
	if w == nil || now.Sub(w.since) >= time.Minute {
		w = &window{since: now}
		r.windows[at] = w
	}
	w.n++
	return stops, w.n >= modelCalls
}
