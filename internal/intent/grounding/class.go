package grounding

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
