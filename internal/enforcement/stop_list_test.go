package enforcement_test

import (
	"writ/internal/agent"
)

// checkList compares what people see of agents with what decisions know: an agent is killed if no key of its own may
// call under its id, and the filter finds the same.
func (m *model) checkList() {
	m.t.Helper()
	listed, err := m.agents.List(m.t.Context(), m.owner, agent.Filter{}, "", 50)
	if err != nil {
		m.t.Fatal(err)
	}
	killed := 0
	for _, a := range listed.Items {
		keys := a.Keys
		if len(keys) == 0 {
			one, err := m.agents.Get(m.t.Context(), m.owner, a.ID)
			if err != nil {
				m.t.Fatal(err)
			}
			keys = one.SeenKeys
		}
		stopped := true
		for _, key := range keys {
			st, err := m.agents.StandingOf(m.t.Context(), m.acme, a.ID, key)
			if err != nil {
				m.t.Fatal(err)
			}
			stopped = stopped && st.Stopped.All
		}
		if stopped != (a.Status == agent.Killed) || stopped != (a.Stop != nil) {
			m.t.Errorf("agent %s is %s by %+v; decisions stop it: %t", a.ID, a.Status, a.Stop, stopped)
		}
		if stopped {
			killed++
		}
	}
	found, err := m.agents.List(m.t.Context(), m.owner, agent.Filter{Status: agent.Killed}, "", 50)
	if err != nil || len(found.Items) != killed {
		m.t.Errorf("%d agents are listed as killed, %v; want %d", len(found.Items), err, killed)
	}
}
