package profile

import (
	"fmt"
	"slices"
	"strings"
)

var (
	// commandNames are the arguments that hold a command to run.
	commandNames = []string{"command", "cmd"}
	// unreadable are tools that run something other than a command in a shell that we
	// can read.
	unreadable = []string{"js_repl", "powershell", "write_bash", "write_stdin"}
)

// detour finds arguments that make a command run something other than it says:
// environment variables, and a shell that does not read it as we do. Codex accepts any
// program as the shell.
const detour = `args.exists(k, v, k in ["env", "environment"] || k == "shell" && (type(v) != string || !v.matches("^(/bin/|/usr/bin/)?(ba|z|da)?sh$")))`

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

// overCommands tests every command of the call. For a permit all must pass; for a
// statement that restricts, one is enough.
func (s *Statement) overCommands(c *Condition) string {
	names := list(commandNames)
	if s.restricts() {
		return fmt.Sprintf("!args.exists(k, v, k in %s) || args.exists(k, v, k in %s && (type(v) != string || %s))",
			names, names, s.testCommand(c))
	}
	return fmt.Sprintf("args.exists(k, v, k in %s) && args.all(k, v, !(k in %s) || type(v) == string && %s)", names,
		names, s.testCommand(c))
}

// readable joins the tests of commands, and counts it against the call if something
// other than the command may run.
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

// testCommand tests one command, v.
func (s *Statement) testCommand(c *Condition) string {
	switch {
	case c.Field == bashProgram && s.restricts():
		return fmt.Sprintf("shell(v).dynamic || %s.exists(p, %s || %s)", c.mayRun(), compare(c, "p", false),
			compare(c, "p.lowerAscii()", true))
	case c.Field == bashProgram:
		return fmt.Sprintf("!shell(v).dynamic && shell(v).programs.size() > 0 && shell(v).programs.all(p, %s)",
			c.surely("p"))
	case c.Field == bashRedirect:
		return s.testRedirect(*c.Bool)
	case s.restricts():
		return fmt.Sprintf("%s || %s", compare(c, "v", false), compare(c, "v.trim()", false))
	case c.Op == opStarts || c.Op == opMatches:
		// A command that begins or matches as permitted must not continue with another.
		return fmt.Sprintf("!shell(v).dynamic && shell(v).programs.size() == 1 && %s && %s", redirectsNothing,
			compare(c, "v", false))
	}
	if c.negated() { // spaces around a command do not make it another one
		return fmt.Sprintf("!shell(v).dynamic && %s && %s", compare(c, "v", false), compare(c, "v.trim()", false))
	}
	return fmt.Sprintf("!shell(v).dynamic && %s", compare(c, "v", false))
}

// mayRun are the programs that a statement which restricts looks at. What a program may start that nobody described
// counts too, unless all programs but some are restricted: one of those may be named just for what it starts.
func (c *Condition) mayRun() string {
	if c.negated() {
		return "shell(v).programs"
	}
	return "(shell(v).programs + shell(v).mayRun)"
}

func (c *Condition) negated() bool { return c.Op == opNot || c.Op == opNotIn }

// surely compares a name for a permit. A negated condition must hold for the name in
// lower case too.
func (c *Condition) surely(subject string) string {
	if c.negated() {
		return compare(c, subject, false) + " && " + compare(c, subject+".lowerAscii()", true)
	}
	return compare(c, subject, false)
}

const (
	// installed tests that programs are called by name, or by a path in the system's
	// folders. An agent can write a file of any name and call it by its path.
	installed = `shell(v).paths.all(p, p.matches("^/(usr/(local/)?)?s?bin/[^/]+$"))`
	// redirectsNothing tests that a command's output goes to no file.
	redirectsNothing = `(shell(v).writes.size() == 0 || !v.contains(">"))`
)

// testRedirect tests whether a command writes files. It certainly does if its text has
// a redirection and the shell reader finds what it writes, and certainly does not if
// neither is so.
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

// testHost tests the host of the URL that is fetched. Gemini's web_fetch takes URLs
// in a prompt, which we do not read.
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

// testServer tests the MCP server. The agent's own tools certainly have none. A call
// whose server is unknown may be of any.
func (s *Statement) testServer(c *Condition) string {
	if s.restricts() {
		return fmt.Sprintf("server == %s || %s || %s", quote(unknownServer), compare(c, "server", false),
			compare(c, "server.lowerAscii()", true))
	}
	return fmt.Sprintf("!(server in %s) && %s", list(append([]string{unknownServer}, hosts...)), c.surely("server"))
}

// testToolName tests whether the tool is one of some, under any of their names.
func (s *Statement) testToolName(c *Condition) string {
	// A permit for "not these" must leave out everything that may be one of them.
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

// compare compares a subject with the condition's values. If folded, the subject is in
// lower case.
func compare(c *Condition, subject string, folded bool) string {
	values := c.Values
	if folded {
		values = make([]string, len(c.Values))
		for i, value := range c.Values {
			values[i] = strings.ToLower(value)
			if c.Op == opMatches || c.Op == opNot {
				values[i] = "(?i)" + value
			}
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
