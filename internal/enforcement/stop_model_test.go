package enforcement_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	"writ/internal/agent"
	"writ/internal/agent/lease"
	"writ/internal/enforcement"
	"writ/internal/fault"
	"writ/internal/principal"
)

const (
	modelSequences = 3
	modelSteps     = 150
	modelCalls     = 8 // a minute, at which a subject is stopped
)

// TestNoOrderLetsAStoppedCallRun draws orders of registering, killing, reviving, suspending, tripping,
// leasing, rotating keys and calling on two replicas, and compares every answer with a small model. Then the
// log is verified without it.
func TestNoOrderLetsAStoppedCallRun(t *testing.T) {
	t.Parallel()
	for seed := range uint64(modelSequences) {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			t.Parallel()
			each(t, func(t *testing.T, e *env) {
				m := newModel(t, e, seed)
				for step := range modelSteps {
					m.step(step)
					if t.Failed() {
						t.Fatalf("after %v", m.done)
					}
				}
				m.verify()
			})
		})
	}
}

// model is what must hold: which keys and agents are stopped, and what was counted.
type model struct {
	*env
	t        *testing.T
	rand     *rand.Rand
	replicas []*areas
	done     []string

	keys      []principal.Principal
	parents   map[string]string // of keys
	bound     []string          // the keys of billing; nil: it is not registered
	known     bool              // billing is registered
	suspended bool
	stops     map[agent.Subject][]string // the keys that stop with a subject
	counts    map[agent.Subject]*window
	spans     []stopSpan
}

// window is a count of calls.
type window struct {
	since time.Time
	n     int
}

// stopSpan is a stop with its keys: no allow and no lease of theirs stands between its indices.
type stopSpan struct {
	subject     agent.Subject
	keys        []string
	from, until int64 // until is zero while it is stopped
}

