package scan

import (
	"cmp"
	"slices"
	"strings"

	"writ/internal/mcp/definition"
)

// toolRef is a tool of one of several servers.
type toolRef struct {
	server *definition.Server
	index  int
}

func (r toolRef) tool() *definition.Tool { return &r.server.Tools[r.index] }

func (r toolRef) place() path {
	return path{member("tools"), item(r.index, r.tool().Name), member("name")}
}

// shown is the tool with its server, for people.
func (r toolRef) shown() string { return shownName(r.server.Name) + "." + shownName(r.tool().Name) }

// duplicates reports tools of one server with the same name.
func (s *scanner) duplicates() {
	first := make(map[string]int, len(s.server.Tools))
	for i := range s.server.Tools {
		s.work++
		name := s.server.Tools[i].Name
		if _, twice := first[name]; !twice {
			first[name] = i
			continue
		}
		s.place = append(s.place[:0], toolRef{s.server, i}.place()...)
		s.foundHere(nameCollision, 0, name)
	}
	s.place = s.place[:0]
	s.lookalikes()
}

// lookalikes reports tools of one server whose names only differ in what cannot be seen.
func (s *scanner) lookalikes() {
	first := make(map[string]int, len(s.server.Tools))
	for i := range s.server.Tools {
		name := s.server.Tools[i].Name
		s.work += len(name)
		skeleton := skeleton(name)
		if other, twice := first[skeleton]; twice && s.server.Tools[other].Name != name &&
			!plainlyDifferent(s.server.Tools[other].Name, name) {
			s.place = append(s.place[:0], toolRef{s.server, i}.place()...)
			s.foundHere(nameLookalike, 0, name)
		}
		first[skeleton] = i
	}
	s.place = s.place[:0]
}

// skeleton is a name as it looks: without case, separators, and what does not show.
func skeleton(name string) string {
	var b strings.Builder
	for _, r := range name {
		switch folded := fold(r); folded {
		case unspaced, '_', '-', '.', ' ', '/':
		case '0':
			b.WriteByte('o')
		case '1', 'l', '|':
			b.WriteByte('i')
		default:
			b.WriteRune(folded)
		}
	}
	return b.String()
}

// plainlyDifferent reports whether two names with the same skeleton are of the same letters, so that a person sees how
// they differ.
func plainlyDifferent(a, b string) bool {
	return !strings.ContainsFunc(a+b, func(r rune) bool { return r >= 0x80 })
}

// scanSet reports what servers do to each other.
func scanSet(c *collector, servers []*definition.Server) {
	if len(servers) > 1 {
		collisions(c, servers)
		shadowing(c, servers)
	}
	toxicFlows(c, servers)
}

func collisions(c *collector, servers []*definition.Server) {
	exact, looks := map[string]toolRef{}, map[string]toolRef{}
	for _, server := range servers {
		for i := range server.Tools {
			ref := toolRef{server, i}
			name := ref.tool().Name
			c.work += len(name)
			shape := skeleton(name)
			if other, twice := exact[name]; twice && other.server != server {
				c.pair(nameCollision, Medium, ref, other)
			} else if other, twice := looks[shape]; twice && other.server != server && other.tool().Name != name {
				severity := Medium
				if !plainlyDifferent(other.tool().Name, name) {
					severity = High
				}
				c.pair(nameLookalike, severity, ref, other)
			}
			exact[name], looks[shape] = ref, ref
		}
	}
	serverNames(c, servers)
}

// serverNames reports servers whose names look the same.
func serverNames(c *collector, servers []*definition.Server) {
	first := map[string]string{}
	for _, server := range servers {
		if server.Name == "" {
			continue
		}
		shape := skeleton(server.Name)
		if other, twice := first[shape]; twice {
			r := nameLookalike
			if other == server.Name {
				r = nameCollision
			}
			c.add(newFinding(finding{
				rule:     r,
				server:   server.Name,
				place:    path{member("name")},
				evidence: server.Name + " and " + other,
				fixed:    server.Name + "\x00" + other,
			}, ""), "")
		}
		first[shape] = server.Name
	}
}

