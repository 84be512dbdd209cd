// Package node reads YAML or JSON into a small tree in which every value knows its
// position in the text.
//
// Of YAML it accepts only what all parsers read alike: one document, maps with text
// keys, lists, and plain, quoted and block scalars. It refuses anchors, aliases,
// tags, merge keys, directives, tabs, duplicate keys, numbers that JSON would write
// differently, and hidden characters, because a policy must mean the same to every
// reader.
//
// So little of YAML is left that we parse it ourselves. The general parsers recurse
// and copy without bound on some texts of a few hundred kilobytes, and one drops or
// joins text that it does not expect, so that a policy's condition would not be the
// one that was reviewed. This parser takes time linear in the text, nests no deeper
// than MaxDepth, and stops at the first thing it is not sure of.
//
// Value walks the tree and collects its problems.
package node

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
)

// Limits of a text.
const (
	MaxDepth    = 64    // lists and maps within each other
	maxKey      = 256   // bytes of a key
	maxMembers  = 1_000 // keys of one map
	maxProblems = 100   // reported of one text
)

var tooDeep = fmt.Sprintf("must not nest lists and maps deeper than %d", MaxDepth)

// Position is a position in a text. Lines and columns begin at 1, and columns count
// characters. The zero value is no position.
type Position struct{ Line, Column int }

// Compare is negative if the position is before the other, and positive if it is
// behind.
func (p Position) Compare(other Position) int {
	return cmp.Or(cmp.Compare(p.Line, other.Line), cmp.Compare(p.Column, other.Column))
}

// String is "line:column".
func (p Position) String() string {
	return strconv.Itoa(p.Line) + ":" + strconv.Itoa(p.Column)
}

// Problem is a reason why a text could not be read.
type Problem struct {
	Position
	Message string
}

// String is the problem in one line.
func (p Problem) String() string { return p.Position.String() + ": " + p.Message }

// Kind is what a node is.
type Kind uint8

// The kinds of nodes.
const (
	Null Kind = iota
	Bool
	Number // Text is as JSON writes numbers
	String
	List
	Map
)

var kindNames = [...]string{
	Null: "nothing", Bool: "true or false", Number: "a number", String: "text", List: "a list", Map: "a map",
}

// String names the kind in a message.
func (k Kind) String() string { return kindNames[k] }

// Node is one value of the text with everything below it.
type Node struct {
	Kind    Kind
	At      Position
	Text    string   // of a Bool, Number or String
	Items   []*Node  // of a List
	Members []Member // of a Map, in the order of the text, each key once

	// Indent is the indentation of a block of text (| in YAML), and zero for other
	// text.
	Indent int
}

// Member is one member of a map.
type Member struct {
	Key   string
	At    Position // of the key
	Value *Node
}

// Has reports whether a map has a member of this name. Nothing else has members.
func (n *Node) Has(name string) bool {
	return slices.ContainsFunc(n.Members, func(m Member) bool { return m.Key == name })
}

type problems []Problem

func (p *problems) add(at Position, message string) {
	if len(*p) < maxProblems {
		*p = append(*p, Problem{at, message})
	}
}
