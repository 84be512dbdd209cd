package toolname

import (
	"slices"
	"strings"
)

// MayJoin reports whether a name may hold a server and a tool: bank.pay, bank__pay, mcp_bank_pay.
func MayJoin(called string) bool {
	return strings.Contains(called, Dot) || strings.Contains(called, double) || strings.HasPrefix(called, geminiMark)
}

// Spells reports whether a called name is a server and its tool in one, as policies or as harnesses write them, with
// the tool as it is: where a harness put another character into it, several tools have that name.
func Spells(called string, n Name) bool {
	called = strings.TrimSpace(called)
	if n.Server == "" || n.Tool == "" || called == n.Tool || !strings.HasSuffix(called, n.Tool) {
		return false
	}
	return slices.Contains([]string{n.Server + Dot + n.Tool, n.Server + double + n.Tool, Claude(n), Gemini(n)}, called)
}
