package toolname

import (
	"slices"
	"strings"
)

// Naming says how sure it is that a call is of a name.
type Naming uint8

// The ways in which a name comes to a call.
const (
	Certain Naming = iota // the client, its plan or the name itself says it
	Joined                // the harness joined server and tool so that nobody can tell them apart
	Reading               // one way to take a name apart
	Guess                 // a way to take a name apart that may simply be a tool's
	Claimed               // another source than the call's own says it: a rule about it can only restrict
)

// Candidate is a name that a call may be of.
type Candidate struct {
	Name
	Naming Naming
}

// Candidates are all names that a call may be of where no plan says, each once. The first is certain or joined. Server
// is the one that the client states, if it does.
func Candidates(called, server, source string) []Candidate {
	if IsStamp(server) && !IsBare(called) {
		return appendNew(Candidates(called, "", server), Candidate{Name{server, called}, Claimed})
	}
	first := Candidate{Naming: Certain}
	first.Server, first.Tool = Resolve(called, server, source)
	if first.Server == Unknown && server == "" {
		first.Naming = Joined
	}
	if Harness(source) == "copilot" && IsBare(called) { // it joins by a dash
		for i, c := range called {
			if c == '-' && i > 0 && i < len(called)-1 {
				first := []Candidate{first}
				return Others(appendNew(first, Candidate{Name{called[:i], called[i+1:]}, Reading}), called)
			}
		}
	}
	return Others([]Candidate{first}, called)
}

// aliases are earlier names under which the Gemini CLI still runs a tool of its own, and the present ones.
var aliases = []struct{ earlier, present string }{{"search_file_content", "grep_search"}}

// Alias is the other name of one of the host's own tools; false: it has none. It is the same tool, so a rule about
// either restricts it.
func (n Name) Alias() (other Name, found bool) {
	for _, a := range aliases {
		switch {
		case n.Server != gemini:
		case n.Tool == a.earlier:
			return Name{gemini, a.present}, true
		case n.Tool == a.present:
			return Name{gemini, a.earlier}, true
		}
	}
	return Name{}, false
}

func withAliases(candidates []Candidate) []Candidate {
	for _, c := range candidates {
		if other, found := c.Alias(); found {
			candidates = appendNew(candidates, Candidate{other, Claimed})
		}
	}
	return candidates
}

// Others adds the further names that a called name may stand for.
func Others(candidates []Candidate, called string) []Candidate {
	candidates = withAliases(candidates)
	for _, n := range Readings(called) {
		candidates = appendNew(candidates, Candidate{n, Reading})
		for _, own := range ownNames(n) {
			candidates = appendNew(candidates, Candidate{own, Claimed})
		}
	}
	for _, n := range Guesses(called) {
		candidates = appendNew(candidates, Candidate{n, Guess})
	}
	return candidates
}

// ownNames are the names that a server of a plugin may have by itself, if Claude Code put the plugin's before it. A
// plugin may call its server like one that is trusted, so they are only claims.
func ownNames(n Name) (found []Name) {
	rest, ok := strings.CutPrefix(n.Server, pluginMark)
	for i, c := range rest {
		if ok && c == '_' {
			found = add(found, rest[i+1:], n.Tool)
		}
	}
	return found
}

func appendNew(candidates []Candidate, c Candidate) []Candidate {
	if slices.ContainsFunc(candidates, func(other Candidate) bool { return other.Name == c.Name }) {
		return candidates
	}
	return append(candidates, c)
}

// CalledFor are the further names of a call whose host says which tool it is, from the name that was called. If that is
// the name which the harness gives to the tool, its other readings can only restrict. Else the call is both, and
// contradicts is true.
func CalledFor(host Name, called, source string) (candidates []Candidate, contradicts bool) {
	candidates = Candidates(called, "", source) // first the harness's own tool, if the name has no server
	if !isNameOf(called, host) {
		return candidates, true
	}
	for i := range candidates {
		candidates[i].Naming = Claimed
	}
	for _, server := range append(Normal(host.Server), host.Server) {
		for _, tool := range append(Normal(host.Tool), host.Tool) {
			candidates = append(candidates, Candidate{Name{server, tool}, Claimed})
		}
	}
	return candidates, false
}

// isNameOf reports whether a called name is one that a harness gives to a tool.
func isNameOf(called string, n Name) bool {
	if called == n.Tool || called == Gemini(n) || called == Claude(n) || called == n.Server+double+n.Tool {
		return true
	}
	return len(called) == len(n.Server)+1+len(n.Tool) && strings.HasPrefix(called, n.Server) &&
		strings.HasSuffix(called, n.Tool) && strings.ContainsRune(guessed, rune(called[len(n.Server)]))
}
