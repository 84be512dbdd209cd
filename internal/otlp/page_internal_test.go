package otlp

import (
	"os"
	"strings"
	"testing"
)

// TestThePageNamesWhatIsRead: people look there for the name their library uses.
func TestThePageNamesWhatIsRead(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/opentelemetry.md")
	if err != nil {
		t.Fatal(err)
	}
	told := 0
	for key, c := range conventions {
		switch c.meaning {
		case model, inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens, cost, tool, agent, session,
			user, service:
			told++
			if !strings.Contains(string(page), "`"+key+"`") {
				t.Errorf("docs/opentelemetry.md does not name %s", key)
			}
		}
	}
	if !strings.Contains(string(page), `uuid.UUID("`+sessionSpace.String()+`")`) {
		t.Error("docs/opentelemetry.md does not say under which id a session is found")
	}
	if told < 30 {
		t.Errorf("only %d names were looked for", told)
	}
}
