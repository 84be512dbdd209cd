package agent

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"writ/internal/database"
	"writ/internal/fault"
)

func TestIDsThatCanBeNamed(t *testing.T) {
	t.Parallel()
	for id, ok := range map[string]bool{
		"billing": true, " billing ": true, "team/b ot?": true, "agent é": true,
		"": false, " ": false, ".": false, "..": false, "a\x07": false, strings.Repeat("x", 201): false,
		"ak_live_" + strings.Repeat("a", 64): false,
	} {
		got, err := checkID(id)
		if (err == nil) != ok || ok && got != strings.TrimSpace(id) {
			t.Errorf("%q: %q, %v, want ok %t", id, got, err, ok)
		}
	}
}

// TestAProfileNamesEveryWrongField, and is trimmed and sorted otherwise.
func TestAProfileNamesEveryWrongField(t *testing.T) {
	t.Parallel()
	_, err := Profile{
		Name: "a\x07", Product: strings.Repeat("x", 101), Environment: "moon", Description: strings.Repeat("x", 1001),
		Keys: []string{"none"}, PublicKey: []byte("short"),
	}.checked()
	wrong, _ := errors.AsType[*fault.Error](err)
	var fields []string
	for _, d := range wrong.Details {
		fields = append(fields, d.Field)
	}
	want := []string{"name", "product", "environment", "description", "keys", "publicKey"}
	if diff := cmp.Diff(want, fields); diff != "" {
		t.Errorf("wrong fields (-want +got):\n%s", diff)
	}
	a, b := database.NewID(), database.NewID()
	p, err := Profile{Name: " Billing ", Keys: []string{b, a, b}}.checked()
	if err != nil || p.Name != "Billing" || !cmp.Equal(p.Keys, []string{a, b}) {
		t.Errorf("%+v, %v", p, err)
	}
}

