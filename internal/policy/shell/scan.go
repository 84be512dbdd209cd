package shell

import (
	"slices"
	"strings"
	"sync"

	"mvdan.cc/sh/v3/syntax"
)

// scan collects what one command does, across all texts in it.
type scan struct {
	programs, paths, writes, reads, words, scripts, unknown, possible list

	made list // paths whose contents the command writes
	runs list // paths of the programs and scripts it runs

	state

	// Memory that is used again.
	quick  quick
	args   memory[arg]
	texts  memory[string] // of arguments
	values memory[value]
	known  memory[variable]
	named  map[string]*variable // those of the outermost text
	spine  []*syntax.Stmt       // the commands of a && b && c that are being read
}

// state is where a scan is, and what is in doubt.
type state struct {
	dynamic, opaque bool

	steps int // commands read so far
	depth int // nested texts
	wraps int // programs that start the current one
	lines int // words read as commands, because an unknown program may run them

	vars  variables // of the text being read
	input input     // standard input of the current command
	dir   workdir   // where it runs
	// captured is whether another command or a word uses the current one's output.
	captured bool

	relative int  // relative paths written so far
	deferred bool // a function writes some, wherever it is called
}

type input struct {
	given bool // something was piped or redirected in
	file  bool // from a file
	known bool // the command itself holds it, as text
	text  string
}

// scans are used again, because most of the work would be to make their lists anew.
var scans = sync.Pool{New: func() any { return new(scan) }}

func newScan() *scan {
	s := scans.Get().(*scan)
	for _, l := range s.lists() {
		l.empty()
	}
	s.made.empty()
	s.runs.empty()
	s.state = state{dir: workdir{dirs: here}}
	s.quick.reset()
	s.args.reset()
	s.texts.reset()
	s.values.reset()
	s.known.reset()
	if clear(s.named); s.named == nil {
		s.named = map[string]*variable{}
	}
	return s
}

var here = []string{"."}