func newModel(t *testing.T, e *env, seed uint64) *model {
	t.Helper()
	m := &model{
		env:      e,
		t:        t,
		rand:     rand.New(rand.NewPCG(seed, 18)),
		replicas: []*areas{e.areas, open(t, e.Replica().DB)},
		keys:     []principal.Principal{e.agent, e.other},
		parents:  map[string]string{},
		stops:    map[agent.Subject][]string{},
		counts:   map[agent.Subject]*window{},
	}
	e.active("rules", allowAll)
	_, err := e.agents.SetSettings(t.Context(), e.owner, agent.SettingsChange{
		UnregisteredMayAct: true,
		Trips:              &agent.Trips{CallsPerMinute: new(int64(modelCalls))},
		LeaseLife:          new(time.Minute),
	})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// step does one thing, drawn so that most are calls.
func (m *model) step(n int) {
	steps := []struct {
		name string
		do   func()
	}{
		{"call", m.call}, {"call", m.call}, {"call", m.call}, {"call", m.call}, {"call", m.call}, {"call", m.call},
		{"lease", m.leaseOne}, {"kill", m.killOne}, {"revive", m.reviveOne}, {"revive", m.reviveOne},
		{"suspend", m.suspend}, {"rotate", m.rotate}, {"bind", m.bind},
		{"wait", func() { m.Pass(time.Duration(m.rand.IntN(40)) * time.Second) }},
	}
	chosen := steps[m.rand.IntN(len(steps))]
	m.done = append(m.done, fmt.Sprintf("%d %s", n, chosen.name))
	chosen.do()
}

func (m *model) on() *areas { return m.replicas[m.rand.IntN(len(m.replicas))] }

func (m *model) key() principal.Principal { return m.keys[m.rand.IntN(len(m.keys))] }

func (m *model) name() string { return []string{"billing", "bot", ""}[m.rand.IntN(3)] }

// permitted reports whether a call may run.
func (m *model) permitted(
	key principal.Principal, name string,
) bool {
	return !m.isStopped(key, name) && !m.isSuspended(key, name)
}

func (m *model) isStopped(key principal.Principal, name string) bool {
	for of, keys := range m.stops {
		if of.Scope == agent.OfOrganization || of == (agent.Subject{Scope: agent.OfAgent, ID: name}) ||
			m.comesFrom(key.KeyID, keys) {
			return true
		}
	}
	return false
}

func (m *model) comesFrom(key string, stopped []string) bool {
	for ; key != ""; key = m.parents[key] {
		if slices.Contains(stopped, key) {
			return true
		}
	}
	return false
}

func (m *model) isSuspended(key principal.Principal, name string) bool {
	return m.suspended && (slices.Contains(m.bound, key.KeyID) || name == "billing" && len(m.bound) == 0)
}

// counted is what a call of a key counts for.
func (m *model) counted(key string) agent.Subject {
	if slices.Contains(m.bound, key) {
		return agent.Subject{Scope: agent.OfAgent, ID: "billing"}
	}
	for p := m.parents[key]; p != "" && !slices.Contains(m.bound, p); p = m.parents[key] {
		key = p
	}
	return agent.Subject{Scope: agent.OfKey, ID: key}
}

func (m *model) call() {
	key, name := m.key(), m.name()
	may := m.permitted(key, name)
	got := m.on().decisions.Decide(m.t.Context(), key, as(name))
	if got.Allowed() != may || !got.Recorded {
		m.t.Errorf("a call of %s as %q: %s (%s), want allowed %t", key.KeyID, name, got.Verdict, got.Reason, may)
	}
	if !may {
		return
	}
	of := m.counted(key.KeyID)
	w := m.counts[of]
	if w == nil || m.Now().Sub(w.since) >= time.Minute {
		w = &window{since: m.Now()}
		m.counts[of] = w
	}
	if w.n++; w.n < modelCalls {
		return
	}
	m.counts[of] = nil
	stops := m.env.stops()
	if len(stops) == 0 || stops[0].Trip != agent.CallsPerMinute || stops[0].Index != got.Receipt.Index+1 ||
		(agent.Subject{Scope: stops[0].Scope, ID: stops[0].Subject}) != of {
		m.t.Fatalf("%v must trip behind entry %d: %+v", of, got.Receipt.Index, stops)
	}
	m.note(stops[0])
}

// note takes a stop into the model.
func (m *model) note(stop agent.Stop) {
	of := agent.Subject{Scope: stop.Scope, ID: stop.Subject}
	m.stops[of] = append(m.stops[of], stop.Keys...)
	m.spans = append(m.spans, stopSpan{subject: of, keys: stop.Keys, from: stop.Index})
}

func (m *model) killOne() {
	scopes := []agent.Subject{
		{Scope: agent.OfAgent, ID: "billing"}, {Scope: agent.OfAgent, ID: "bot"},
		{Scope: agent.OfKey, ID: m.key().KeyID}, {Scope: agent.OfOrganization},
	}
	of := scopes[m.rand.IntN(len(scopes))]
	stop, err := m.on().agents.Kill(m.t.Context(), m.owner, of.Scope, of.ID, "drawn", nil)
	if fault.Is(err, fault.NotFound) && of.Scope == agent.OfAgent {
		return // nobody has seen it yet
	}
	if err != nil {
		m.t.Fatal(err)
	}
	m.note(stop)
}

func (m *model) reviveOne() {
	for of := range m.stops {
		index, err := m.on().agents.Revive(m.t.Context(), m.owner, of.Scope, of.ID, "drawn")
		if err != nil {
			m.t.Fatal(err)
		}
		delete(m.stops, of)
		for i := range m.spans {
			if s := &m.spans[i]; s.subject == of && s.until == 0 {
				s.until = index
			}
		}
		return
	}
}

func (m *model) suspend() {
	if !m.known || m.stops[agent.Subject{Scope: agent.OfAgent, ID: "billing"}] != nil {
		return
	}
	to := agent.Suspended
	if m.suspended {
		to = agent.Active
	}
	if _, err := m.on().agents.SetStatus(m.t.Context(), m.owner, "billing", to, "drawn"); err != nil {
		m.t.Fatal(err)
	}
	m.suspended = !m.suspended
}

// rotate replaces a key. Nothing is made of one that is stopped.
func (m *model) rotate() {
	old := m.key()
	stopped := false
	for of, keys := range m.stops {
		stopped = stopped || of.Scope != agent.OfOrganization && m.comesFrom(old.KeyID, keys)
	}
	made, err := m.on().keys.Rotate(m.t.Context(), m.owner, old.KeyID)
	if (err == nil) == stopped {
		m.t.Fatalf("rotate key %s, stopped %t: %v (%v, parents %v)", old.KeyID, stopped, err, m.stops, m.parents)
	}
	if err != nil {
		return
	}
	next, err := m.env.keys.Holder(m.t.Context(), made.ID)
	if err != nil {
		m.t.Fatal(err)
	}
	next.Scopes = old.Scopes
	m.parents[next.KeyID] = old.KeyID
	m.keys = append(m.keys, next)
	if _, err := m.env.keys.Holder(m.t.Context(), old.KeyID); err != nil {
		m.keys = slices.DeleteFunc(m.keys, func(k principal.Principal) bool { return k.KeyID == old.KeyID })
	}
}

// bind registers billing, or binds other keys to it.
func (m *model) bind() {
	bound := []string{}
	for _, key := range m.keys {
		if m.rand.IntN(2) == 0 {
			bound = append(bound, key.KeyID)
		}
	}
	var err error
	if m.known {
		_, err = m.on().agents.Update(m.t.Context(), m.owner, "billing", agent.Changes{Keys: &bound})
	} else {
		_, err = m.on().agents.Register(m.t.Context(), m.owner, "billing", "", agent.Profile{Keys: bound})
	}
	if err != nil {
		m.t.Fatal(err)
	}
	m.known, m.bound = true, bound
}

func (m *model) leaseOne() {
	key, name := m.key(), m.name()
	may := m.permitted(key, name)
	_, err := m.on().decisions.Lease(m.t.Context(), key, enforcement.LeaseRequest{
		AgentID: name, Tools: []lease.Tool{readTool},
	})
	if (err == nil) != may {
		m.t.Errorf("a lease of %s as %q: %v, want one %t", key.KeyID, name, err, may)
	}
}

// verify reads the log without the model: no allow and no lease stands where its key was stopped.
func (m *model) verify() {
	m.t.Helper()
	if _, err := m.exported(); err != nil {
		m.t.Errorf("the log does not verify: %v", err)
	}
	for _, s := range m.spans {
		where := fmt.Sprintf(`position > %d`, s.from)
		if s.until > 0 {
			where += fmt.Sprintf(` AND position < %d`, s.until)
		}
		for _, key := range s.keys {
			if n := m.count(`agent_lease WHERE key_id = '` + key + `' AND ` + where); n != 0 {
				m.t.Errorf("%d leases of a key behind the stop %d", n, s.from)
			}
			if n := m.count(`audit_entry WHERE actor = '` + key + `' AND verdict = 'allow' AND ` + where); n != 0 {
				m.t.Errorf("%d allows of a key behind the stop %d", n, s.from)
			}
		}
	}
}
