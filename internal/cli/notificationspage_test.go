package cli_test

import "testing"

// TestNotificationsPage runs the commands of the page on notifications. What it
// shows of other languages is run where webhooks are.
func TestNotificationsPage(t *testing.T) {
	t.Parallel()
	var commands []block
	last := ""
	for _, b := range readBlocks(t, "../../docs/notifications.md") {
		if b.kind == "sh" || b.kind == "text" && last == "sh" {
			commands = append(commands, b)
		}
		last = b.kind
	}
	runPage(t, commands, 1)
}
