package enforcement_test

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"writ/internal/agent"
	"writ/internal/agent/lease"
	"writ/internal/apikey"
	"writ/internal/enforcement"
	"writ/internal/fault"
	"writ/internal/policy"
	"writ/internal/principal"
)

const (
	modelSequences = 4
	modelSteps     = 150
	listEvery      = 5
	modelCalls     = 8 // a minute, at which a subject is stopped
)

// TestNoOrderLetsAStoppedCallRun draws orders of registering, binding, killing, reviving, suspending,
// tripping, leasing, rotating, provisioning, switching organizations and calling on two replicas, and
// compares every answer with a model of what must hold (stop_rules_test.go). Then the log is verified without
// it.
func TestNoOrderLetsAStoppedCallRun(t *testing.T) {
	t.Parallel()
	for seed := range uint64(modelSequences) {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			t.Parallel()
			each(t, func(t *testing.T, e *env) {
				m := newModel(t, e, seed)
				for step := range modelSteps {
					m.step(step)
					if step%listEvery == 0 {
						m.checkList()
					}
					if t.Failed() {
						t.Fatalf("after %v", m.done)
					}
				}
				m.verify()
			})
		})
	}
}

// model runs drawn steps beside the rules.
type model struct {
	*env
	rules
	t        *testing.T
	rand     *rand.Rand
	replicas []*areas
	done     []string
	keys     []principal.Principal // of acme and globex
	spans    []stopSpan
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
		rules:    newRules(),
		t:        t,
		rand:     rand.New(rand.NewPCG(seed, 18)),
		replicas: []*areas{e.areas, open(t, e.Replica().DB)},
		keys:     []principal.Principal{e.agent, e.terminal(), e.terminal()},
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
		{"suspend", m.suspendOne}, {"rotate", m.rotate}, {"bind", m.bind}, {"provision", m.provisionOne},
		{"switch", m.switchOne},
		{"wait", func() { m.Pass(time.Duration(m.rand.IntN(40)) * time.Second) }},
	}
	chosen := steps[m.rand.IntN(len(steps))]
	m.done = append(m.done, fmt.Sprintf("%d %s", n, chosen.name))
	chosen.do()
}

func (m *model) on() *areas { return m.replicas[m.rand.IntN(len(m.replicas))] }

func (m *model) key() principal.Principal { return m.keys[m.rand.IntN(len(m.keys))] }

// keyOf draws a key that meets a condition; at least the first key of all does.
func (m *model) keyOf(meets func(principal.Principal) bool) principal.Principal {
	for {
		if key := m.key(); meets(key) {
			return key
		}
	}
}

func (m *model) ofAcme(key principal.Principal) bool { return key.OrgID == m.acme }

func (m *model) name() string { return []string{"billing", "bot", ""}[m.rand.IntN(3)] }

func (m *model) call() {
	key, name := m.key(), m.name()
	got := m.on().decisions.Decide(m.t.Context(), key, as(name))
	if !m.ofAcme(key) { // where no policy allows anything
		if stopped := got.PolicyID == policy.ByAgent; stopped != m.stoppedElsewhere(key.KeyID) {
			m.t.Errorf("a call of %s elsewhere: %s (%s)", key.KeyID, got.Verdict, got.Reason)
		}
		return
	}
	may := m.permitted(key.KeyID, name)
	if got.Allowed() != may || !got.Recorded {
		m.t.Errorf("a call of %s as %q: %s (%s), want allowed %t", key.KeyID, name, got.Verdict, got.Reason, may)
	}
	m.sentWith(name, key.KeyID)
	if !may {
		return
	}
	of, trips := m.rules.counted(key.KeyID, m.Now())
	if !trips {
		return
	}
	stops := m.env.stops()
	if len(stops) == 0 || stops[0].Trip != agent.CallsPerMinute || stops[0].Index != got.Receipt.Index+1 ||
		(agent.Subject{Scope: stops[0].Scope, ID: stops[0].Subject}) != of {
		m.t.Fatalf("%v must trip behind entry %d: %+v", of, got.Receipt.Index, stops)
	}
	m.note(stops[0])
}

// note takes a stop into the rules.
func (m *model) note(stop agent.Stop) {
	of := agent.Subject{Scope: stop.Scope, ID: stop.Subject}
	m.stop(of, stop.Trip != "")
	m.spans = append(m.spans, stopSpan{subject: of, keys: stop.Keys, from: stop.Index})
}

func (m *model) killOne() {
	scopes := []agent.Subject{
		{Scope: agent.OfAgent, ID: "billing"}, {Scope: agent.OfAgent, ID: "bot"},
		{Scope: agent.OfKey, ID: m.keyOf(m.ofAcme).KeyID}, {Scope: agent.OfOrganization},
	}
	of := scopes[m.rand.IntN(len(scopes))]
	stop, err := m.on().agents.Kill(m.t.Context(), m.owner, of.Scope, of.ID, "drawn", nil)
	if fault.Is(err, fault.NotFound) && of.Scope == agent.OfAgent && !m.isKnown(of.ID) {
		return
	}
	if err != nil || stop.Elsewhere != 0 {
		m.t.Fatalf("kill %v: %+v, %v", of, stop, err)
	}
	m.note(stop)
}

