package plan

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// Fit finds the steps a call fits. A call that states no server fits steps on
// any server; what is then decided must hold for all of them.
func (p *Plan) Fit(call Call) Result {
	name := compared(call.Tool)
	var steps []int
	near := -1 // the first step with the tool but not the arguments
	for i := range p.Steps {
		s := &p.Steps[i]
		if !s.names(call.Server, name) {
			continue
		}
		if !call.NoArguments && !s.takes(call.Arguments) {
			if near < 0 {
				near = i
			}
			continue
		}
		steps = append(steps, i)
	}
	switch {
	case len(steps) > 0:
		return Result{OK: true, Steps: steps}
	case near >= 0:
		return refuse(OtherArguments, p.Steps[near].mismatch(near, call.Arguments))
	}
	return refuse(NotInPlan, "not in the plan; "+p.allows())
}

// Servers are those of the steps, each once: what is decided about a call that
// fits them must hold for all.
func (p *Plan) Servers(steps []int) []string {
	var servers []string
	for _, i := range steps {
		if s := p.Steps[i].Server; !slices.Contains(servers, s) {
			servers = append(servers, s)
		}
	}
	return servers
}

// names reports whether the step is about this server and tool. The name may
// carry its server in front, as some clients write it.
func (s *Step) names(server, name string) bool {
	if server != "" && server != s.Server {
		return false
	}
	if s.sameTool(name) {
		return true
	}
	before, tool, ok := splitName(name)
	return ok && before == compared(s.Server) && s.sameTool(tool)
}

// Name is a server and tool that policies are asked about.
type Name struct {
	Server, Tool string
	// Restricts: rules about it count only where they are stricter.
	Restricts bool
}

// Names are all that a called name which fits the step may be of: as the plan
// spells it and as the call does, for plans compare names without case and
// policies with it; and what the name itself says it is of (see OwnName).
func (s *Step) Names(called string) []Name {
	names := append(make([]Name, 0, 3), Name{Server: s.Server, Tool: s.Tool})
	before, after, ok := OwnName(called)
	_, tool := ResolveName(strings.TrimSpace(called), s.Server, "")
	if ok && before == s.Server {
		tool = after
	}
	if tool != s.Tool {
		names = append(names, Name{Server: s.Server, Tool: tool})
	}
	if ok && before != s.Server {
		names = append(names, Name{Server: before, Tool: after, Restricts: true})
	}
	return names
}

// takes reports whether the arguments are those the step gives.
func (s *Step) takes(args Arguments) bool {
	for i := range s.Given {
		value, ok := args.find(s.Given[i].Key)
		if !ok || !s.Given[i].fits(value) {
			return false
		}
	}
	if s.Strict {
		for i := range args.members {
			if !s.gives(args.members[i].key) {
				return false
			}
		}
	}
	return true
}

// gives reports whether the step says anything about an argument.
func (s *Step) gives(key string) bool {
	_, ok := slices.BinarySearchFunc(s.Given, key, func(c Constraint, key string) int {
		return strings.Compare(c.Key, key)
	})
	return ok
}

// How much of a plan a reason tells.
const (
	toldTools = 10
	toldKeys  = 5
	toldName  = 60 // bytes
)

// mismatch says which arguments differ, by name: values may be secrets.
func (s *Step) mismatch(i int, args Arguments) string {
	var other, extra []string
	for _, c := range s.Given {
		if value, ok := args.find(c.Key); !ok || !c.fits(value) {
			other = append(other, c.Key)
		}
	}
	for _, m := range args.members {
		if s.Strict && !s.gives(m.key) {
			extra = append(extra, m.key)
		}
	}
	reason := fmt.Sprintf("the arguments are not those of the plan (step %d, %s)", i, told(s.Tool))
	if len(other) > 0 {
		reason += "; the plan gives another value for " + enumerate(other, toldKeys)
	}
	if len(extra) > 0 {
		reason += "; the plan does not allow " + enumerate(extra, toldKeys)
	}
	return reason + ": call as planned, or declare a new plan"
}

// allows says what a plan allows, for a model that left it.
func (p *Plan) allows() string {
	if len(p.Steps) == 0 {
		return "the plan allows nothing, as it has no steps: declare a plan that names the tools"
	}
	var tools []string
	for i := range p.Steps {
		if name := p.Steps[i].Server + "." + p.Steps[i].Tool; !slices.Contains(tools, name) {
			tools = append(tools, name)
		}
	}
	return "the plan allows " + enumerate(tools, toldTools)
}

// enumerate tells the first of the names and how many more there are.
func enumerate(names []string, most int) string {
	var b strings.Builder
	for i, name := range names {
		if i == most {
			fmt.Fprintf(&b, " and %d more", len(names)-most)
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(told(name))
	}
	return b.String()
}

// told is a name as a reason shows it. Names of arguments may hold anything: what no
// database takes as text, or would change what a terminal shows, is replaced.
func told(name string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return unicode.ReplacementChar
		}
		return r
	}, cut(name, toldName))
}
