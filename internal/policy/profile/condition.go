package profile

import (
	"regexp"
	"slices"
	"strings"

	"writ/internal/node"
)

// The fields of conditions.
const (
	toolName     = "tool.name"
	bashProgram  = "bash.program"
	bashRaw      = "bash.raw"
	bashRedirect = "bash.hasWriteRedirection"
	filePath     = "file.path"
	networkHost  = "network.host"
	mcpServer    = "mcp.server"
)

// The operators of conditions.
const (
	opEq        = "eq"
	opIn        = "in"
	opNotIn     = "not_in"
	opMatches   = "matches"
	opNot       = "not_matches"
	opStarts    = "starts_with"
	opWorkspace = "within_workspace"
)

var (
	fieldWords = []string{toolName, bashProgram, bashRaw, bashRedirect, filePath, networkHost, mcpServer}
	opWords    = []string{opEq, opIn, opNotIn, opMatches, opNot, opStarts, opWorkspace}
)

// opsOf are the operators of each field. A tool has several names, of which a pattern
// would miss some.
var opsOf = map[string][]string{
	toolName:     {opEq, opIn, opNotIn},
	bashProgram:  {opEq, opIn, opNotIn, opMatches, opNot, opStarts},
	bashRaw:      {opEq, opIn, opNotIn, opMatches, opNot, opStarts},
	bashRedirect: {opEq},
	filePath:     {opEq, opIn, opNotIn, opMatches, opNot, opStarts, opWorkspace},
	networkHost:  {opEq, opIn, opNotIn, opMatches, opNot, opStarts},
	mcpServer:    {opEq, opIn, opNotIn, opMatches, opNot, opStarts},
}

func readCondition(v *node.Value) Condition {
	m := v.Members("field", "op", "value")
	c := Condition{Field: m.Need("field").OneOf(fieldWords...), Op: m.Need("op").OneOf(opWords...)}
	if c.Field != "" && c.Op != "" && !slices.Contains(opsOf[c.Field], c.Op) {
		m.Get("op").Problem("does not work with %s, which takes %s", c.Field, node.Words(opsOf[c.Field]))
		c.Op = ""
	}
	if c.Field == "" || c.Op == "" {
		return c
	}
	value := m.Get("value")
	switch {
	case c.Op == opWorkspace && value == nil:
	case value == nil:
		m.Need("value")
	case c.Op == opWorkspace || c.Field == bashRedirect:
		c.Bool = new(value.Bool())
	case c.Op == opIn || c.Op == opNotIn:
		c.List = true
		for _, item := range value.NeedItems(MaxNames, "must hold at least one text") {
			c.Values = append(c.Values, c.readValue(item))
		}
	default:
		c.Values = []string{c.readValue(value)}
	}
	return c
}

var hostName = regexp.MustCompile(`^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$`)

// readValue reads one text that the field is compared with.
func (c *Condition) readValue(v *node.Value) string {
	text, ok := v.Text()
	pattern := c.Op == opMatches || c.Op == opNot
	switch {
	case !ok:
	case text == "" || len(text) > MaxValue:
		v.Problem("must be 1 to %d bytes", MaxValue)
	case strings.ContainsFunc(text, node.Invisible):
		v.Problem("must not hold control characters or others that do not show")
	case pattern:
		if _, err := regexp.Compile(text); err != nil {
			v.Problem("must be an RE2 regular expression, which has no look-around and no back references")
		}
	default:
		if problem := c.checkValue(text); problem != "" {
			v.Problem("%s", problem)
		}
	}
	return text
}

// checkValue is what is wrong with a text that is not a pattern, if anything.
func (c *Condition) checkValue(text string) string {
	switch c.Field {
	case toolName:
		if _, _, ok := splitTool(text); ok {
			return ""
		}
		if text == all {
			return "must be the name of a tool: to mean every tool, use * in the action"
		}
		return checkName(toolAction, text)
	case bashProgram:
		return checkProgram(text)
	case mcpServer:
		return checkServer(text)
	case networkHost:
		if c.Op != opStarts && !hostName.MatchString(text) {
			return "must be a host name; use matches for a pattern"
		}
	}
	return ""
}
