package manifest

import (
	"fmt"
	"math/big"
	"regexp"
	"strings"
	"unicode/utf8"

	"writ/internal/node"
)

// Lookup is the value of a variable, and whether it is set.
type Lookup func(name string) (string, bool)

// variable is $NAME, ${NAME}, $$ for a dollar, or a dollar that begins neither.
var variable = regexp.MustCompile(`\$\$|\$[A-Za-z_][A-Za-z0-9_]*|\$\{[A-Za-z_][A-Za-z0-9_]*\}|\$`)

// substitute replaces the variables of a text, or says which one it cannot replace.
func substitute(text string, lookup Lookup) (resolved, problem string) {
	resolved = variable.ReplaceAllStringFunc(text, func(match string) string {
		if match == "$$" {
			return "$"
		}
		name := strings.Trim(match, "${}")
		if name == "" {
			problem = "holds a $ that begins no variable: write $NAME, ${NAME}, or $$ for a dollar"
			return ""
		}
		value, ok := lookup(name)
		if (!ok || value == "") && problem == "" {
			problem = fmt.Sprintf("needs the variable %s, which is not set", name)
		}
		return value
	})
	return resolved, problem
}

// plainProblem says what is wrong with text that must be on one line.
func plainProblem(text string, most int) string {
	hasControl := strings.ContainsFunc(text, func(r rune) bool { return r < 0x20 || r == 0x7f })
	if text == "" || hasControl || utf8.RuneCountInString(text) > most {
		return fmt.Sprintf("must be 1 to %d characters without control characters", most)
	}
	return ""
}

// whole reads a whole number as JSON Schema does: 30.0 is one.
func whole(v *node.Value, least int64) int64 {
	n := v.Node()
	if n.Kind == node.Number && len(n.Text) <= 20 {
		if exact, ok := new(big.Rat).SetString(n.Text); ok && exact.IsInt() && exact.Num().IsInt64() {
			if i := exact.Num().Int64(); i >= least && i <= maxWhole {
				return i
			}
		}
	}
	v.Problem("must be a whole number from %d to %d", least, maxWhole)
	return 0
}
