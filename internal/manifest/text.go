package manifest

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"writ/internal/node"
)

// Lookup is the value of a variable, and whether it is set.
type Lookup func(name string) (string, bool)

// pattern compiles an expression when it is needed first: a hook that starts for every call needs none.
func pattern(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}

// variable is $NAME, ${NAME}, $$ for a dollar, or a dollar that begins neither.
var variable = pattern(`\$\$|\$[A-Za-z_][A-Za-z0-9_]*|\$\{[A-Za-z_][A-Za-z0-9_]*\}|\$`)

// substitute replaces the variables of a text, or says which one it cannot replace.
func substitute(text string, lookup Lookup) (resolved, problem string) {
	resolved = variable().ReplaceAllStringFunc(text, func(match string) string {
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

// whole reads a whole number as JSON Schema does: 30.0 is one. What is larger than
// anybody needs counts as the largest.
func whole(v *node.Value, least int64) int64 {
	digits, fraction, _ := strings.Cut(v.Node().Text, ".")
	n, err := strconv.ParseInt(digits, 10, 64)
	if errors.Is(err, strconv.ErrRange) && !strings.HasPrefix(digits, "-") {
		n, err = maxWhole, nil
	}
	if v.Node().Kind != node.Number || err != nil || strings.Trim(fraction, "0") != "" || n < least {
		v.Problem("must be a whole number, at least %d", least)
		return 0
	}
	return min(n, maxWhole)
}
