package enforcement

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"

	"writ/internal/policy"
	"writ/internal/policy/engine"
	"writ/internal/toolcall"
)

// TestShadowsThatFail: a shadow that is not there, is late or breaks has a problem,
// and nobody else has.
func TestShadowsThatFail(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	s := &Service{logger: slog.New(slog.NewTextHandler(&log, nil))}
	questions := []engine.Question{{Call: &toolcall.Call{Server: "fs", Tool: "read"}}}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	for name, c := range map[string]struct {
		ctx    context.Context
		shadow policy.Shadow
		want   string
	}{
		"not compiled": {t.Context(), policy.Shadow{Problem: "it is not compiled yet"}, "it is not compiled yet"},
		"late":         {over, policy.Shadow{Set: engine.NewSet(nil)}, shadowLate},
		"broken":       {t.Context(), policy.Shadow{PolicyID: "p", Set: new(engine.Set)}, shadowFailed},
		"sound":        {t.Context(), policy.Shadow{Set: engine.NewSet(nil)}, ""},
	} {
		got := s.judgeShadow(c.ctx, c.shadow, questions, limitsRead{})
		if got.Problem != c.want || (got.Verdict == "") != (c.want != "") {
			t.Errorf("%s: %+v, want the problem %q", name, got, c.want)
		}
	}
	if !strings.Contains(log.String(), "policy=p") {
		t.Errorf("the operator reads %q, want the policy whose shadow broke", log.String())
	}
}
