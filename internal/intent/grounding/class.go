package grounding

import "strings"

// Class is what a tool does to the world.
type Class string

// The classes, the least strict first.
const (
	Read    Class = "read"
	Write   Class = "write"
	Egress  Class = "egress"  // sends data out of the organization
	Execute Class = "execute" // runs commands or code
)

// Classes are all classes, the least strict first.
func Classes() []Class { return []Class{Read, Write, Egress, Execute} }

// Valid reports whether this is one of the classes.
func (c Class) Valid() bool { return c.strictness() > 0 }

func (c Class) strictness() int {
	for i, class := range Classes() {
		if c == class {
			return i + 1
		}
	}
	return 0
}

// Stricter is the stricter of two classes. A class that is none of the classes counts as none.
func Stricter(a, b Class) Class {
	if b.strictness() > a.strictness() {
		return b
	}
	return a
}

// builtin are the classes of harnesses' own tools, by server.tool in lower case.
var builtin = readTools()

func readTools() map[string]Class {
	tools := map[string]Class{}
	for _, line := range phraseList("tools") {
		class, tool, _ := strings.Cut(line, " ")
		tools[tool] = Class(class)
	}
	return tools
}

// BuiltinClass is the class of a known harness's own tool; empty: it is none.
func BuiltinClass(server, tool string) Class { return builtin[fold(server)+"."+fold(tool)] }
