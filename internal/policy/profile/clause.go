package profile

import (
	"fmt"
	"slices"
	"strings"
)

var (
	// commandNames are the arguments in which tools are told what to run.
	commandNames = []string{"command", "cmd"}
	// unreadable are tools that run what stands in no command, or in none of a shell
	// that is read here.
	unreadable = []string{"js_repl", "powershell", "write_bash", "write_stdin"}
)

// detour finds arguments with which a command runs something else than it says:
// variables, and another shell than those that read it as it is read here. Codex
// takes any program for one.
const detour = `args.exists(k, v, k in ["env", "environment"] || k == "shell" && (type(v) != string || !v.matches("^(/bin/|/usr/bin/)?(ba|z|da)?sh$")))`

// test is a condition as an expression.
func (s *Statement) test(c *Condition) string {
	switch c.Field {
	case toolName:
		return s.testToolName(c)
	case mcpServer:
		return s.testServer(c)
	case networkHost:
		return s.testHost(c)
	case filePath:
		return s.overPaths(c)
	default:
		return s.overCommands(c)
	}
}

// overCommands asks about every command of the call: all of them must pass for a
// permit, and one is enough for what restricts.
func (s *Statement) overCommands(c *Condition) string {
	names := list(commandNames)
	if s.restricts() {
		return fmt.Sprintf("!args.exists(k, v, k in %s) || args.exists(k, v, k in %s && (type(v) != string || %s))",
			names, names, s.testCommand(c))
	}
	return fmt.Sprintf("args.exists(k, v, k in %s) && args.all(k, v, !(k in %s) || type(v) == string && %s)", names,
		names, s.testCommand(c))
}

// readable joins the tests of commands, and says what they mean where the command is
// not what runs: it counts against the call.
func (s *Statement) readable(tests []string) string {
	if s.restricts() {
		return fmt.Sprintf("tool.lowerAscii() in %s || %s || %s", list(unreadable), detour, allOf(tests))
	}
	known := []string{"!" + detour}
	if s.Action.Type == programAction ||
		slices.ContainsFunc(s.Conditions, func(c Condition) bool { return c.Field == bashProgram }) {
		known = append(known, fmt.Sprintf("args.all(k, v, !(k in %s) || type(v) == string && %s)", list(commandNames),
			installed))
	}
	return allOf(append(known, tests...))
}

// testCommand asks about one command, v.
func (s *Statement) testCommand(c *Condition) string {
	switch {
	case c.Field == bashProgram && s.restricts():
		return fmt.Sprintf("shell(v).dynamic || shell(v).programs.exists(p, %s || %s)", compare(c, "p", false),
			compare(c, "p.lowerAscii()", true))
	case c.Field == bashProgram:
		return fmt.Sprintf("!shell(v).dynamic && shell(v).programs.size() > 0 && shell(v).programs.all(p, %s)",
			c.surely("p"))
	case c.Field == bashRedirect:
		return s.testRedirect(*c.Bool)
	case s.restricts():
		return fmt.Sprintf("%s || %s", compare(c, "v", false), compare(c, "v.trim()", false))
	case c.Op == opStarts || c.Op == opMatches:
		// What begins well, or holds something good, must not go on to something else.
		return fmt.Sprintf("!shell(v).dynamic && shell(v).programs.size() == 1 && %s && %s", redirectsNothing,
			compare(c, "v", false))
	}
	if c.negated() { // a space around it makes it no other command
		return fmt.Sprintf("!shell(v).dynamic && %s && %s", compare(c, "v", false), compare(c, "v.trim()", false))
	}
	return fmt.Sprintf("!shell(v).dynamic && %s", compare(c, "v", false))
}

// negated reports whether the condition is that something is not so.
func (c *Condition) negated() bool { return c.Op == opNot || c.Op == opNotIn }

// surely is the comparison for a permit of a name that may be written in large
// letters or small: what is not one of some must not be in either.
func (c *Condition) surely(subject string) string {
	if c.negated() {
		return compare(c, subject, false) + " && " + compare(c, subject+".lowerAscii()", true)
	}
	return compare(c, subject, false)
}