// text reads a whole command: the outermost, or one that is passed to a shell.
func (s *scan) text(command string) {
	if ambiguous(command) || nestsDeeply(command) {
		s.tolerant(command)
		return
	}
	if s.depth >= maxTexts {
		s.dynamic = true
		return
	}
	outer := s.vars
	s.vars = variables{}
	if s.depth == 0 {
		s.vars.named = s.named
	}
	list, noted, ok := s.quick.read(command)
	if !ok {
		file, err := parseText(command)
		if err != nil {
			s.vars = outer
			s.tolerant(command)
			return
		}
		list = file.Stmts
	}
	uses := strings.IndexByte(command, '$') >= 0 || strings.Contains(command, "((") ||
		strings.Contains(command, "[[") || strings.Contains(command, "let")
	switch {
	case uses && ok:
		for _, n := range noted {
			s.note(n)
		}
	case uses:
		syntax.Walk(&syntax.Block{Stmts: list}, s.note)
	}
	s.depth++
	s.opaque = s.opaque || strings.HasSuffix(command, `\`) // shells differ
	s.statements(list)
	s.depth--
	if len(s.vars.named) > maxAlts {
		s.named = nil // to clear a large one takes long
	}
	s.vars = outer
}

var parsers = sync.Pool{New: func() any { return syntax.NewParser(syntax.Variant(syntax.LangBash)) }}

// parseText parses with a parser that is used again. One that panics is not.
func parseText(command string) (*syntax.File, error) {
	parser := parsers.Get().(*syntax.Parser)
	file, err := parser.Parse(strings.NewReader(command), "")
	parsers.Put(parser)
	return file, err
}

// subshell runs do as in a process of its own: a change of directory does not last.
func (s *scan) subshell(do func()) {
	before := s.dir
	do()
	s.dir = before
}

// capturing runs do with its output being used.
func (s *scan) capturing(do func()) {
	before := s.captured
	s.captured = true
	do()
	s.captured = before
}

func (s *scan) statements(list []*syntax.Stmt) {
	for _, st := range list {
		s.statement(st)
	}
}

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
		s.subshell(func() { s.command(st.Cmd) })
	} else {
		s.command(st.Cmd)
	}
	s.input = before
}

// command reads a command of any form. Only simple commands, lists, pipes, blocks,
// subshells, if and time can be plain.
func (s *scan) command(cmd syntax.Command) {
	switch cmd.(type) {
	case nil, *syntax.CallExpr, *syntax.BinaryCmd, *syntax.Block, *syntax.Subshell, *syntax.IfClause,
		*syntax.TimeClause, *syntax.DeclClause:
	default:
		s.opaque = true
	}
	switch c := cmd.(type) {
	case nil: // only redirections
	case *syntax.CallExpr:
		s.simple(c)
	case *syntax.BinaryCmd:
		s.binary(c)
	case *syntax.Block:
		s.statements(c.Stmts)
	case *syntax.Subshell:
		s.subshell(func() { s.statements(c.Stmts) })
	case *syntax.IfClause:
		s.ifClause(c)
	case *syntax.WhileClause:
		s.loop(func() {
			s.statements(c.Cond)
			s.statements(c.Do)
		})
	case *syntax.ForClause:
		s.inside(c.Loop)
		s.loop(func() { s.statements(c.Do) })
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
		s.programs.add("time")
		if c.Stmt != nil {
			s.statement(c.Stmt)
		}
	case *syntax.CoprocClause:
		s.programs.add("coproc")
		s.subshell(func() { s.statement(c.Stmt) })
	case *syntax.TestClause:
		s.evaluated(c.X)
		s.inside(c.X)
	case *syntax.ArithmCmd, *syntax.LetClause:
		s.inside(c)
	default: // unknown syntax
		s.dynamic = true
		s.inside(c)
	}
}

// loop runs do as the body of a loop, which is read once. If the body changes the
// directory and writes relative paths, the next iteration writes elsewhere.
func (s *scan) loop(do func()) {
	dirs, relative := len(s.dir.dirs), s.relative
	do()
	if len(s.dir.dirs) != dirs && s.relative != relative {
		s.dynamic = true
	}
}

func (s *scan) ifClause(c *syntax.IfClause) {
	for ; c != nil; c = c.Else {
		s.statements(c.Cond)
		s.statements(c.Then)
	}
}

// binary reads a pipe or a list. The right side of && runs only if the left succeeded,
// so that a cd there has succeeded too.
func (s *scan) binary(c *syntax.BinaryCmd) {
	switch c.Op {
	case syntax.Pipe, syntax.PipeAll:
		s.capturing(func() { s.subshell(func() { s.statement(c.X) }) })
		before := s.input
		s.input = input{given: true}
		s.subshell(func() { s.statement(c.Y) })
		s.input = before
	case syntax.AndStmt:
		s.chain(c)
	default: // ||
		s.statement(c.X)
		s.statement(c.Y)
	}
}

// chain reads a && b && c. The parser nests to the left; this needs no recursion.
func (s *scan) chain(c *syntax.BinaryCmd) {
	first, left := len(s.spine), c.X
	s.spine = append(s.spine, c.Y)
	for {
		inner, ok := left.Cmd.(*syntax.BinaryCmd)
		if !ok || inner.Op != syntax.AndStmt || len(left.Redirs) > 0 || left.Negated {
			break
		}
		s.spine = append(s.spine, inner.Y)
		left = inner.X
	}
	s.spine = append(s.spine, left)
	seen := s.dir
	for len(s.spine) > first {
		part := s.spine[len(s.spine)-1]
		s.spine = s.spine[:len(s.spine)-1]
		s.dir.moved = false
		s.statement(part)
		if s.dir.moved && isCall(part) {
			s.dir = s.dir.arrived()
		}
		seen = seen.or(s.dir)
	}
	s.dir = seen
}

func isCall(st *syntax.Stmt) bool {
	_, ok := st.Cmd.(*syntax.CallExpr)
	return ok && !st.Negated && !st.Background
}

// builtins are names that a function must not have, because it would change what the
// rest of the command means.
var builtins = names(`. : [ alias bg bind break builtin caller cd command compgen complete continue declare dirs disown
	echo enable eval exec exit export false fc fg getopts hash help history jobs kill let local logout mapfile popd printf
	pushd pwd read readarray readonly return set shift shopt source suspend test time times trap true type typeset ulimit
	umask unalias unset wait ls cat cp mv rm grep sed awk find git sudo curl wget mkdir touch chmod head tail sort`)

// function reads a function's body as if it ran. What the body runs is reported
// whatever the function's name, so a name hides nothing unless it is one that we know,
// or the function calls itself.
func (s *scan) function(c *syntax.FuncDecl) {
	names := c.Names
	if c.Name != nil {
		names = append(slices.Clone(names), c.Name)
	}
	for _, name := range names {
		if p, _ := programNamed(name.Value); p != nil || builtins[name.Value] || callsItself(c, name.Value) {
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

func (s *scan) run(file string) {
	for _, dir := range s.dir.dirs {
		s.runs.add(join(dir, file))
	}
}

// runsWhatItMakes reports whether the command writes a file and runs it, which is like
// code in the command itself.
func (s *scan) runsWhatItMakes() bool {
	return slices.ContainsFunc(s.runs, func(file string) bool { return slices.Contains(s.made, file) })
}

// inside reads the substitutions in words and expressions.
func (s *scan) inside(node syntax.Node) {
	switch n := node.(type) {
	case *syntax.Word:
		if !isLiteral(n.Parts) {
			s.opaque = true
			s.insideParts(n.Parts)
		}
		return
	case *syntax.WordIter:
		for _, word := range n.Items {
			s.inside(word)
		}
	case *syntax.BinaryTest:
		s.inside(n.X)
		s.inside(n.Y)
	default:
		syntax.Walk(node, s.insideNode)
	}
	s.opaque = true
}

func (s *scan) insideParts(parts []syntax.WordPart) {
	for _, part := range parts {
		switch part := part.(type) {
		case *syntax.Lit, *syntax.SglQuoted:
		case *syntax.DblQuoted:
			s.insideParts(part.Parts)
		default:
			if s.insideNode(part) && !isShort(part) {
				syntax.Walk(part, func(n syntax.Node) bool { return n == part || s.insideNode(n) })
			}
		}
	}
}

// isShort reports whether a part is $name.
func isShort(part syntax.WordPart) bool {
	p, ok := part.(*syntax.ParamExp)
	return ok && p.Short
}

// insideNode reads one node, and reports whether there may be more inside it.
func (s *scan) insideNode(n syntax.Node) bool {
	switch n := n.(type) {
	case *syntax.ArithmExp, *syntax.ArithmCmd, *syntax.LetClause, *syntax.TestClause:
		s.evaluated(n)
	case *syntax.CmdSubst:
		s.capturing(func() { s.subshell(func() { s.statements(n.Stmts) }) })
		return false
	case *syntax.ProcSubst:
		before := s.input
		if n.Op != syntax.CmdIn { // >( ) reads what is written to it
			s.input = input{given: true}
		}
		s.capturing(func() { s.subshell(func() { s.statements(n.Stmts) }) })
		s.input = before
		return false
	case *syntax.ParamExp:
		// ${x@P} runs the substitutions in the value of x, and ${!x} names another
		// variable.
		if n.Exp != nil && n.Exp.Op == syntax.OtherParamOps {
			s.dynamic = true
		}
		if n.Index != nil {
			s.evaluated(n.Index)
		}
		if n.Slice != nil {
			s.evaluatedSlice(n.Slice)
		}
		// ${HOME:0:1} is a hidden slash.
		if n.Slice != nil && n.Param != nil && s.vars.named[n.Param.Value] == nil {
			s.dynamic = true
		}
	}
	return true
}

// isLiteral reports whether parts of a word hold no expansion.
func isLiteral(parts []syntax.WordPart) bool {
	for _, part := range parts {
		switch part := part.(type) {
		case *syntax.Lit, *syntax.SglQuoted:
		case *syntax.DblQuoted:
			if !isLiteral(part.Parts) {
				return false
			}
		default:
			return false
		}
	}
	return true
}

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

// declare reads export, local, declare and the like.
func (s *scan) declare(c *syntax.DeclClause) {
	s.programs.add(c.Variant.Value)
	s.opaque = s.opaque || c.Variant.Value != "export" || len(c.Args) == 0 // prints the environment
	for _, a := range c.Args {
		if a.Naked && a.Name == nil && a.Value != nil {
			s.inside(a.Value)
			s.opaque = true
			flags := s.expandWord(a.Value)
			// A reference to another name, or a computed value, changes what later words
			// mean.
			if !flags.exact || strings.ContainsAny(flags.text(), "ni") || !strings.HasPrefix(flags.text(), "-") {
				s.dynamic = true
			}
			continue
		}
		s.assign(a)
	}
}
