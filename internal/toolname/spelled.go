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

// SameTool reports whether two names may be of one tool, with its server in front or without. A name without a server
// may be of any.
func SameTool(a, b string) bool {
	if len(a) < len(b) {
		a, b = b, a
	}
	if before, ok := strings.CutSuffix(a, b); ok && (before == "" || endsServer(before)) {
		return true
	}
	form, other := CalledWires(a)
	second, third := CalledWires(b)
	return form != "" && (form == second || form == third || other != "" && (other == second || other == third))
}

// endsServer reports whether the beginning of a name is a server and what separates it from its tool.
func endsServer(before string) bool {
	return strings.HasSuffix(before, Dot) || strings.HasSuffix(before, double) ||
		strings.HasPrefix(before, geminiMark) && strings.HasSuffix(before, "_")
}