// TestStanding: what a call may do, given the agents that it names and that its line of keys is bound to.
func TestStanding(t *testing.T) {
	t.Parallel()
	open, closed := Settings{UnregisteredMayAct: true}, Settings{}
	for name, c := range map[string]struct {
		agents   []concerned
		settings Settings
		want     Standing
	}{
		"nobody knows it": {nil, open, Standing{Status: Unregistered, MayAct: true}},
		"nobody knows it, where that is needed": {
			nil, closed, Standing{Status: Unregistered},
		},
		"without keys its id counts with every key": {
			[]concerned{{id: "a", name: "A", named: true, near: -1}}, closed,
			Standing{Name: "A", Status: Active, Registered: true, MayAct: true},
		},
		"its own key proves it": {
			[]concerned{{id: "a", named: true, bound: true, near: 0}}, closed,
			Standing{Status: Active, Registered: true, Proven: true, MayAct: true},
		},
		"another key is a stranger": {
			[]concerned{{id: "a", named: true, bound: true, near: -1}},
			open, Standing{Status: Unregistered, Stranger: true, MayAct: true},
		},
		"another key is a stranger, and restricted": {
			[]concerned{{
				id:             "a",
				name:           "A",
				named:          true,
				bound:          true,
				near:           -1,
				suspended:      true,
				intentRequired: true,
			}},
			open, Standing{
				Status:         Suspended,
				Stranger:       true,
				SuspendedAs:    "a",
				IntentRequired: true,
				MayAct:         true,
			},
		},
		"a key that its key made is a stranger, and restricted": {
			[]concerned{{
				id:             "a",
				name:           "A",
				named:          true,
				bound:          true,
				near:           2,
				suspended:      true,
				intentRequired: true,
			}},
			open, Standing{
				Status:         Suspended,
				Stranger:       true,
				SuspendedAs:    "a",
				IntentRequired: true,
				MayAct:         true,
			},
		},
		"another name does not help a suspended agent's key": {
			[]concerned{{id: "a", bound: true, near: 0, suspended: true}}, open,
			Standing{Status: Unregistered, SuspendedAs: "a", MayAct: true},
		},
		"a suspended agent": {
			[]concerned{{id: "a", named: true, near: -1, suspended: true}}, open,
			Standing{Status: Suspended, Registered: true, SuspendedAs: "a", MayAct: true},
		},
	} {
		if diff := cmp.Diff(c.want, standing(c.agents, c.settings), cmp.AllowUnexported(Standing{},
			Counting{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestWhatACallCountsFor: the agents of its own key, else of the nearest key that it comes from; a trip stops an agent
// only with its own key.
func TestWhatACallCountsFor(t *testing.T) {
	t.Parallel()
	agentA, agentB, key := Subject{OfAgent, "a"}, Subject{OfAgent, "b"}, Subject{OfKey, "k"}
	type counted struct{ At, Stops Subject }
	for name, c := range map[string]struct {
		agents []concerned
		want   []counted
	}{
		"no agent":    {[]concerned{{id: "a", named: true, near: -1}}, nil},
		"its own":     {[]concerned{{id: "a", bound: true, near: 0}}, []counted{{agentA, agentA}}},
		"its maker's": {[]concerned{{id: "a", bound: true, near: 3}}, []counted{{agentA, key}}},
		"another's":   {[]concerned{{id: "a", named: true, bound: true, near: -1}}, nil},
		"the nearest only": {
			[]concerned{{id: "a", bound: true, near: 2}, {id: "b", bound: true, near: 1}}, []counted{{agentB, key}},
		},
		"several, the named one first": {
			[]concerned{{id: "a", bound: true, near: 0}, {id: "b", bound: true, near: 0, named: true}},
			[]counted{{agentB, agentB}, {agentA, agentA}},
		},
	} {
		var got []counted
		for _, one := range countedFor(c.agents, "k", Settings{}) {
			got = append(got, counted{one.At, one.Subject})
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestAnAgentsTripsOverTheOrganizations: a number that it has, also zero, holds over the organization's.
func TestAnAgentsTripsOverTheOrganizations(t *testing.T) {
	t.Parallel()
	org := Trips{
		CostPerDay: new(1.5), CallsPerMinute: new(int64(10)), DenialsPerMinute: new(int64(5)),
		FindingsPerDay: map[string]int64{"x": 1, "y": 2},
	}
	got := Trips{CallsPerMinute: new(int64(0)), FindingsPerDay: map[string]int64{"y": 0}}.over(org)
	if got.most(CallsPerMinute) != 0 || got.most(DenialsPerMinute) != 5 || got.most(RejectedInARow) != 0 ||
		got.costNanos() != 1_500_000_000 {
		t.Errorf("%+v", got)
	}
	if diff := cmp.Diff(map[string]int64{"x": 1, "y": 0}, got.FindingsPerDay); diff != "" ||
		org.FindingsPerDay["y"] != 2 {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
	counting := newCounting(Subject{OfKey, "k"}, Subject{OfAgent, "a"}, got)
	if counting.Calls != 0 || counting.Denials != 5 || !counting.HasBudget() {
		t.Errorf("%+v", counting)
	}
	if (Counting{}).HasBudget() || (Counting{Budget: true}).HasBudget() {
		t.Error("nothing is counted without a subject")
	}
}

func TestTripsThatCanBeSet(t *testing.T) {
	t.Parallel()
	for field, trips := range map[string]Trips{
		"trips.costPerDay":        {CostPerDay: new(-1.0)},
		"trips.callsPerMinute":    {CallsPerMinute: new(int64(-1))},
		"trips.denialsPerMinute":  {DenialsPerMinute: new(int64(maxTripCount + 1))},
		"trips.findingsPerDay":    {FindingsPerDay: map[string]int64{"unknown": 1}},
		"trips.findingsPerDay.ok": {FindingsPerDay: map[string]int64{"ok": -1}},
	} {
		wrong, _ := errors.AsType[*fault.Error](trips.check([]string{"ok"}))
		if wrong == nil || len(wrong.Details) != 1 || wrong.Details[0].Field != field {
			t.Errorf("%s: %+v", field, wrong)
		}
	}
	if err := (Trips{CostPerDay: new(0.0), FindingsPerDay: map[string]int64{"ok": 3}}).check([]string{
		"ok",
	}); err != nil {
		t.Error(err)
	}
}

// TestWhichStopCoversAnother: the trip of a key spares agents, so that the kill of a person is a stop of its own.
func TestWhichStopCoversAnother(t *testing.T) {
	t.Parallel()
	killed := Stop{Scope: OfKey, Keys: []string{"a", "b"}}
	tripped, follows := killed, killed
	tripped.Trip, follows.parent = CallsPerMinute, "other"
	for name, c := range map[string]struct {
		active, other Stop
		want          bool
	}{
		"the same":                    {killed, killed, true},
		"a new key":                   {killed, Stop{Scope: OfKey, Keys: []string{"c"}}, false},
		"a trip and a person's kill":  {tripped, killed, false},
		"a trip and a trip":           {tripped, tripped, true},
		"one that follows elsewhere":  {follows, killed, false},
		"an agent's trip and a kill":  {Stop{Scope: OfAgent, Trip: CostPerDay}, Stop{Scope: OfAgent}, true},
		"an organization and nothing": {Stop{Scope: OfOrganization}, Stop{Scope: OfOrganization}, true},
	} {
		if got := c.active.covers(c.other); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// TestARecordNamesABoundedNumberOfKeys, and says how many there are.
func TestARecordNamesABoundedNumberOfKeys(t *testing.T) {
	t.Parallel()
	stop := Stop{Keys: make([]string, maxStopKeys+1)}
	if n := len(stop.recordedKeys()); n != maxStopKeys || stop.payload()["keys"] != maxStopKeys+1 {
		t.Errorf("%d keys are named, %v", n, stop.payload())
	}
	if stop.Keys = stop.Keys[1:]; stop.payload()["keys"] != nil {
		t.Errorf("%v", stop.payload())
	}
}