func (m *model) reviveOne() {
	of, ok := m.anyStop(m.rand)
	if !ok {
		return
	}
	index, err := m.on().agents.Revive(m.t.Context(), m.owner, of.Scope, of.ID, "drawn")
	if err != nil {
		m.t.Fatal(err)
	}
	m.lift(of)
	for i := range m.spans {
		if s := &m.spans[i]; s.subject == of && s.until == 0 {
			s.until = index
		}
	}
}

func (m *model) suspendOne() {
	if !m.registered || m.isStopped(agent.Subject{Scope: agent.OfAgent, ID: "billing"}) {
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

// made takes a key that was made from another into the rules, or checks that none was.
func (m *model) made(from principal.Principal, issued apikey.Issued, err error) (key principal.Principal, ok bool) {
	if may := m.mayMake(from.KeyID); (err == nil) != may {
		m.t.Fatalf("made from key %s: %v, want one %t (%+v)", from.KeyID, err, may, m.rules)
	}
	if err != nil {
		return principal.Principal{}, false
	}
	key, err = m.env.keys.Holder(m.t.Context(), issued.ID)
	if err != nil {
		m.t.Fatal(err)
	}
	m.makers[key.KeyID] = from.KeyID
	return key, true
}

// rotate replaces a key of acme, also at its agent.
func (m *model) rotate() {
	old := m.keyOf(m.ofAcme)
	issued, err := m.on().keys.Rotate(m.t.Context(), m.owner, old.KeyID)
	next, ok := m.made(old, issued, err)
	if !ok {
		return
	}
	next.Scopes = old.Scopes // keys of tests are stored without
	for i := range m.keys {
		if m.keys[i].KeyID == old.KeyID {
			m.keys[i] = next
		}
	}
	for i, key := range m.bound {
		if key == old.KeyID {
			m.bound[i] = next.KeyID
		}
	}
}

func (m *model) makesKeys(key principal.Principal) bool { return key.HasScope(principal.CLI) }

// provisionOne makes a key with a terminal's.
func (m *model) provisionOne() {
	by := m.keyOf(m.makesKeys)
	issued, err := m.on().keys.Provision(m.t.Context(), by, apikey.NewKey{Name: "p", OrgID: by.OrgID, Product: "p"})
	if key, ok := m.made(by, issued, err); ok {
		m.keys = append(m.keys, key)
	}
}

// switchOne makes a terminal's key in the other organization.
func (m *model) switchOne() {
	by := m.keyOf(m.makesKeys)
	to := m.acme
	if m.ofAcme(by) {
		to = m.globex
	}
	issued, err := m.on().keys.IssueCLI(m.t.Context(), by, to, "switched")
	if key, ok := m.made(by, issued, err); ok {
		m.keys = append(m.keys, key)
	}
}

// bind registers billing, or binds other keys to it.
func (m *model) bind() {
	bound := []string{}
	for _, key := range m.keys {
		if m.ofAcme(key) && m.rand.IntN(3) == 0 {
			bound = append(bound, key.KeyID)
		}
	}
	before := len(m.env.stops())
	on, err := m.on(), error(nil)
	if m.registered {
		_, err = on.agents.Update(m.t.Context(), m.owner, "billing", agent.Changes{Keys: &bound})
	} else {
		_, err = on.agents.Register(m.t.Context(), m.owner, "billing", "", agent.Profile{Keys: bound})
	}
	if err == nil {
		err = on.agents.Follow(m.t.Context())
	}
	if err != nil {
		m.t.Fatal(err)
	}
	m.bindTo(bound)
	if stops := m.env.stops(); len(stops) > before {
		m.spans = append(m.spans, stopSpan{
			subject: agent.Subject{Scope: agent.OfAgent, ID: "billing"}, keys: stops[0].Keys, from: stops[0].Index,
		})
	}
}

func (m *model) leaseOne() {
	key, name := m.keyOf(m.ofAcme), m.name()
	may := m.permitted(key.KeyID, name)
	_, err := m.on().decisions.Lease(m.t.Context(), key, enforcement.LeaseRequest{
		AgentID: name, Tools: []lease.Tool{readTool},
	})
	if (err == nil) != may {
		m.t.Errorf("a lease of %s as %q: %v, want one %t", key.KeyID, name, err, may)
	}
	if err == nil {
		m.sentWith(name, key.KeyID)
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
			if n := m.count(`audit_entry WHERE log = '` + m.acme + `' AND actor = '` + key +
				`' AND verdict = 'allow' AND ` + where); n != 0 {
				m.t.Errorf("%d allows of a key behind the stop %d", n, s.from)
			}
		}
	}
}
