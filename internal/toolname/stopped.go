package toolname

import (
	"slices"
	"strings"
)

// StoppedServer are the names of a server that somebody stopped: as it was given, and as harnesses write it.
func StoppedServer(subject string) []string { return append([]string{subject}, Normal(subject)...) }

// StoppedTool are the names of a tool that somebody stopped, alone or behind its server and a dot: as it was given, as
// every harness' name is read, and as harnesses write its parts.
func StoppedTool(subject string) []string {
	all := append([]string{subject}, Normal(subject)...)
	read := Candidates(subject, "", "")
	if server, tool, ok := strings.Cut(subject, "."); ok {
		read = append(read, Candidate{Name: Name{Server: server, Tool: tool}})
	}
	for _, n := range read {
		for _, server := range append(Normal(n.Server), n.Server) {
			for _, tool := range append(Normal(n.Tool), n.Tool) {
				all = append(all, server+"."+tool)
			}
		}
	}
	return all
}

// IsStopped reports whether a tool of a server is among the names of what was stopped. Whoever decides and whoever
// verifies the log ask this.
func IsStopped(servers, tools []string, server, tool string) bool {
	same := func(name string) func(string) bool {
		return func(stopped string) bool { return strings.EqualFold(stopped, name) }
	}
	return slices.ContainsFunc(servers, same(server)) || slices.ContainsFunc(tools, same(tool)) ||
		slices.ContainsFunc(tools, same(server+"."+tool))
}

// Meant is what the name of a tool may mean: a tool, under one of its names, of a server, under one of its names. No
// names of servers: of any.
type Meant struct{ Servers, Tools []string }

// MeantBy is what somebody may mean who stops a tool by a name, with the names under which decisions record it.
func MeantBy(subject string) []Meant {
	meant := []Meant{{Tools: append([]string{subject}, Normal(subject)...)}}
	var read []Name
	for _, c := range Candidates(subject, "", "") {
		if c.Server != Local && c.Server != Unknown { // it names no server: the first of what is meant
			read = append(read, c.Name)
		}
	}
	if server, tool, ok := strings.Cut(subject, "."); ok {
		read = append(read, Name{server, tool})
	}
	for _, n := range read {
		tools := append([]string{n.Tool, Claude(n), Gemini(n), n.Server + double + n.Tool}, Normal(n.Tool)...)
		meant = append(meant, Meant{StoppedServer(n.Server), tools})
	}
	return meant
}
