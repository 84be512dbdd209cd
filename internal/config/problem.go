package config

import (
	"fmt"
	"strconv"
	"strings"
)

// Problem is one thing that is wrong with a variable. The message never quotes the variable's value.
type Problem struct{ Variable, Message string }

// Problems is the error of Load: everything that is wrong, in the order of Variables, unknown names last.
type Problems []Problem

// Error puts each problem on a line.
func (p Problems) Error() string {
	var b strings.Builder
	b.WriteString("the settings have problems:")
	for _, problem := range p {
		fmt.Fprintf(&b, "\n  %s: %s", printable(problem.Variable), problem.Message)
	}
	return b.String()
}

// printable keeps a strange variable name from forging lines.
func printable(name string) string {
	if quoted := strconv.QuoteToASCII(name); quoted != `"`+name+`"` {
		return quoted
	}
	return name
}
