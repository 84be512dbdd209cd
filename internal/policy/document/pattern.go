package document

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"

	"writ/internal/glob"
	"writ/internal/node"
)

// Pattern names tools: "server.tool", split at the first dot. A star in either part
// stands for any run of characters, and "*" alone for every tool.
type Pattern string

// Split is the pattern's server part and tool part.
func (p Pattern) Split() (server, tool string) {
	if p == "*" {
		return "*", "*"
	}
	server, tool, _ = strings.Cut(string(p), ".")
	return server, tool
}

// Matches reports whether the pattern names a tool. For the parts of another pattern it
// reports whether this one names every tool that the other does: a star in them is a
// character that only a star matches.
func (p Pattern) Matches(server, tool string) bool {
	ours, rest := p.Split()
	return glob.Match(ours, server) && glob.Match(rest, tool)
}

var serverPart = regexp.MustCompile(`^[A-Za-z0-9_*-]+$`)

// Check returns what is wrong with a pattern.
func (p Pattern) Check() error {
	server, tool := p.Split()
	switch {
	case len(p) > MaxPattern:
		return fmt.Errorf("must be at most %d bytes", MaxPattern)
	case !strings.Contains(string(p), ".") && p != "*":
		return fmt.Errorf("must be server.tool, as bank.send_money, bank.* or *.send_money, or * for every tool")
	case !serverPart.MatchString(server):
		return fmt.Errorf("must have letters, digits, dashes, underscores and stars before the first dot")
	case tool == "":
		return fmt.Errorf("must name a tool after the first dot, or * for all of the server")
	case strings.ContainsFunc(tool, func(r rune) bool { return unicode.IsSpace(r) || node.Invisible(r) }):
		return fmt.Errorf("must not hold spaces, control characters or others that do not show")
	}
	return nil
}

func readPatterns(v *node.Value) []Pattern {
	items := v.NeedItems(MaxTools, "must name at least one tool; * is every tool")
	patterns := make([]Pattern, 0, len(items))
	seen := make(map[string]bool, len(items))
	for _, item := range items {
		text, ok := item.Text()
		if !ok {
			continue
		}
		if err := Pattern(text).Check(); err != nil {
			item.Problem("%v", err)
			continue
		}
		if seen[text] {
			item.Problem("is listed twice")
		}
		seen[text] = true
		patterns = append(patterns, Pattern(text))
	}
	return patterns
}
