package shell

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// scan gathers what one command does, across all texts it holds.
type scan struct {
	programs map[string]bool
	paths    map[string]bool
	writes   map[string]bool
	words    map[string]bool
	dynamic  bool

	made map[string]bool // paths whose contents the command writes
	runs map[string]bool // paths of the programs and scripts it runs

	steps int // commands looked at so far
	depth int // texts we are inside of
	wraps int // programs that start the present one

	vars  variables // of the text being read
	input input     // what the present command reads from
	place place     // where it runs
	// taken: what the present command prints goes to another one, or into a
	// word.
	taken bool

	relative int  // relative paths written so far
	deferred bool // a function writes some, wherever it will be called
}

// input is what a program finds when it reads from its standard input.
type input struct {
	given bool   // something was piped or redirected in
	file  bool   // from a file
	known bool   // and it is text
	text  string // of the command itself
}

func newScan() *scan {
	return &scan{
		programs: map[string]bool{},
		paths:    map[string]bool{},
		writes:   map[string]bool{},
		words:    map[string]bool{},
		made:     map[string]bool{},
		runs:     map[string]bool{},
		place:    place{dirs: []string{"."}},
	}
}

// text reads a whole command: the one that was asked about, or one that it
// hands to a shell.
func (s *scan) text(command string) {
	if suspicious(command) || nestsDeeply(command) {
		s.roughly(command)
		return
	}
	if s.depth >= maxTexts {
		s.dynamic = true
		return
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(command), "")
	if err != nil {
		s.roughly(command)
		return
	}
	outer := s.vars
	s.depth++
	s.vars = gather(file)
	s.statements(file.Stmts)
	s.depth--
	s.vars = outer
}

// apart runs do as in a process of its own: a change of directory in it does
// not last.
func (s *scan) apart(do func()) {
	before := s.place
	do()
	s.place = before
}

// caught runs do with its output going to somebody who reads it.
func (s *scan) caught(do func()) {
	before := s.taken
	s.taken = true
	do()
	s.taken = before
}

func (s *scan) statements(list []*syntax.Stmt) {
	for _, st := range list {
		s.statement(st)
	}
}

// statement reads one command with its redirections.
func (s *scan) statement(st *syntax.Stmt) {
	if s.steps++; s.steps > maxSteps {
		s.dynamic = true
		return
	}
	before := s.input
	for _, r := range st.Redirs {
		s.redirect(r)
	}
	if st.Background || st.Coprocess || st.Disown {
		s.apart(func() { s.command(st.Cmd) })
	} else {
		s.command(st.Cmd)
	}
	s.input = before
}

func (s *scan) command(cmd syntax.Command) {
	switch c := cmd.(type) {
	case nil: // only redirections
	case *syntax.CallExpr:
		s.simple(c)
	case *syntax.BinaryCmd:
		s.binary(c)
	case *syntax.Block:
		s.statements(c.Stmts)
	case *syntax.Subshell:
		s.apart(func() { s.statements(c.Stmts) })
	case *syntax.IfClause:
		s.either(c)
	case *syntax.WhileClause:
		s.again(func() {
			s.statements(c.Cond)
			s.statements(c.Do)
		})
	case *syntax.ForClause:
		s.inside(c.Loop)
		s.again(func() { s.statements(c.Do) })
	case *syntax.CaseClause:
		s.inside(c.Word)
		for _, item := range c.Items {
			for _, pattern := range item.Patterns {
				s.inside(pattern)
			}
			s.statements(item.Stmts)
		}
	case *syntax.FuncDecl:
		s.function(c)
	case *syntax.DeclClause:
		s.declare(c)
	case *syntax.TimeClause:
		s.programs["time"] = true
		if c.Stmt != nil {
			s.statement(c.Stmt)
		}
	case *syntax.CoprocClause:
		s.programs["coproc"] = true
		s.apart(func() { s.statement(c.Stmt) })
	case *syntax.ArithmCmd, *syntax.LetClause, *syntax.TestClause:
		s.inside(c)
	default: // a form we do not know
		s.dynamic = true
		s.inside(c)
	}
}

// again runs do as the body of a loop, read once: where it both changes the
// directory and writes relative paths, the next round writes elsewhere.
func (s *scan) again(do func()) {
	dirs, relative := len(s.place.dirs), s.relative
	do()
	if len(s.place.dirs) != dirs && s.relative != relative {
		s.dynamic = true
	}
}

// either reads an if with all that follows it.
func (s *scan) either(c *syntax.IfClause) {
	for ; c != nil; c = c.Else {
		s.statements(c.Cond)
		s.statements(c.Then)
	}
}

