package shell

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

type variables map[string]*variable

type variable struct {
	assignments []assignment
	unclear     bool // also set in a way that we do not follow
	resolving   bool // set while it is resolved, to detect cycles
	value       *arg // cached, because resolving nested variables is exponential
}

// assignment gives a variable a value. It is certain between from and to; elsewhere the
// variable may have another value, for example from the environment.
type assignment struct {
	words    []*syntax.Word
	from, to uint
}

func gather(file *syntax.File) variables {
	vars, anything := variables{}, false
	for _, st := range file.Stmts {
		vars.certain(st)
	}
	syntax.Walk(file, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Assign:
			vars.possible(n)
		case *syntax.ForClause:
			vars.loop(n)
		case *syntax.ArithmCmd, *syntax.ArithmExp, *syntax.LetClause:
			vars.computed(n)
		case *syntax.CallExpr:
			vars.setByCall(n)
			anything = anything || rewrites(n)
		}
		return true
	})
	for _, x := range vars {
		x.unclear = x.unclear || anything
	}
	return vars
}

func (v variables) named(name string) *variable {
	if v[name] == nil {
		v[name] = &variable{}
	}
	return v[name]
}

// certain adds the assignments that always run: statements at the top level, or the
// first of a list.
func (v variables) certain(st *syntax.Stmt) {
	for st != nil && !st.Background && !st.Negated {
		switch c := st.Cmd.(type) {
		case *syntax.BinaryCmd:
			if c.Op != syntax.AndStmt {
				return
			}
			st = c.X
			continue
		case *syntax.CallExpr:
			if len(c.Args) == 0 {
				v.plain(c.Assigns)
			}
		case *syntax.DeclClause:
			v.plain(c.Args)
		}
		return
	}
}

func (v variables) plain(assigns []*syntax.Assign) {
	for _, a := range assigns {
		if a.Name != nil && a.Value != nil && !a.Append && a.Index == nil {
			x := v.named(a.Name.Value)
			x.assignments = append(x.assignments, assignment{[]*syntax.Word{a.Value}, a.End().Offset(), maxBytes + 1})
		}
	}
}

// possible adds an assignment anywhere in the text as a possible value.
func (v variables) possible(a *syntax.Assign) {
	if a.Name == nil || a.Naked {
		return
	}
	x := v.named(a.Name.Value)
	if a.Append || a.Index != nil || a.Array != nil || a.Value == nil {
		x.unclear = true
		return
	}
	x.assignments = append(x.assignments, assignment{words: []*syntax.Word{a.Value}})
}

func (v variables) loop(c *syntax.ForClause) {
	iter, ok := c.Loop.(*syntax.WordIter)
	if !ok || iter.Name == nil {
		return
	}
	x := v.named(iter.Name.Value)
	if len(iter.Items) == 0 || c.Select { // the script's arguments, or a choice
		x.unclear = true
		return
	}
	x.assignments = append(x.assignments, assignment{iter.Items, c.DoPos.Offset(), c.DonePos.Offset()})
}

// computed reads ((x = 1)) and the like, in which any name may change.
func (v variables) computed(n syntax.Node) {
	syntax.Walk(n, func(inner syntax.Node) bool {
		if lit, ok := inner.(*syntax.Lit); ok && syntax.ValidName(lit.Value) {
			v.named(lit.Value).unclear = true
		}
		return true
	})
}

var setters = names("read mapfile readarray getopts printf unset let eval source . wait select")

// setByCall adds the variables that a command may set. The setter may follow a wrapper
// (command read x) and be quoted, so any word counts.
func (v variables) setByCall(c *syntax.CallExpr) {
	sets := false
	for _, w := range c.Args {
		sets = sets || setters[unquoted(w)]
	}
	for _, w := range c.Args {
		text := unquoted(w)
		name, _, assigned := strings.Cut(text, "=")
		switch {
		case assigned && syntax.ValidName(strings.TrimSuffix(name, "+")):
			v.named(strings.TrimSuffix(name, "+")).unclear = true
		case sets && syntax.ValidName(text):
			v.named(text).unclear = true
		case sets && len(text) > 2 && text[0] == '-' && syntax.ValidName(text[2:]): // printf -vx
			v.named(text[2:]).unclear = true
		}
	}
}

// rewrites reports whether any variable can have any value after a command.
func rewrites(c *syntax.CallExpr) bool {
	for _, w := range c.Args {
		switch unquoted(w) {
		case "eval", "source", ".", "trap", "alias":
			return true
		}
	}
	return false
}

// unquoted is the text of a word without quotes and expansions.
func unquoted(w *syntax.Word) string {
	var b strings.Builder
	syntax.Walk(w, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Lit:
			b.WriteString(strings.ReplaceAll(n.Value, `\`, ""))
		case *syntax.SglQuoted:
			b.WriteString(n.Value)
		case *syntax.CmdSubst, *syntax.ProcSubst, *syntax.ParamExp, *syntax.ArithmExp:
			return false
		}
		return true
	})
	return b.String()
}

// meaning is the value of $name at an offset of the text. The home directory is ~, and
// the current directory is a dot.
func (s *scan) meaning(name string, at uint) arg {
	x := s.vars[name]
	switch {
	case x == nil && name == "HOME":
		return literal("~")
	case x == nil && name == "PWD":
		return literal(".")
	case x == nil || x.resolving:
		return unknown
	}
	value := s.resolve(x)
	value.exact = value.exact &&
		slices.ContainsFunc(x.assignments, func(set assignment) bool { return set.from < at && at < set.to })
	return value
}

func (s *scan) resolve(x *variable) arg {
	if x.value != nil {
		return *x.value
	}
	x.resolving = true
	found := arg{exact: !x.unclear}
	for _, set := range x.assignments {
		for _, item := range s.expand(set.words) {
			found.exact = found.exact && item.exact
			found.glob = found.glob || item.glob
			found.alternatives = append(found.alternatives, item.alternatives...)
		}
		if len(found.alternatives) > maxAlts {
			found.alternatives = found.alternatives[:maxAlts]
			found.exact = false
			break
		}
	}
	found.alternatives = unique(found.alternatives)
	x.resolving = false
	x.value = &found
	return found
}

func unique(list []string) []string {
	once := make([]string, 0, max(len(list), 1))
	for _, item := range list {
		if !slices.Contains(once, item) { // they are few
			once = append(once, item)
		}
	}
	if len(once) == 0 {
		return append(once, "")
	}
	return once
}

// assign reads name=value, before a command or alone.
func (s *scan) assign(a *syntax.Assign) {
	s.opaque = s.opaque || a.Index != nil || a.Array != nil || a.Append
	if a.Index != nil {
		s.inside(a.Index)
	}
	if a.Array != nil {
		s.inside(a.Array)
	}
	if a.Value == nil {
		if a.Name != nil && influenceOf(a.Name.Value) != harmless && !a.Naked {
			s.dynamic = true
		}
		return
	}
	s.inside(a.Value)
	value := s.expandWord(a.Value)
	// Arithmetic runs substitutions in the text of a variable.
	if strings.Contains(value.text(), "$(") || strings.Contains(value.text(), "`") {
		s.dynamic = true
	}
	if a.Name != nil {
		s.environment(a.Name.Value, value)
	}
}
