package risk_test

import (
	"strings"
	"testing"

	"writ/internal/approval/risk"
	"writ/internal/intent/grounding"
)

func TestClassOf(t *testing.T) {
	t.Parallel()
	for class, names := range map[risk.Class][][2]string{
		risk.Shell: {
			{"", "Bash"}, {"claude-code", "Bash"}, {"gemini-cli", "run_shell_command"}, {"ide", "runTerminalCmd"},
			{"x", "exec"}, {"x", "ssh_connect"},
			{"x", "execute_command"}, {"x", "run_code"}, {"x", "code_interpreter"}, {"db", "execute_sql"},
			{"shell", "run"}, {"x", "get_shell"},
		},
		risk.Secrets: {
			{"x", "get_secret"}, {"bank", "update_password"}, {"aws", "createAccessToken"}, {"vault", "read"},
			{"x", "list_credentials"}, {"x", "rotate-credential"},
		},
		risk.Money: {
			{"bank", "pay"}, {"bank", "send_money"}, {"x", "schedule_transaction"}, {"shop", "issueRefund"},
			{"stripe", "create_customer"}, {"bank", "frobnicate"}, {"x", "Transfer"},
		},
		risk.Delete: {
			{"fs", "delete_file"}, {"fs", "rm"}, {"db", "dropTable"}, {"slack", "remove_user"},
			{"calendar", "cancel_event"}, {"bank", "delete_payee"}, {"x", "send_and_delete"},
		},
		risk.Send: {
			{"mail", "send_email"}, {"slack", "post_message"}, {"drive", "share_file"}, {"x", "HTTPPost"},
			{"slack", "invite_user"}, {"x", "send_status"}, {"git", "push"},
		},
		risk.Write: {
			{"fs", "write_file"}, {"fs", "Edit"}, {"github", "create_issue"}, {"calendar", "add_participants"},
			{"travel", "reserve_hotel"},
		},
		risk.Read: {
			{"fs", "read_file"}, {"bank", "get_balance"}, {"bank", "get_most_recent_transactions"},
			{"mail", "get_sent_emails"}, {"x", "searchFiles"},
			{"fs", "Glob"}, {"travel", "check_restaurant_opening_hours"}, {"github", "list_commands"},
			{"x", "get_eval_results"}, {"shell", "list_sessions"},
		},
		risk.Unknown: {
			// two letters of that are Cyrillic
			{"x", "frobnicate"}, {"", ""}, {"x", "runner"}, {"x", "gadget"}, {"x", "раssword"},
		},
	} {
		for _, name := range names {
			if got := risk.ClassOf(name[0], name[1]); got != class {
				t.Errorf("ClassOf(%q, %q) = %s, want %s", name[0], name[1], got, class)
			}
		}
	}
}

// TestStatedClasses count before names, which only say more precisely what a tool does.
func TestStatedClasses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		stated grounding.Class
		tool   string
		code   string // of the reason; empty: none
	}{
		{"", "frobnicate", "class_unknown"},
		{grounding.Execute, "frobnicate", "class_shell"},
		{grounding.Execute, "get_status", "class_shell"},
		{grounding.Egress, "get_status", "class_send"},
		{grounding.Egress, "pay", "class_money"},
		{grounding.Egress, "run_command", "class_send"},
		{grounding.Write, "frobnicate", "class_write"},
		{grounding.Write, "get_status", "class_write"},
		{grounding.Write, "delete_file", "class_delete"},
		{grounding.Write, "send_mail", "class_send"},
		{grounding.Read, "frobnicate", ""},
		{grounding.Read, "send_mail", ""},
		{grounding.Read, "get_password", "class_secrets"},
	} {
		code := ""
		for _, r := range risk.Assess(risk.Facts{Server: "x", Tool: c.tool, Class: c.stated}).Reasons {
			if strings.HasPrefix(r.Code, "class_") {
				code = r.Code
			}
		}
		if code != c.code {
			t.Errorf("%s, stated as %q: %q, want %q", c.tool, c.stated, code, c.code)
		}
	}
}
