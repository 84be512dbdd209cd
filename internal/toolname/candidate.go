package toolname

import "slices"

// Naming says how sure it is that a call is of a name.
type Naming uint8

// The ways in which a name comes to a call.
const (
	Certain Naming = iota // the client, its plan or the name itself says it
	Joined                // the harness joined server and tool so that nobody can tell them apart
	Reading               // one way to take a name apart
	Guess                 // a way to take a name apart that may simply be a tool's
	Stamped               // a plugin put its own name in the place of the server
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
		stamped := Candidate{Name{server, called}, Stamped}
		return appendNew(Candidates(called, "", server), stamped)
	}
	first := Candidate{Naming: Certain}
	first.Server, first.Tool = Resolve(called, server, source)
	if first.Server == Unknown && server == "" {
		first.Naming = Joined
	}
	return Others([]Candidate{first}, called)
}

// Others adds the further names that a called name may stand for.
func Others(candidates []Candidate, called string) []Candidate {
	for _, n := range Readings(called) {
		candidates = appendNew(candidates, Candidate{n, Reading})
	}
	for _, n := range Guesses(called) {
		candidates = appendNew(candidates, Candidate{n, Guess})
	}
	return candidates
}

func appendNew(candidates []Candidate, c Candidate) []Candidate {
	if slices.ContainsFunc(candidates, func(other Candidate) bool { return other.Name == c.Name }) {
		return candidates
	}
	return append(candidates, c)
}

// Agrees reports whether a called name is one that a harness gives to this tool.
func Agrees(called string, n Name) bool {
	return called == n.Tool || called == Gemini(n) || called == Claude(n) ||
		slices.Contains(Readings(called), n) || slices.Contains(Guesses(called), n)
}
