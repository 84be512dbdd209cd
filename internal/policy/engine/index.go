package engine

import (
	"strings"

	"writ/internal/policy/document"
	"writ/internal/policy/glob"
)

// index finds the rules whose patterns name a tool. What it holds are places in
// Set.entries, in lists that are in order and without repeats.
//
// Patterns without a star, of which there are most, are found by one look into
// a map. The others are filed by server, and there by the text before the first
// star of their tool; what is filed so needs no look unless a tool begins with
// that text.
type index struct {
	exact   map[name][]int32
	servers map[string]*shelf
	globs   trie[*shelf] // by the text before the first star of the server
}

type name struct{ server, tool string }

// shelf is the patterns of one server, or of one pattern of servers.
type shelf struct {
	server string // the pattern
	tools  trie[*list]
}

// list is the rules of one pattern of tools.
type list struct {
	tool    string // the pattern
	entries []int32
}

func newIndex(entries []entry) *index {
	x := &index{exact: map[name][]int32{}, servers: map[string]*shelf{}}
	shelves := map[string]*shelf{}
	lists := map[document.Pattern]*list{}
	for i := range entries {
		for _, pattern := range entries[i].rule.Tools {
			server, tool := pattern.Split()
			if !strings.Contains(server+tool, "*") {
				at := name{server, tool}
				x.exact[at] = appendOnce(x.exact[at], int32(i))
				continue
			}
			l := lists[pattern]
			if l == nil {
				l = &list{tool: tool}
				lists[pattern] = l
				x.shelfFor(server, shelves).tools.add(beforeStar(tool), l)
			}
			l.entries = appendOnce(l.entries, int32(i))
		}
	}
	return x
}

// appendOnce keeps a list without repeats: entries come in order, so only the
// last can be the same.
func appendOnce(places []int32, place int32) []int32 {
	if n := len(places); n > 0 && places[n-1] == place {
		return places
	}
	return append(places, place)
}

func (x *index) shelfFor(server string, shelves map[string]*shelf) *shelf {
	s := shelves[server]
	if s != nil {
		return s
	}
	s = &shelf{server: server}
	shelves[server] = s
	if strings.Contains(server, "*") {
		x.globs.add(beforeStar(server), s)
	} else {
		x.servers[server] = s
	}
	return s
}

func beforeStar(pattern string) string {
	before, _, _ := strings.Cut(pattern, "*")
	return before
}

// find adds the lists of all patterns that name the tool. A rule may be in more
// than one.
func (x *index) find(server, tool string, into [][]int32) [][]int32 {
	if exact := x.exact[name{server, tool}]; exact != nil {
		into = append(into, exact)
	}
	if s := x.servers[server]; s != nil {
		into = s.find(tool, into)
	}
	x.globs.walk(server, func(s *shelf) {
		if glob.Match(s.server, server) {
			into = s.find(tool, into)
		}
	})
	return into
}

func (s *shelf) find(tool string, into [][]int32) [][]int32 {
	s.tools.walk(tool, func(l *list) {
		if glob.Match(l.tool, tool) {
			into = append(into, l.entries)
		}
	})
	return into
}
