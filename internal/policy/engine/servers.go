package engine

import (
	"slices"
	"strings"

	"writ/internal/policy/glob"
	"writ/internal/toolname"
)

// NamesServer reports whether a rule of any policy names a server, itself or by a pattern that is not that of every
// server.
func (s *Set) NamesServer(server string) bool {
	return s.index.named[server] ||
		slices.ContainsFunc(s.index.patterns, func(pattern string) bool { return glob.Match(pattern, server) })
}

// cutNames finds tools that rules name under names which a harness cut or changed, so that no reading finds them.
type cutNames struct {
	tools   map[string][]toolname.Name // by the harness's name
	servers []string                   // whose own names are cut
}

func (c *cutNames) add(server, tool string) {
	if strings.Contains(server, "*") {
		return
	}
	n := toolname.Name{Server: server, Tool: tool}
	joined := toolname.Gemini(n)
	switch {
	case strings.Contains(tool, "*"):
		if toolname.IsCutWithin(server) && !slices.Contains(c.servers, server) {
			c.servers = append(c.servers, server)
		}
	case !slices.Contains(toolname.Readings(joined), n) && !slices.Contains(c.tools[joined], n):
		if c.tools == nil {
			c.tools = map[string][]toolname.Name{}
		}
		c.tools[joined] = append(c.tools[joined], n)
	}
}

// of are the tools that a called name may stand for.
func (c *cutNames) of(called string) []toolname.Name {
	names := slices.Clone(c.tools[called])
	for _, server := range c.servers {
		if toolname.MayBeOf(called, server) {
			names = append(names, toolname.Name{Server: server, Tool: called})
		}
	}
	return names
}