const (
	// installed asks whether programs are called by their names, or in folders of the
	// system. An agent can write a file of any name and call it by its path.
	installed = `shell(v).paths.all(p, p.matches("^/(usr/(local/)?)?s?bin/[^/]+$"))`
	// redirectsNothing asks whether a command's output goes to no file.
	redirectsNothing = `(shell(v).writes.size() == 0 || !v.contains(">"))`
)

// testRedirect asks whether a command writes. Only one whose text shows it and
// whose reading tells what is written surely does; only one without either surely
// does not.
func (s *Statement) testRedirect(wanted bool) string {
	const surely = `!shell(v).dynamic && shell(v).writes.size() > 0 && v.contains(">")`
	const surelyNot = `!shell(v).dynamic && shell(v).writes.size() == 0 && !v.contains(">")`
	switch {
	case s.restricts() && wanted:
		return "!(" + surelyNot + ")"
	case s.restricts():
		return "!(" + surely + ")"
	case wanted:
		return surely
	}
	return surelyNot
}

// testHost asks about the host of the URL that is fetched. Gemini's web_fetch takes
// its URLs within a prompt, which is not read.
func (s *Statement) testHost(c *Condition) string {
	folded := *c
	if c.Op == opMatches || c.Op == opNot {
		folded.Values = []string{"(?i)" + c.Values[0]}
	}
	test := compare(&folded, "url(args.url).host", true)
	if s.restricts() {
		return `!has(args.url) || has(args.prompt) && tool.lowerAscii() != "webfetch" || ` + test
	}
	return `has(args.url) && (!has(args.prompt) || tool == "WebFetch") && ` + test
}

// testServer asks about the MCP server. The agent's own tools have none, which is
// known; a call whose server is not known may be of any.
func (s *Statement) testServer(c *Condition) string {
	if s.restricts() {
		return fmt.Sprintf("server == %s || %s || %s", quote(unknownServer), compare(c, "server", false),
			compare(c, "server.lowerAscii()", true))
	}
	return fmt.Sprintf("!(server in %s) && %s", list(append([]string{unknownServer}, hosts...)), c.surely("server"))
}

// testToolName asks whether the tool is one of some, under any of their names.
func (s *Statement) testToolName(c *Condition) string {
	// "not one of these" is sure only where what they might be is left out.
	wide := s.restricts() != (c.Op == opNotIn)
	var own, parts []string
	for _, value := range c.Values {
		server, tool, elsewhere := splitTool(value)
		switch {
		case !elsewhere || find(value) != nil:
			own = append(own, value)
		case wide:
			parts = append(parts, namedElsewhere(server, tool))
		case tool == all:
			parts = append(parts, "server == "+quote(server))
		default:
			parts = append(parts, "server == "+quote(server)+" && tool == "+quote(tool))
		}
	}
	switch {
	case len(own) == 0:
	case wide:
		parts = append(parts, "tool.lowerAscii() in "+list(restricted(own)))
	default:
		parts = append(parts, "server in "+list(hosts)+" && tool in "+list(permitted(own)))
	}
	one := strings.Join(parts, " || ")
	if c.Op == opNotIn {
		return "!(" + one + ")"
	}
	return one
}

// compare is the comparison of a subject with the condition's values. Folded: the
// subject is in small letters, so the values are too.
func compare(c *Condition, subject string, folded bool) string {
	values := c.Values
	pattern := c.Op == opMatches || c.Op == opNot
	if folded && pattern {
		values = []string{"(?i)" + c.Values[0]}
	}
	if folded && !pattern {
		values = make([]string, len(c.Values))
		for i, value := range c.Values {
			values[i] = strings.ToLower(value)
		}
	}
	switch c.Op {
	case opIn:
		return subject + " in " + list(values)
	case opNotIn:
		return "!(" + subject + " in " + list(values) + ")"
	case opMatches:
		return fmt.Sprintf("%s.matches(%s)", subject, quote(values[0]))
	case opNot:
		return fmt.Sprintf("!%s.matches(%s)", subject, quote(values[0]))
	case opStarts:
		return fmt.Sprintf("%s.startsWith(%s)", subject, quote(values[0]))
	default:
		return subject + " == " + quote(values[0])
	}
}
