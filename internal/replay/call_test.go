package replay_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"writ/internal/decision"
	"writ/internal/policy"
	"writ/internal/replay"
	"writ/internal/toolcall"
	"writ/internal/verdict"
)

func recorded(change func(r *decision.Record)) decision.Record {
	r := decision.Record{
		ID:        "d",
		OrgID:     "o",
		KeyID:     "k",
		At:        time.Unix(1000, 0).UTC(),
		AgentID:   "a",
		SessionID: "s",
		Server:    "bank",
		Tool:      "pay",
		Details: decision.Details{
			Arguments: []byte(`{"amount":5,"to":"x"}`), UserID: "u", Environment: "production", Labels: []string{"l"},
		},
	}
	change(&r)
	return r
}

func TestWhatARecordTells(t *testing.T) {
	t.Parallel()
	call, known := replay.CallOf(recorded(func(*decision.Record) {}))
	if diff := cmp.Diff(map[string]any{"amount": int64(5), "to": "x"}, call.Args); diff != "" {
		t.Error(diff)
	}
	if !known.Arguments() || known.Erased || known.Redacted || known.NotKept || call.Tool != "pay" ||
		call.Server != "bank" {
		t.Errorf("call %+v, known %+v", call, known)
	}
	for _, path := range [][]string{{"user", "role"}, {"key", "owner"}, {"session", "calls"}, {"org", "name"}} {
		if !known.Gaps().Cover(path...) {
			t.Errorf("%v is said to be known", path)
		}
	}
}

// TestNothingMissingIsTakenForKnown goes through all the ways in which a record
// has less than was judged.
func TestNothingMissingIsTakenForKnown(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change         func(r *decision.Record)
		missing, known [][]string
	}{
		"erased": {
			func(r *decision.Record) { r.Erased, r.Details = true, decision.Details{} },
			[][]string{{"args", "amount"}, {"labels"}, {"environment"}, {"user", "id"}, {"paths"}},
			[][]string{{"agent", "id"}},
		},
		"not kept": {
			func(r *decision.Record) { r.Arguments, r.Incomplete = nil, true }, [][]string{{"args", "amount"}},
			[][]string{{"labels"}},
		},
		"redacted": {func(r *decision.Record) {
			r.Arguments, r.Incomplete = []byte(`{"amount":5,"auth":{"password":"[redacted]","user":"x"}}`), true
		}, [][]string{{"args", "auth", "password"}, {"args", "auth"}, {"args"}},
			[][]string{{"args", "amount"}, {"args", "auth", "user"}}},
		"within a text": {
			func(r *decision.Record) { r.Arguments, r.Incomplete = []byte(`{"c":"curl -H [redacted]","d":1}`), true },
			[][]string{{"args", "c"}}, [][]string{{"args", "d"}},
		},
		"within a list": {func(r *decision.Record) {
			r.Arguments, r.Incomplete = []byte(`{"c":[1,{"x":["[redacted]"]}],"d":[1]}`), true
		}, [][]string{{"args", "c"}}, [][]string{{"args", "d"}}},
		"a secret name": {
			func(r *decision.Record) { r.Arguments, r.Incomplete = []byte(`{"c":{"[redacted] 2":1},"d":1}`), true },
			[][]string{{"args", "c", "sk-1"}}, [][]string{{"args", "d"}},
		},
		"not seen where": {func(r *decision.Record) { r.Incomplete = true }, [][]string{{"args", "amount"}}, nil},
		"the mark itself": {
			func(r *decision.Record) { r.Arguments = []byte(`{"c":"[redacted]"}`) }, nil, [][]string{{"args", "c"}},
		},
		"a redacted path": {
			func(r *decision.Record) { r.Paths = []byte(`{"a":"/x/[redacted]"}`) }, [][]string{{"paths"}},
			[][]string{{"args"}},
		},
		"damaged": {func(r *decision.Record) { r.Arguments = []byte(`{`) }, [][]string{{"args", "x"}}, nil},
		"a release": {func(r *decision.Record) {
			r.PolicyID, r.Verdict, r.Incomplete, r.Labels, r.Environment = policy.ByApproval, verdict.Allow, true, nil,
				""
		}, [][]string{{"labels"}, {"environment"}, {"paths"}, {"args"}}, [][]string{{"agent", "id"}}},
		"a plan": {
			func(r *decision.Record) { r.PlanID = "p"; r.AgentID = "" },
			[][]string{{"intent", "goal"}, {"intent", "step"}, {"agent", "id"}},
			[][]string{{"intent", "planId"}, {"session", "id"}},
		},
		"a step of a plan": {
			func(r *decision.Record) { r.PlanID, r.Step = "p", "0" },
			[][]string{{"intent", "goal"}, {"intent", "step"}}, nil,
		},
	} {
		_, known := replay.CallOf(recorded(c.change))
		for _, path := range c.missing {
			if !known.Gaps().Cover(path...) {
				t.Errorf("%s: %v is said to be known", name, path)
			}
		}
		for _, path := range c.known {
			if known.Gaps().Cover(path...) {
				t.Errorf("%s: %v is said to be missing", name, path)
			}
		}
	}
	if zero := (replay.Known{}); zero.Arguments() || !zero.Gaps().Cover("user", "id") {
		t.Error("the zero value knows something")
	}
}

func TestNamesAreThoseThatWereJudged(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ server, tool, wantServer, wantTool string }{
		{"local", "Bash", "local", "Bash"},
		{"files", "mcp__files__delete", "files", "delete"},
		{"files", "files__delete", "files", "delete"},
		{"other", "files__delete", "other", "files__delete"},
		{"bank", "pay", "bank", "pay"},
	} {
		call, _ := replay.CallOf(recorded(func(r *decision.Record) { r.Server, r.Tool = c.server, c.tool }))
		if call.Server != c.wantServer || call.Tool != c.wantTool {
			t.Errorf("%s %s is read as %s %s", c.server, c.tool, call.Server, call.Tool)
		}
	}
	placed, _ := replay.CallOf(recorded(func(r *decision.Record) {
		r.Server, r.Tool, r.PlacedOn = "files", "files__delete", "bank"
	}))
	if placed.Server != "bank" || placed.Tool != "files__delete" {
		t.Errorf("a tool of bank whose name claims another server is read as %s %s", placed.Server, placed.Tool)
	}
}

func TestGapsWithout(t *testing.T) {
	t.Parallel()
	gaps := toolcall.Gaps{{"user"}, {"key", "owner"}, {"key", "role"}, {"args", "x"}}
	if diff := cmp.Diff(toolcall.Gaps{{"user"}, {"args", "x"}}, gaps.Without("key")); diff != "" || len(gaps) != 4 {
		t.Errorf("%v %s", gaps, diff)
	}
}
