package toolclass_test

import (
	"testing"

	"writ/internal/intent/grounding"
	"writ/internal/toolclass"
)

func TestOf(t *testing.T) {
	t.Parallel()
	for class, names := range map[toolclass.Class][][2]string{
		toolclass.Shell: {
			{"", "Bash"}, {"claude-code", "Bash"}, {"gemini-cli", "run_shell_command"}, {"ide", "runTerminalCmd"},
			{"x", "exec"}, {"x", "ssh_connect"},
			{"x", "execute_command"}, {"x", "run_code"}, {"x", "code_interpreter"}, {"db", "execute_sql"},
			{"shell", "run"}, {"x", "get_shell"},
		},
		toolclass.Secrets: {
			{"x", "get_secret"}, {"bank", "update_password"}, {"aws", "createAccessToken"}, {"vault", "read"},
			{"x", "list_credentials"}, {"x", "rotate-credential"},
		},
		toolclass.Money: {
			{"bank", "pay"}, {"bank", "send_money"}, {"x", "schedule_transaction"}, {"shop", "issueRefund"},
			{"stripe", "create_customer"}, {"bank", "frobnicate"}, {"x", "Transfer"},
		},
		toolclass.Delete: {
			{"fs", "delete_file"}, {"fs", "rm"}, {"db", "dropTable"}, {"slack", "remove_user"},
			{"calendar", "cancel_event"}, {"bank", "delete_payee"}, {"x", "send_and_delete"},
		},
		toolclass.Send: {
			{"mail", "send_email"}, {"slack", "post_message"}, {"drive", "share_file"}, {"x", "HTTPPost"},
			{"slack", "invite_user"}, {"x", "send_status"}, {"git", "push"},
		},
		toolclass.Write: {
			{"fs", "write_file"}, {"fs", "Edit"}, {"github", "create_issue"}, {"calendar", "add_participants"},
			{"travel", "reserve_hotel"},
		},
		toolclass.Read: {
			{"fs", "read_file"}, {"bank", "get_balance"}, {"bank", "get_most_recent_transactions"},
			{"mail", "get_sent_emails"}, {"x", "searchFiles"},
			{"fs", "Glob"}, {"travel", "check_restaurant_opening_hours"}, {"github", "list_commands"},
			{"x", "get_eval_results"}, {"shell", "list_sessions"},
		},
		toolclass.Unknown: {
			// two letters of that are Cyrillic
			{"x", "frobnicate"}, {"", ""}, {"x", "runner"}, {"x", "gadget"}, {"x", "раssword"},
		},
	} {
		for _, name := range names {
			if got := toolclass.Of(name[0], name[1]); got != class {
				t.Errorf("Of(%q, %q) = %s, want %s", name[0], name[1], got, class)
			}
		}
	}
}

// TestEffect: what a tool does to the world is known for the tools of harnesses, else by the name.
func TestEffect(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		server, tool string
		want         grounding.Class
	}{
		{"claude-code", "Bash", grounding.Execute},
		{"claude-code", "WebFetch", grounding.Read},
		{"db", "execute_sql", grounding.Execute},
		{"mail", "send_email", grounding.Egress},
		{"bank", "pay", grounding.Egress},
		{"fs", "delete_file", grounding.Write},
		{"fs", "write_file", grounding.Write},
		{"fs", "read_file", grounding.Read},
		{"vault", "get_secret", grounding.Read},
		{"vault", "rotate_secret", grounding.Write},
		{"x", "frobnicate", ""},
	} {
		if got := toolclass.Effect(c.server, c.tool); got != c.want {
			t.Errorf("Effect(%q, %q) = %q, want %q", c.server, c.tool, got, c.want)
		}
	}
}
