package engine

import (
	"slices"
	"strings"

	"writ/internal/glob"
	"writ/internal/policy/document"
	"writ/internal/toolname"
	"writ/internal/verdict"
)

// index finds the rules whose patterns name a tool. It holds positions in
// ranking.entries, in sorted lists without repeats.
//
// Most patterns have no star and are found by one lookup in a map. The others are
// grouped by server, and there in a trie by the text before the first star of their
// tool, so that only patterns whose text the tool begins with are tried.
type index struct {
	exact   map[name][]int32
	servers map[string]*serverRules // by pattern
	globs   trie[*serverRules]      // those with a star, by the text before the first one

	named    map[string]bool // servers that rules name
	patterns []string        // of servers that rules name by a pattern other than *
}

type name struct{ server, tool string }

// serverRules are the rules of one pattern of servers whose patterns have a star.
type serverRules struct {
	server string // the pattern
	tools  trie[*toolRules]
}

type toolRules struct {
	tool    string // the pattern
	entries []int32
}

func newIndex(entries []entry) *index {
	x := &index{exact: map[name][]int32{}, servers: map[string]*serverRules{}, named: map[string]bool{}}
	lists := map[document.Pattern]*toolRules{}
	for i := range entries {
		for _, pattern := range entries[i].rule.Tools {
			server, tool := pattern.Split()
			x.nameServer(server)
			if !entries[i].renamed {
				x.add(lists, server, tool, int32(i))
			}
			if entries[i].effect == verdict.Allow {
				continue
			}
			for _, form := range toolname.Normal(tool) { // a harness changed the name: a rule that restricts still does
				x.add(lists, server, form, int32(i))
			}
		}
	}
	return x
}

func (x *index) add(lists map[document.Pattern]*toolRules, server, tool string, entry int32) {
	if !strings.Contains(server+tool, "*") {
		key := name{server, tool}
		x.exact[key] = appendOnce(x.exact[key], entry)
		return
	}
	pattern := document.Pattern(server + "." + tool)
	l := lists[pattern]
	if l == nil {
		l = &toolRules{tool: tool}
		lists[pattern] = l
		x.rulesOf(server).tools.add(beforeStar(tool), l)
	}
	l.entries = appendOnce(l.entries, entry)
}

func (x *index) nameServer(server string) {
	switch {
	case server == "*" || x.named[server]:
	case strings.Contains(server, "*"):
		if !slices.Contains(x.patterns, server) {
			x.patterns = append(x.patterns, server)
		}
	default:
		x.named[server] = true
	}
}

// appendOnce keeps a list without repeats: entries come in order, so only the
// last can be the same.
func appendOnce(list []int32, entry int32) []int32 {
	if n := len(list); n > 0 && list[n-1] == entry {
		return list
	}
	return append(list, entry)
}

func (x *index) rulesOf(server string) *serverRules {
	s := x.servers[server]
	if s == nil {
		s = &serverRules{server: server}
		x.servers[server] = s
		if strings.Contains(server, "*") {
			x.globs.add(beforeStar(server), s)
		}
	}
	return s
}

func beforeStar(pattern string) string {
	before, _, _ := strings.Cut(pattern, "*")
	return before
}

// find appends the lists of all patterns that name the tool. A rule may be in
// more than one.
func (x *index) find(server, tool string, into [][]int32) [][]int32 {
	if exact := x.exact[name{server, tool}]; exact != nil {
		into = append(into, exact)
	}
	if s := x.servers[server]; s != nil {
		into = s.find(tool, into)
	}
	x.globs.walk(server, func(s *serverRules) {
		if glob.Match(s.server, server) {
			into = s.find(tool, into)
		}
	})
	return into
}

func (s *serverRules) find(tool string, into [][]int32) [][]int32 {
	s.tools.walk(tool, func(l *toolRules) {
		if glob.Match(l.tool, tool) {
			into = append(into, l.entries)
		}
	})
	return into
}
