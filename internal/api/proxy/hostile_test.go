package proxy_test

import (
	"net/http"
	"testing"

	"writ/internal/testserver"
)

// post sends a message within a session, as no client of the SDK would.
func (y *yard) post(t *testing.T, session, body string) testserver.Answer {
	t.Helper()
	return y.Request(t, "POST", "/proxy/mcp/yard", body, "X-Api-Key", y.key, "Mcp-Session-Id", session,
		"Content-Type", "application/json", "Accept", "application/json, text/event-stream")
}

// TestATokenOfProgressThatIsNone sends tokens that no map could hold, and kills another key after that.
func TestATokenOfProgressThatIsNone(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, y *yard) {
		s := y.one().connect(t)
		for _, token := range []string{`{"a":1}`, `[1]`, `null`, `true`} {
			answer := y.post(t, s.ID(), `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":`+
				token+`,"progress":1}}`)
			if answer.Status != http.StatusAccepted {
				t.Errorf("%s: %d %s", token, answer.Status, answer.Body)
			}
		}
		if r := call(t, s, "echo", m{"text": "still there"}); r.IsError {
			t.Error(textOf(r))
		}
		key := y.AgentKey(y.Owner, y.ID)
		other := y.one()
		other.key = key.APIKey
		other.connect(t)
		if _, err := y.Owner.KillScope(t.Context(), y.ID, "key", key.ID, "it ran away", false); err != nil {
			t.Fatal(err)
		}
		testserver.Soon(t, "the killed session has ended", func() bool { return y.Gateway.Sessions() == 1 })
	})
}
