package replay

import (
	"testing"
	"time"

	"writ/internal/decision"
	"writ/internal/policy/document"
	"writ/internal/policy/engine"
	"writ/internal/verdict"
)

// TestWhatTheHarnessCalledIsReplayed: a rule about a harness's own tool judged the call although the host said that it
// was a server's. Once the details are erased, nobody can tell.
func TestWhatTheHarnessCalledIsReplayed(t *testing.T) {
	t.Parallel()
	compiled, problems := engine.Compile(&document.Document{
		Version: document.Version, Name: "p", Default: verdict.Allow,
		Rules: []document.Rule{
			{ID: "r", Effect: verdict.Deny, Tools: []document.Pattern{
				"claude-code.Bash", "evil.*", "local.mcp_bank_pay",
			}},
		},
	})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	set := engine.NewSet([]engine.Active{{ID: "p", Version: 1, Policy: compiled}})
	called := func(name, source string) decision.Details {
		return decision.Details{Arguments: []byte(`{}`), CalledAs: name, Source: source}
	}
	joined := func(source string) decision.Details {
		return decision.Details{Arguments: []byte(`{}`), SpelledAs: "mcp_bank_pay", Source: source}
	}
	for name, c := range map[string]struct {
		record decision.Record
		want   Answer
	}{
		"by the harness": {
			decision.Record{Server: "docs", Tool: "Bash", Details: called("Bash", "claude-code")}, "deny",
		},
		"by another one":    {decision.Record{Server: "docs", Tool: "Bash", Details: called("Bash", "codex")}, "allow"},
		"the server stated": {decision.Record{Server: "docs", Tool: "Bash", Details: called("", "")}, "allow"},
		"erased":            {decision.Record{Server: "docs", Tool: "Bash", Erased: true}, Unknown},
		"erased, of a server that no rule is about": {
			decision.Record{Server: "docs", Tool: "read", Erased: true}, "allow",
		},
		"erased, and perhaps of two servers": {
			decision.Record{
				Server: "evil__docs", Tool: "run", Erased: true, Ruling: verdict.Ruling{Verdict: verdict.Allow},
			}, Unknown,
		},
		"erased, and denied as the harness's": {
			decision.Record{Server: "codex", Tool: "shell", Erased: true, Ruling: verdict.Ruling{Rule: "x"}}, Unknown,
		},
		"joined, and perhaps a mere name": {
			decision.Record{Server: "bank", Tool: "pay", Details: joined("")}, Unknown,
		},
		"joined by a harness": {
			decision.Record{Server: "bank", Tool: "pay", Details: joined("gemini-cli")}, "allow",
		},
		"denied as a mere name": {
			decision.Record{
				Server: "local", Tool: "mcp_bank_pay",
				Details: decision.Details{PlacedOn: "bank", Arguments: []byte(`{}`)},
			}, "deny",
		},
	} {
		r := c.record
		call, known := CallOf(r)
		outlook := judge(set, &r, &call, known, newCounters(time.Time{}).Range)
		if got := answerOf(&outlook); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}