// pair reports two tools of different servers.
func (c *collector) pair(r *Rule, severity Severity, one, other toolRef) {
	both := []string{one.shown(), other.shown()}
	slices.Sort(both)
	c.add(newFinding(finding{
		rule:     r,
		severity: severity,
		server:   one.server.Name,
		place:    one.place(),
		evidence: one.shown() + " and " + other.shown(),
		fixed:    strings.Join(both, "\x00"),
	}, ""), one.tool().Name)
}

// shadowing reports texts that speak about tools of other servers.
func shadowing(c *collector, servers []*definition.Server) {
	owners := map[string]*definition.Server{}
	for _, server := range servers {
		for i := range server.Tools {
			if name := server.Tools[i].Name; isTelling(name) {
				owners[name] = server
			}
		}
	}
	orders := newOrders(&c.work)
	for _, server := range servers {
		own := map[string]bool{}
		for i := range server.Tools {
			own[server.Tools[i].Name] = true
		}
		s := &scanner{collector: c, server: server}
		s.mentions(member("instructions"), "", server.Instructions, own, owners, orders)
		for i := range server.Tools {
			t := &server.Tools[i]
			s.place = path{member("tools"), item(i, t.Name)}
			s.mentions(member("description"), t.Name, t.Description, own, owners, orders)
			s.mentions(member("inputSchema"), t.Name, string(t.InputSchema), own, owners, orders)
			s.place = nil
		}
	}
}

// isTelling reports whether a name is so much of one that a text that holds it means the tool.
func isTelling(name string) bool {
	return len(name) >= 6 && (strings.ContainsAny(name, "_-.") || strings.ToLower(name) != name)
}

// mentions reports the tools of others that a text names.
func (s *scanner) mentions(
	at segment, owner, value string, own map[string]bool, owners map[string]*definition.Server, orders *orders,
) {
	s.owner = owner
	for from, name := range identifiers(value) {
		s.work++
		other := owners[name]
		if other == nil || other == s.server || own[name] {
			continue
		}
		severity := Low
		if orders.in(value) {
			severity = High
		}
		kept := len(s.place)
		s.place = append(s.place, at)
		s.found(&text{value: value}, toolShadowing, severity, from, from+len(name))
		s.place = s.place[:kept]
		return
	}
}

// identifiers are the words of a text that may be names of tools, with where they stand.
func identifiers(text string) func(yield func(int, string) bool) {
	return func(yield func(int, string) bool) {
		start := -1
		for i := 0; i <= len(text); i++ {
			inside := i < len(text) && (isWordByte(text[i]) || text[i] == '_' || text[i] == '-' || text[i] == '.')
			switch {
			case inside && start < 0:
				start = i
			case !inside && start >= 0:
				name := strings.TrimRight(text[start:i], ".-")
				if _, last, ok := cutLast(name); ok && !yield(start, last) || !yield(start, name) {
					return
				}
				start = -1
			}
		}
	}
}

// cutLast cuts a name at its last dot, as in server.tool.
func cutLast(name string) (before, after string, found bool) {
	i := strings.LastIndexByte(name, '.')
	if i < 0 {
		return "", "", false
	}
	return name[:i], name[i+1:], true
}

// orders tells texts that order something from others.
type orders struct {
	words *lexicon
	mask  concept
	work  *int
}

func newOrders(work *int) *orders {
	o := &orders{words: theLexicon(), work: work}
	for _, name := range []string{"must", "instead", "redirect", "ignore", "also", "before", "silently"} {
		o.mask |= o.words.concepts[name]
	}
	return o
}

// in reports whether a text has a word that orders.
func (o *orders) in(value string) (ordered bool) {
	tokenize(value, o.words, o.work, func(w word) {
		if n := o.words.roots[asWritten].next[w.text]; n != nil && n.means&o.mask != 0 {
			ordered = true
		}
	})
	return ordered
}

// byShown orders tools as people read them.
func byShown(a, b toolRef) int { return cmp.Compare(a.shown(), b.shown()) }
