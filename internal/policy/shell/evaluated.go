package shell

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// evaluated reads arithmetic, tests and subscripts. Bash evaluates their text again, so
// that a quoted substitution runs, also one that is the value of a variable.
func (s *scan) evaluated(node syntax.Node) {
	switch n := node.(type) {
	case *syntax.Word:
		s.evaluatedParts(n.Parts)
	case *syntax.BinaryTest:
		s.evaluated(n.X)
		s.evaluated(n.Y)
	default:
		syntax.Walk(node, s.evaluatedNode)
	}
}

func (s *scan) evaluatedParts(parts []syntax.WordPart) {
	for _, part := range parts {
		switch p := part.(type) {
		case *syntax.Lit, *syntax.SglQuoted:
			s.evaluatedNode(part)
		case *syntax.DblQuoted:
			s.evaluatedParts(p.Parts)
		default:
			if isShort(part) {
				s.evaluatedNode(part.(*syntax.ParamExp).Param)
			} else {
				syntax.Walk(part, s.evaluatedNode)
			}
		}
	}
}

func (s *scan) evaluatedNode(n syntax.Node) bool {
	switch n := n.(type) {
	case *syntax.CmdSubst:
		return false
	case *syntax.Lit:
		s.dynamic = s.dynamic || substitutes(n.Value) || s.evaluates(n.Value)
	case *syntax.SglQuoted:
		s.dynamic = s.dynamic || substitutes(n.Value) || n.Dollar
	}
	return true
}

func (s *scan) evaluatedSlice(slice *syntax.Slice) {
	if slice.Offset != nil {
		s.evaluated(slice.Offset)
	}
	if slice.Length != nil {
		s.evaluated(slice.Length)
	}
}

// evaluates reports whether a variable may hold a substitution, or is a parameter of the
// script.
func (s *scan) evaluates(name string) bool {
	if x := s.vars.named[name]; x != nil && slices.ContainsFunc(s.resolve(x).alternatives, substitutes) {
		return true
	}
	return name == "@" || name == "*" || name == "REPLY" || name == "MAPFILE" ||
		s.vars.computed && syntax.ValidName(name)
}

// substitutes reports whether a text holds what Bash runs when it evaluates the text.
func substitutes(text string) bool {
	return strings.Contains(text, "$(") || strings.Contains(text, "`")
}
