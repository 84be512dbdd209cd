package risk_test

import (
	"strings"
	"testing"

	"writ/internal/approval/risk"
	"writ/internal/intent/grounding"
)

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