// binary reads a pipe or a list. What stands right of && runs only where the
// left succeeded, which tells where a cd has led.
func (s *scan) binary(c *syntax.BinaryCmd) {
	switch c.Op {
	case syntax.Pipe, syntax.PipeAll:
		s.caught(func() { s.apart(func() { s.statement(c.X) }) })
		before := s.input
		s.input = input{given: true}
		s.apart(func() { s.statement(c.Y) })
		s.input = before
	case syntax.AndStmt:
		s.chain(c)
	default: // ||
		s.statement(c.X)
		s.statement(c.Y)
	}
}

// chain reads a && b && c. The parser nests to the left, so a long one is taken
// apart without recursion.
func (s *scan) chain(c *syntax.BinaryCmd) {
	parts := []*syntax.Stmt{c.Y}
	left := c.X
	for {
		inner, ok := left.Cmd.(*syntax.BinaryCmd)
		if !ok || inner.Op != syntax.AndStmt || len(left.Redirs) > 0 || left.Negated {
			break
		}
		parts = append(parts, inner.Y)
		left = inner.X
	}
	parts = append(parts, left)
	slices.Reverse(parts)
	seen := s.place
	for _, part := range parts {
		s.place.moved = false
		s.statement(part)
		if s.place.moved && isCall(part) {
			s.place = s.place.arrived()
		}
		seen = seen.or(s.place)
	}
	s.place = seen
}

// isCall reports whether a statement is one simple command that is not negated.
func isCall(st *syntax.Stmt) bool {
	_, ok := st.Cmd.(*syntax.CallExpr)
	return ok && !st.Negated && !st.Background
}

// function reads a function's body as if it ran. What it runs is reported
// whatever it is called by, so a name hides nothing, except where the name is
// one that means something to us or the function calls itself.
func (s *scan) function(c *syntax.FuncDecl) {
	names := c.Names
	if c.Name != nil {
		names = append(slices.Clone(names), c.Name)
	}
	for _, name := range names {
		if _, known := handlers[handlerName(name.Value)]; known || builtins[name.Value] || callsItself(c, name.Value) {
			s.dynamic = true
		}
	}
	relative := s.relative
	s.statement(c.Body)
	s.deferred = s.deferred || s.relative != relative
}

func callsItself(c *syntax.FuncDecl, name string) bool {
	found := false
	syntax.Walk(c.Body, func(n syntax.Node) bool {
		if call, ok := n.(*syntax.CallExpr); ok && len(call.Args) > 0 && call.Args[0].Lit() == name {
			found = true
		}
		return !found
	})
	return found
}

// run takes note of the file of a program or script.
func (s *scan) run(file string) {
	for _, dir := range s.place.dirs {
		s.runs[join(dir, file)] = true
	}
}

// runsWhatItMakes reports a command that writes a file and runs it: what is in
// the file is then as unknown as code in the command itself.
func (s *scan) runsWhatItMakes() bool {
	for file := range s.runs {
		if s.made[file] {
			return true
		}
	}
	return false
}

// inside reads the substitutions within words and expressions.
func (s *scan) inside(node syntax.Node) {
	syntax.Walk(node, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CmdSubst:
			s.caught(func() { s.apart(func() { s.statements(n.Stmts) }) })
			return false
		case *syntax.ProcSubst:
			before := s.input
			if n.Op != syntax.CmdIn { // >( ) reads what is written to it
				s.input = input{given: true}
			}
			s.caught(func() { s.apart(func() { s.statements(n.Stmts) }) })
			s.input = before
			return false
		case *syntax.ParamExp:
			// ${x@P} runs the substitutions in the value of x, and ${!x}
			// names a variable that the text does not.
			if n.Exp != nil && n.Exp.Op == syntax.OtherParamOps {
				s.dynamic = true
			}
			// ${HOME:0:1} is a slash that nobody sees.
			if n.Slice != nil && n.Param != nil && s.vars[n.Param.Value] == nil {
				s.dynamic = true
			}
		}
		return true
	})
}

// simple reads one plain command: assignments and words.
func (s *scan) simple(c *syntax.CallExpr) {
	for _, a := range c.Assigns {
		s.assign(a)
	}
	for _, w := range c.Args {
		s.inside(w)
	}
	if args := s.expand(c.Args); len(args) > 0 {
		s.call(args)
	}
}

// declare reads export, local, declare and their like.
func (s *scan) declare(c *syntax.DeclClause) {
	s.programs[c.Variant.Value] = true
	for _, a := range c.Args {
		if a.Naked && a.Name == nil && a.Value != nil {
			s.inside(a.Value)
			flags := s.expandWord(a.Value)
			// A name that stands for another, or a value that is computed,
			// changes what later words mean.
			if !flags.exact || strings.ContainsAny(flags.text(), "ni") || !strings.HasPrefix(flags.text(), "-") {
				s.dynamic = true
			}
			continue
		}
		s.assign(a)
	}
}
