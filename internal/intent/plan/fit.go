package plan

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"writ/internal/toolname"
)

// Fit finds the steps that a call fits. A call that states no server fits steps on any
// server, and the decision must hold for all of them.
func (p *Plan) Fit(call Call) Result {
	name := compared(call.Tool)
	var steps []int
	near := -1 // the first step with the tool but not the arguments
	for i := range p.Steps {
		s := &p.Steps[i]
		if !s.names(call.Server, call.Tool, name) {
			continue
		}
		if !call.NoArguments && !(call.GivenGround && !s.Strict) && !s.takes(call.Arguments) {
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
	return refuse(NotInPlan, "not in the plan; "+p.allows()+p.namedTwice(call.Server, name))
}

// namedTwice says what to call where the name of a tool begins with the server that is stated beside it: the tools that
// the plan allows look just like that.
func (p *Plan) namedTwice(server, name string) string {
	rest, ok := strings.CutPrefix(name, compared(server)+toolname.Dot)
	if !ok || server == "" {
		return ""
	}
	for i := range p.Steps {
		if s := &p.Steps[i]; s.Server == server && s.sameTool(rest) {
			return fmt.Sprintf("; the call names its server twice: with the server %s, the tool is %s",
				shown(server), shown(s.Tool))
		}
	}
	return ""
}

// Servers are the servers of the steps, each once.
func (p *Plan) Servers(steps []int) []string {
	var servers []string
	for _, i := range steps {
		if s := p.Steps[i].Server; !slices.Contains(servers, s) {
			servers = append(servers, s)
		}
	}
	return servers
}

// names reports whether the step has this server and tool: as it is called, and as names are compared, made once for
// all steps. Harnesses write the server in front of the name.
func (s *Step) names(server, called, name string) bool {
	if s.Joins(server, name) || server == "" && s.DottedAs(name) {
		return true
	}
	switch {
	case server != "" && server != s.Server:
		return false
	case server != "" && s.dotted(called) != "":
		return false // where the server is stated, this is the whole name of another tool
	}
	return s.sameTool(name) || s.reading(called) != ""
}

// Joins reports whether the step writes a tool of an MCP server in one name: as policies write it, with a dot, or as
// models of the Gemini CLI know it. Where its server ends such a name does not show, but the host does.
func (s *Step) Joins(server, tool string) bool {
	if server != "" && s.Dotted() && s.name == compared(server+toolname.Dot+strings.TrimSpace(tool)) {
		return true
	}
	if server == "" || s.Server != toolname.Unknown && s.Server != server || !toolname.IsGemini(s.name) {
		return false
	}
	return s.name == compared(toolname.Gemini(toolname.Name{Server: server, Tool: strings.TrimSpace(tool)}))
}

// Dotted reports whether the step names no server, and its tool perhaps in the form of policies: server.tool.
func (s *Step) Dotted() bool {
	return s.Server == toolname.Local && strings.Contains(s.Tool, toolname.Dot)
}

// DottedAs reports whether a called name is the one that the step has with a dot, however a harness joins it.
func (s *Step) DottedAs(called string) bool {
	if !s.Dotted() {
		return false
	}
	return compared(called) == s.name || slices.ContainsFunc(toolname.Readings(called), func(n toolname.Name) bool {
		return compared(n.Server+toolname.Dot+n.Tool) == s.name
	})
}

// reading is the tool of the step's server that a joined name stands for, as the name spells it; empty: it is not the
// step's. Only the case of the tool may differ: servers of other case are others, however a call names them.
func (s *Step) reading(called string) string {
	if tool := s.dotted(called); tool != "" {
		return tool
	}
	for _, n := range toolname.Readings(called) {
		if n.Server == s.Server && s.sameTool(compared(n.Tool)) {
			return n.Tool
		}
	}
	return ""
}

// dotted is the tool of the step's server that server.tool stands for, as the name spells it; empty: it is not the
// step's.
func (s *Step) dotted(called string) string {
	tool, ok := strings.CutPrefix(strings.TrimSpace(called), s.Server+toolname.Dot)
	if !ok || !s.sameTool(compared(tool)) || toolname.IsReserved(s.Server) || toolname.IsStamp(s.Server) {
		return ""
	}
	return tool
}

// Names are all names of a call that fits the step: as the plan and as the call spells it, because plans ignore case
// and policies do not; and those that the called name may also stand for.
func (s *Step) Names(called string) []toolname.Candidate {
	called = strings.TrimSpace(called)
	if toolname.IsStamp(s.Server) && !toolname.IsBare(s.Tool) {
		names := toolname.Candidates(called, s.Server, "")
		for _, n := range toolname.Candidates(s.Tool, s.Server, "") { // as the plan spells it
			if !slices.ContainsFunc(names, func(other toolname.Candidate) bool { return other.Name == n.Name }) {
				names = append(names, n)
			}
		}
		return names
	}
	tool := s.reading(called)
	if tool == "" {
		_, tool = toolname.Resolve(called, s.Server, "")
	}
	names := []toolname.Candidate{{Name: toolname.Name{Server: s.Server, Tool: s.Tool}}}
	if tool != s.Tool {
		names = append(names, toolname.Candidate{Name: toolname.Name{Server: s.Server, Tool: tool}})
	}
	if s.dotted(called) != "" { // it may be a tool's whole name
		whole := toolname.Name{Server: toolname.Local, Tool: called}
		names = append(names, toolname.Candidate{Name: whole, Naming: toolname.Claimed})
	}
	return toolname.Others(names, called)
}

// takes reports whether the arguments are those that the step fixes.
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

// gives reports whether the step fixes an argument.
func (s *Step) gives(key string) bool {
	_, ok := slices.BinarySearchFunc(s.Given, key, func(c Constraint, key string) int {
		return strings.Compare(c.Key, key)
	})
	return ok
}

// How much of a plan a reason shows.
const (
	shownTools = 10
	shownKeys  = 5
	shownName  = 60 // bytes
)

// mismatch names the arguments that differ, without their values, which may be secrets.
func (s *Step) mismatch(i int, args Arguments) string {
	var absent, other, extra []string
	for _, c := range s.Given {
		switch value, ok := args.find(c.Key); {
		case !ok: // often all of them: the caller has another name for the arguments
			absent = append(absent, c.Key)
		case !c.fits(value):
			other = append(other, c.Key)
		}
	}
	for _, m := range args.members {
		if s.Strict && !s.gives(m.key) {
			extra = append(extra, m.key)
		}
	}
	reason := fmt.Sprintf("the arguments are not those of the plan (step %d, %s)", i, shown(s.Tool))
	if len(absent) > 0 {
		reason += "; the plan gives " + enumerate(absent, shownKeys) + ", which the call leaves out"
	}
	if len(other) > 0 {
		reason += "; the plan gives another value for " + enumerate(other, shownKeys)
	}
	if len(extra) > 0 {
		reason += "; the plan does not allow " + enumerate(extra, shownKeys)
	}
	return reason + ": call as planned, or declare a new plan"
}

// allows says what a plan allows, for a model whose call is not in it.
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
	return "the plan allows " + enumerate(tools, shownTools)
}

// enumerate lists the first names and how many more there are.
func enumerate(names []string, most int) string {
	var list []string
	for _, name := range names[:min(len(names), most)] {
		list = append(list, shown(name))
	}
	if len(names) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(list, ", "), len(names)-most)
	}
	return strings.Join(list, ", ")
}

// shown is a name as a reason shows it, without characters that databases refuse or
// that change what a terminal shows.
func shown(name string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return unicode.ReplacementChar
		}
		return r
	}, cut(name, shownName))
}
