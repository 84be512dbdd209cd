package profile

import (
	"regexp"
	"slices"
	"strings"

	"writ/internal/policy/document/node"
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

// opsOf are the operators that a field can be asked with. A tool's name is one of
// several that mean the same tool, so that a pattern over it would miss some.
var opsOf = map[string][]string{
	toolName:     {opEq, opIn, opNotIn},
	bashProgram:  {opEq, opIn, opNotIn, opMatches, opNot, opStarts},
	bashRaw:      {opEq, opIn, opNotIn, opMatches, opNot, opStarts},
	bashRedirect: {opEq},
	filePath:     {opEq, opIn, opNotIn, opMatches, opNot, opStarts, opWorkspace},
	networkHost:  {opEq, opIn, opNotIn, opMatches, opNot, opStarts},
	mcpServer:    {opEq, opIn, opNotIn, opMatches, opNot, opStarts},
}

func (r *reader) condition(v *node.Value) Condition {
	m := v.Members("field", "op", "value")
	var c Condition
	if field := m.Need("field"); field != nil {
		c.Field = field.OneOf(fieldWords...)
	}
	if op := m.Need("op"); op != nil {
		c.Op = op.OneOf(opWords...)
		if c.Field != "" && c.Op != "" && !slices.Contains(opsOf[c.Field], c.Op) {
			op.Problem("is not for %s, which takes %s", c.Field, node.Words(opsOf[c.Field]))
			c.Op = ""
		}
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
		truth := value.Bool()
		c.Truth = &truth
	case c.Op == opIn || c.Op == opNotIn:
		c.List = true
		c.Values = r.values(&c, value)
	default:
		c.Values = []string{r.value(&c, value)}
	}
	return c
}

func (r *reader) values(c *Condition, v *node.Value) []string {
	items := v.Items(MaxNames)
	if v.Node().Kind == node.List && len(v.Node().Items) == 0 {
		v.Problem("must hold at least one text")
	}
	var values []string
	for _, item := range items {
		values = append(values, r.value(c, item))
	}
	return values
}

var hostName = regexp.MustCompile(`^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$`)

// value reads one text that a field is compared with.
func (r *reader) value(c *Condition, v *node.Value) string {
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
			v.Problem("must be a regular expression of RE2, which has no look-around and no back references")
		}
	default:
		if problem := checkValue(c, text); problem != "" {
			v.Problem("%s", problem)
		}
	}
	return text
}

// checkValue says what is wrong with a text that is compared as it is.
func checkValue(c *Condition, text string) string {
	switch c.Field {
	case toolName:
		if _, _, ok := splitTool(text); ok {
			return ""
		}
		if text == all {
			return "must be the name of a tool: the action says that every tool is meant"
		}
		return checkName(toolAction, text)
	case bashProgram:
		return checkProgram(text)
	case mcpServer:
		return checkServer(text)
	case networkHost:
		if c.Op != opStarts && !hostName.MatchString(text) {
			return "must be the name of a host alone; use matches for a pattern"
		}
	}
	return ""
}
