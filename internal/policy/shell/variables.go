package shell

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// variables are those a text sets, by name.
type variables map[string]*variable

// variable is all a text says about one name.
type variable struct {
	settings []setting
	unclear  bool // also set in a way we do not follow
	busy     bool // being resolved: it is defined by itself
	value    *arg // once resolved; a variable of variables would else take for ever
}

// setting gives a variable a value. It surely holds for what stands between
// from and to; elsewhere the value may be another, of the environment perhaps.
type setting struct {
	words    []*syntax.Word
	from, to uint
}

// gather finds the variables a text sets.
func gather(file *syntax.File) variables {
	vars, anything := variables{}, false
	for _, st := range file.Stmts {
		vars.surely(st)
	}
	syntax.Walk(file, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Assign:
			vars.maybe(n)
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

// surely takes the assignments that run whatever happens: statements of their
// own on the top level, or the first of a list.
func (v variables) surely(st *syntax.Stmt) {
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
			x.settings = append(x.settings, setting{[]*syntax.Word{a.Value}, a.End().Offset(), maxBytes + 1})
		}
	}
}

// maybe takes every assignment, wherever it stands, as a value the variable can
// have.
func (v variables) maybe(a *syntax.Assign) {
	if a.Name == nil || a.Naked {
		return
	}
	x := v.named(a.Name.Value)
	if a.Append || a.Index != nil || a.Array != nil || a.Value == nil {
		x.unclear = true
		return
	}
	x.settings = append(x.settings, setting{words: []*syntax.Word{a.Value}})
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
	x.settings = append(x.settings, setting{iter.Items, c.DoPos.Offset(), c.DonePos.Offset()})
}

// computed takes ((x = 1)) and its like: any name in it may change.
func (v variables) computed(n syntax.Node) {
	syntax.Walk(n, func(inner syntax.Node) bool {
		if lit, ok := inner.(*syntax.Lit); ok && syntax.ValidName(lit.Value) {
			v.named(lit.Value).unclear = true
		}
		return true
	})
}

// setters are commands that set the variables they name.
var setters = map[string]bool{
	"read": true, "mapfile": true, "readarray": true, "getopts": true, "printf": true, "unset": true,
	"let": true, "eval": true, "source": true, ".": true, "wait": true, "select": true,
}

// setByCall takes the variables that a command names. The setter may stand
// behind a wrapper (command read x) and be quoted, so any word counts.
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

// rewrites reports a command after which any variable can be anything.
func rewrites(c *syntax.CallExpr) bool {
	for _, w := range c.Args {
		switch unquoted(w) {
		case "eval", "source", ".", "trap", "alias":
			return true
		}
	}
	return false
}

// unquoted is the text of a word whatever its quotes, without what it expands.
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

// meaning is what $name stands for at a place in the text. The home directory
// and the present one are known by their paths' first letters.
func (s *scan) meaning(name string, at uint) arg {
	x := s.vars[name]
	switch {
	case x == nil && name == "HOME":
		return arg{alternatives: []string{"~"}, exact: true}
	case x == nil && name == "PWD":
		return arg{alternatives: []string{"."}, exact: true}
	case x == nil || x.busy:
		return arg{alternatives: []string{""}}
	}
	value := s.resolve(x)
	value.exact = value.exact &&
		slices.ContainsFunc(x.settings, func(set setting) bool { return set.from < at && at < set.to })
	return value
}

// resolve is all a variable can be.
func (s *scan) resolve(x *variable) arg {
	if x.value != nil {
		return *x.value
	}
	x.busy = true
	found := arg{exact: !x.unclear}
	for _, set := range x.settings {
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
	x.busy = false
	x.value = &found
	return found
}

func unique(list []string) []string {
	seen := map[string]bool{}
	kept := []string{}
	for _, item := range list {
		if !seen[item] {
			seen[item] = true
			kept = append(kept, item)
		}
	}
	if len(kept) == 0 {
		return []string{""}
	}
	return kept
}

// assign reads name=value, before a command or on its own.
func (s *scan) assign(a *syntax.Assign) {
	if a.Index != nil {
		s.inside(a.Index)
	}
	if a.Array != nil {
		s.inside(a.Array)
	}
	if a.Value == nil {
		if a.Name != nil && governs(a.Name.Value) != harmless && !a.Naked {
			s.dynamic = true
		}
		return
	}
	s.inside(a.Value)
	value := s.expandWord(a.Value)
	// Text that holds a substitution runs when arithmetic reads it.
	if strings.Contains(value.text(), "$(") || strings.Contains(value.text(), "`") {
		s.dynamic = true
	}
	if a.Name != nil {
		s.environment(a.Name.Value, value)
	}
}
