// Package node reads the text of a file that configures something into one small
// tree, from YAML or from JSON, in which every value knows its place.
//
// The two forms mean the same here. Of YAML only what everybody reads alike is
// taken: one document, maps with text as keys, lists, and plain, quoted and block
// scalars. Anchors, aliases, tags, merge keys, directives, tabs, keys given twice,
// numbers that are not written as JSON writes them, and characters that hide are
// refused, because a policy must say to every reader what it says to us.
//
// So little of YAML is left that we read it ourselves. The general parsers at hand
// recurse and copy without bound on some texts of a few hundred kilobytes, and one
// drops or joins text that it does not expect: in a policy, a condition that is
// not the one that was reviewed. This reader takes time in proportion to the text,
// nests no deeper than MaxDepth, and ends at the first thing it is not sure of.
//
// Value walks the tree and collects what is wrong with it.
package node

import (
	"fmt"
	"strconv"
)

// Limits of a text, whatever it says.
const (
	MaxDepth    = 64    // lists and maps within each other
	maxKey      = 256   // bytes of a key
	maxMembers  = 1_000 // keys of one map
	maxProblems = 100   // told about one text
)

var tooDeep = fmt.Sprintf("must not nest lists and maps deeper than %d", MaxDepth)

// Position is a place in the text; lines and columns begin at 1. Column counts
// characters. The zero value is nowhere.
type Position struct{ Line, Column int }

// String is "line:column".
func (p Position) String() string {
	return strconv.Itoa(p.Line) + ":" + strconv.Itoa(p.Column)
}

// Problem is why a text could not be read.
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

// String names the kind as a person would.
func (k Kind) String() string { return kindNames[k] }

// Node is one value of the text and all below it.
type Node struct {
	Kind    Kind
	At      Position
	Text    string   // of a Bool, Number or String
	Items   []*Node  // of a List
	Members []Member // of a Map, in the order of the text, each key once

	// Indent is by how many columns every line of a block of text (| in YAML)
	// is set in, and zero for other text.
	Indent int
}

// Member is one member of a map.
type Member struct {
	Key   string
	At    Position // of the key
	Value *Node
}

// problems collects what is wrong, up to a number nobody reads beyond.
type problems []Problem

func (p *problems) add(at Position, message string) {
	if len(*p) < maxProblems {
		*p = append(*p, Problem{at, message})
	}
}
