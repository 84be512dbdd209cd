// Package toolname reads the names that harnesses give to the tools of MCP servers.
//
// A harness joins a server and its tool into one name: mcp__bank__pay (Claude Code, Codex), mcp_bank_pay (Gemini
// CLI), bank-pay (Copilot CLI). Joining loses where the server ends: both parts may hold the separator, and a harness
// replaces characters and cuts long names. So a name has several readings, and whoever judges a call looks at each.
package toolname

import (
	"slices"
	"strings"
)

// Name is a server and one of its tools.
type Name struct{ Server, Tool string }

// maxReadings is how many readings a name may have. No harness makes a name with more; one that has them is made to be
// misread.
const maxReadings = 128

// How names are joined.
const (
	doubleMark = "mcp__"   // begins the names of Claude Code and Codex
	double     = "__"      // separates server and tool in them
	geminiMark = "mcp_"    // begins the names of the Gemini CLI
	pluginMark = "plugin_" // begins the servers of Claude Code's plugins: plugin_NAME_SERVER
	// Dot separates server and tool where policies name them: bank.pay.
	Dot = "."
	// guessed separate server and tool in names that a tool may also have by itself.
	guessed = "-./:"
)

// Readings are the servers and tools that a called name may stand for by the separators that harnesses use for this
// alone, each once. Which comes first says nothing.
func Readings(called string) []Name {
	called = strings.TrimSpace(called)
	var found []Name
	plain := strings.TrimPrefix(called, doubleMark)
	for i := range plain {
		if strings.HasPrefix(plain[i:], double) {
			found = add(found, plain[:i], plain[i+len(double):])
		}
	}
	// With both marks it is taken for one of Claude's: no server's name begins with an underscore.
	marked := strings.HasPrefix(called, doubleMark) && len(found) > 0
	if rest, ok := strings.CutPrefix(called, geminiMark); ok && !marked {
		for i, c := range rest {
			if c == '_' {
				found = add(found, rest[:i], rest[i+1:])
				// Gemini puts no second mark before a server that begins with it.
				found = add(found, geminiMark+rest[:i], rest[i+1:])
			}
		}
	}
	return found
}

// TooManyReadings reports whether a name has more readings than any harness makes.
func TooManyReadings(called string) bool {
	return strings.Count(called, "_")+strings.Count(called, "-")+strings.Count(called, ".") > maxReadings/2
}

// Guesses are the further readings of a name whose separator may as well be part of it: bank-pay, bank.pay, bank/pay.
func Guesses(called string) []Name {
	called = strings.TrimSpace(called)
	var found []Name
	for i, c := range called {
		if strings.ContainsRune(guessed, c) {
			found = add(found, called[:i], called[i+1:])
		}
	}
	return found
}

func add(names []Name, server, tool string) []Name {
	n := Name{server, tool}
	if server == "" || tool == "" || slices.Contains(names, n) {
		return names
	}
	return append(names, n)
}

// Gemini cuts longer names in the middle.
const (
	geminiLength = 63
	geminiKeeps  = 30 // bytes at either end
	geminiCut    = "..."
)

// Gemini is the name that the Gemini CLI gives to a tool of an MCP server.
func Gemini(n Name) string {
	joined := n.Server + "_" + n.Tool
	if !strings.HasPrefix(joined, geminiMark) {
		joined = geminiMark + joined
	}
	name := replaceOthers(joined, "_-.:")
	if len(name) > geminiLength {
		name = name[:geminiKeeps] + geminiCut + name[len(name)-geminiKeeps:]
	}
	return name
}

// Claude is the name that Claude Code and Codex give to a tool of an MCP server.
func Claude(n Name) string {
	return doubleMark + replaceOthers(n.Server, "_-") + double + replaceOthers(n.Tool, "_-")
}

// replaceOthers puts an underscore for every UTF-16 unit of a character that is no ASCII letter or digit and not among
// these: harnesses are written in JavaScript.
func replaceOthers(name, also string) string {
	var b strings.Builder
	for _, c := range name {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', strings.ContainsRune(also, c):
			b.WriteRune(c)
		case c > 0xffff:
			b.WriteString("__")
		default:
			b.WriteByte('_')
		}
	}
	return b.String()
}

// IsCut reports whether a harness cut the middle out of a name, so that nobody can tell which tool it is.
func IsCut(called string) bool {
	return len(called) == geminiLength && IsGemini(called) &&
		called[geminiKeeps:geminiKeeps+len(geminiCut)] == geminiCut
}

// Normal are the forms that harnesses give to a part of a name, without those that are the part itself. A star stays.
func Normal(part string) (forms []string) {
	for _, also := range []string{"_-*", "_-.:*"} {
		if form := replaceOthers(part, also); form != part && !slices.Contains(forms, form) {
			forms = append(forms, form)
		}
	}
	return forms
}
