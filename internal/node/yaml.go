package node

import (
	"bytes"
	"fmt"
	"strings"
)

// ReadYAML reads one document in the part of YAML that the package accepts. It stops
// at a syntax error, and reports other problems together.
func ReadYAML(text []byte) (root *Node, found []Problem) {
	l, found := clean(text)
	if found != nil {
		return nil, found
	}
	if tab := bytes.IndexByte(l.text, '\t'); tab >= 0 {
		return nil, []Problem{{l.at(tab), `must have spaces instead of tabs; within double quotes a tab is \t`}}
	}
	r := &yamlReader{src: string(l.text), lines: l}
	if !strings.HasSuffix(r.src, "\n") {
		r.src += "\n"
	}
	defer func() {
		switch failure := recover().(type) {
		case nil:
		case *syntaxError:
			r.found.add(l.at(failure.offset), failure.message)
			root, found = nil, r.found
		default:
			panic(failure)
		}
	}()
	root = r.document()
	if r.found != nil {
		return nil, r.found
	}
	return root, nil
}

// yamlReader reads a text that ends with a line break, from pos on. Functions that
// read a node begin at its first character and end after its last one, on the same
// line. nextLine continues from there.
type yamlReader struct {
	src   string
	pos   int
	lines *lines
	found problems
}

// fail stops the parser with a syntax error.
func (r *yamlReader) fail(offset int, format string, a ...any) {
	panic(&syntaxError{offset, fmt.Sprintf(format, a...)})
}

func (r *yamlReader) at() Position { return r.lines.at(r.pos) }

func (r *yamlReader) document() *Node {
	r.begin()
	for offset := r.pos; offset < len(r.src); offset += strings.IndexByte(r.src[offset:], '\n') + 1 {
		if isMarker(r.src[offset:], "---") || isMarker(r.src[offset:], "...") {
			r.fail(offset, "must be one document")
		}
	}
	column, more := r.content()
	if !more {
		return &Node{At: Position{1, 1}}
	}
	root := r.block(column, -1, 0)
	if _, more := r.nextLine(); more {
		r.fail(r.pos, "must be indented like what it belongs to")
	}
	return root
}

// begin skips the marker that may precede a document.
func (r *yamlReader) begin() {
	start := r.pos
	if column, more := r.content(); more && column == 0 && isMarker(r.src[r.pos:], "---") {
		r.pos += len("---")
		r.endLine()
		return
	}
	r.pos = start
}

func isMarker(rest, marker string) bool {
	return strings.HasPrefix(rest, marker) && (rest[len(marker)] == ' ' || rest[len(marker)] == '\n')
}

// content skips empty lines and comments, from the beginning of a line, and returns
// the column of the next content, counted from 0, if there is any.
func (r *yamlReader) content() (column int, more bool) {
	for r.pos < len(r.src) {
		start := r.pos
		r.spaces()
		switch r.src[r.pos] {
		case '\n':
			r.pos++
		case '#':
			r.toLineEnd()
		default:
			return r.pos - start, true
		}
	}
	return 0, false
}

func (r *yamlReader) spaces() {
	for r.src[r.pos] == ' ' {
		r.pos++
	}
}

func (r *yamlReader) toLineEnd() { r.pos += strings.IndexByte(r.src[r.pos:], '\n') + 1 }

// endLine goes to the next line. Only a comment may come before it.
func (r *yamlReader) endLine() {
	r.spaces()
	switch {
	case r.isLineEnd():
		r.toLineEnd()
	case r.src[r.pos] == ':':
		r.fail(r.pos, "must begin on a line of its own: a key with a value is not allowed here")
	default:
		r.fail(r.pos, "must be on a line of its own, or all of the line in quotes: the value before it has ended")
	}
}

func (r *yamlReader) nextLine() (column int, more bool) {
	if r.pos > 0 && r.src[r.pos-1] != '\n' {
		r.endLine()
	}
	return r.content()
}

// block reads a list, map or other value that begins in a column and belongs to
// something that began in column outer.
func (r *yamlReader) block(column, outer, depth int) *Node {
	if depth > MaxDepth {
		r.fail(r.pos, "%s", tooDeep)
	}
	switch {
	case r.isDash():
		return r.blockList(column, depth)
	case r.isKey():
		return r.blockMap(column, depth)
	default:
		return r.inline(outer, depth)
	}
}

func (r *yamlReader) isDash() bool {
	return r.src[r.pos] == '-' && (r.src[r.pos+1] == ' ' || r.src[r.pos+1] == '\n')
}

func (r *yamlReader) blockList(column, depth int) *Node {
	list := &Node{Kind: List, At: r.at()}
	for {
		dash := r.pos
		r.pos++
		r.spaces()
		var item *Node
		if r.isLineEnd() {
			item = r.below(column+1, column, depth)
		} else {
			item = r.block(column+r.pos-dash, column, depth+1)
		}
		list.Items = append(list.Items, item)
		next, more := r.nextLine()
		if !more || next != column || !r.isDash() {
			r.indented(next, column, more)
			return list
		}
	}
}

// isLineEnd reports whether nothing but a comment follows on this line.
func (r *yamlReader) isLineEnd() bool {
	return r.src[r.pos] == '\n' || r.src[r.pos] == '#' && r.src[r.pos-1] == ' '
}

// below reads a value that begins on a later line, in column least or further in.
// There may be none.
func (r *yamlReader) below(least, outer, depth int) *Node {
	empty := &Node{At: r.at()}
	r.toLineEnd()
	start := r.pos
	column, more := r.content()
	if !more || column < least {
		r.pos = start
		return empty
	}
	return r.block(column, outer, depth+1)
}

// indented checks the column of what follows a list or map.
func (r *yamlReader) indented(next, column int, more bool) {
	if more && next > column {
		r.fail(r.pos, "must be indented like what it belongs to")
	}
	if more {
		r.pos -= next // the caller reads this line again
	}
}

func (r *yamlReader) blockMap(column, depth int) *Node {
	out := &Node{Kind: Map, At: r.at()}
	seen := map[string]bool{}
	for {
		at := r.at()
		key := r.key(false)
		r.pos++ // the colon
		r.spaces()
		var value *Node
		switch {
		case r.isLineEnd():
			value = r.belowKey(column, depth)
		case r.isDash():
			r.fail(r.pos, "a list must begin on a line of its own")
		default:
			value = r.inline(column, depth+1)
		}
		r.member(out, seen, Member{key, at, value})
		next, more := r.nextLine()
		if !more || next != column {
			r.indented(next, column, more)
			return out
		}
		if !r.isKey() {
			r.fail(r.pos, "must be a key, a colon and a space, or be indented more")
		}
	}
}

// belowKey reads the value of a key from the lines below it, where a list may begin
// in the key's own column.
func (r *yamlReader) belowKey(column, depth int) *Node {
	start := r.pos
	r.toLineEnd()
	next, more := r.content()
	dash := more && next == column && r.isDash()
	r.pos = start
	if dash {
		return r.below(column, column, depth)
	}
	return r.below(column+1, column, depth)
}

func (r *yamlReader) member(out *Node, seen map[string]bool, m Member) {
	message := keyProblem(m.Key, len(seen))
	if seen[m.Key] {
		message = fmt.Sprintf("the key %q is given twice", Shown(m.Key))
	}
	if message != "" {
		r.found.add(m.At, message)
		return
	}
	seen[m.Key] = true
	out.Members = append(out.Members, m)
}
