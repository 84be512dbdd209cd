package shell

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// variables are the texts that a command gives to its variables. Which of them a variable
// has at some point is not known: an assignment may not run, or another program may set it.
type variables struct {
	named map[string]*variable
	// computed is whether some may also have a value that is not in the text, from read or
	// arithmetic.
	computed bool
}

type variable struct {
	words     []*syntax.Word
	resolving bool // set while it is resolved, to detect cycles
	resolved  bool
	value     arg // kept, because resolving nested variables is exponential
}

// sets reports whether a builtin of this name may set variables.
func sets(name string) bool {
	switch name {
	case "read", "mapfile", "readarray", "getopts", "printf", "unset", "let", "eval", "source", ".", "wait", "select",
		"trap", "alias":
		return true
	}
	return false
}

// note takes the variables that a node sets, and reports whether there may be more inside it.
func (s *scan) note(n syntax.Node) bool {
	v := &s.vars
	switch n := n.(type) {
	case *syntax.Word:
		return !isLiteral(n.Parts) // most are, and hold no command
	case *syntax.Assign:
		v.computed = v.computed || n.Append || n.Index != nil || n.Array != nil
		if n.Name != nil && n.Value != nil {
			s.set(n.Name.Value, s.quick.wordList.complete.list(n.Value))
		}
	case *syntax.ForClause:
		if iter, ok := n.Loop.(*syntax.WordIter); ok && iter.Name != nil {
			v.computed = v.computed || len(iter.Items) == 0 || n.Select // the script's arguments, or a choice
			s.set(iter.Name.Value, iter.Items)
		}
	case *syntax.ArithmCmd, *syntax.ArithmExp, *syntax.LetClause:
		v.computed = v.computed || setsNames(n)
	case *syntax.CallExpr: // the setter may be quoted, and follow a wrapper: command read x
		v.computed = v.computed || slices.ContainsFunc(n.Args, func(w *syntax.Word) bool {
			text := unquoted(w.Parts)
			return sets(text) || strings.IndexByte(text, '=') >= 0
		})
	}
	return true
}

// set notes words that a variable may be.
func (s *scan) set(name string, words []*syntax.Word) {
	if s.vars.named == nil {
		s.vars.named = map[string]*variable{}
	}
	x := s.vars.named[name]
	if x == nil {
		x = s.known.next()
		s.vars.named[name] = x
	}
	if x.words == nil {
		x.words = words[:len(words):len(words)]
		return
	}
	x.words = append(x.words, words...)
}

// setsNames reports whether arithmetic has names, any of which it may set.
func setsNames(n syntax.Node) (found bool) {
	syntax.Walk(n, func(inner syntax.Node) bool {
		lit, ok := inner.(*syntax.Lit)
		found = found || ok && syntax.ValidName(lit.Value)
		return !found
	})
	return found
}

// unquoted is the text of a word without quotes and expansions.
func unquoted(parts []syntax.WordPart) string {
	text := ""
	for _, part := range parts {
		switch part := part.(type) {
		case *syntax.Lit:
			text += strings.ReplaceAll(part.Value, `\`, "")
		case *syntax.SglQuoted:
			text += part.Value
		case *syntax.DblQuoted:
			text += unquoted(part.Parts)
		case *syntax.ExtGlob:
			text += part.Pattern.Value
		}
	}
	return text
}

// meaning is what $name may be. The home directory is ~, and the current directory is a
// dot.
func (s *scan) meaning(name string) arg {
	x := s.vars.named[name]
	switch {
	case x == nil && (name == "HOME" || name == "PWD"):
		value := s.lit(".")
		if name == "HOME" {
			value = s.lit("~")
		}
		value.exact = !s.vars.computed
		return value
	case x == nil || x.resolving:
		return unknown
	}
	return s.resolve(x)
}

func (s *scan) resolve(x *variable) arg {
	if x.resolved {
		return x.value
	}
	x.resolving = true
	x.value = oneOf(s.expand(x.words))
	x.resolving, x.resolved = false, true
	return x.value
}

// oneOf is an argument that may be any of several, or something else.
func oneOf(args []arg) (found arg) {
	if len(args) == 1 {
		return arg{alternatives: args[0].alternatives, glob: args[0].glob}
	}
	for _, a := range args {
		found.glob = found.glob || a.glob
		if found.alternatives = append(found.alternatives, a.alternatives...); len(found.alternatives) > maxAlts {
			break
		}
	}
	found.alternatives = unique(found.alternatives[:min(len(found.alternatives), maxAlts)])
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
