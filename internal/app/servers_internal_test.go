package app

import (
	"testing"

	"writ/internal/config"
	"writ/internal/mcp/discovery"
)

// TestAServerMayAnswerLate: the connection does not end before the time that a server is promised to have.
func TestAServerMayAnswerLate(t *testing.T) {
	t.Parallel()
	if limit := askingOptions(config.Config{}).Timeout; limit < discovery.MaxTime {
		t.Errorf("a server that is registered has %s to begin its answer, and is told %s", limit, discovery.MaxTime)
	}
}
