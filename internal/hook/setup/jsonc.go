package setup

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// node is a value of JSON with comments, and where it stands in the text.
type node struct {
	kind       byte // { or [; any other value is 0
	begin, end int
	items      []item // of an object or a list
}

// item is a member of an object, or an element of a list.
type item struct {
	begin int    // of its name, in an object
	name  string // in an object
	value node
}

// member is the value of a member; nil: there is none.
func (n *node) member(name string) *node {
	for i := range n.items {
		if n.items[i].name == name {
			return &n.items[i].value
		}
	}
	return nil
}

// byteOrderMark is what some editors write at the head of a file, and nobody sees there.
const byteOrderMark = "\ufeff"

var errByteOrderMark = errors.New("a byte order mark stands at its head, which the host does not take: " +
	"save it as UTF-8 without one")

// parse reads JSON with comments, as the host takes it. Nothing is changed, so that comments and order stay.
func parse(text string) (node, error) {
	if strings.HasPrefix(text, byteOrderMark) {
		return node{}, errByteOrderMark
	}
	s := &scanner{text: text}
	s.space()
	if s.at >= len(text) || text[s.at] != '{' {
		return node{}, s.problem("a { is missing")
	}
	top, err := s.value()
	if err != nil {
		return node{}, err
	}
	if s.space(); s.at < len(text) {
		return node{}, s.problem("something stands behind the object")
	}
	return top, nil
}

// Decode reads the host's settings into a value: JSON with comments.
func Decode(text string, into any) error {
	if strings.HasPrefix(text, byteOrderMark) {
		return errByteOrderMark
	}
	s := &scanner{text: text}
	s.space()
	if s.at < len(text) {
		if _, err := s.value(); err != nil {
			return err
		}
		s.space()
	}
	plain := []byte(text)
	for _, comment := range s.comments {
		for i := comment[0]; i < comment[1]; i++ {
			plain[i] = ' '
		}
	}
	return json.Unmarshal(plain, into)
}

// scanner walks over JSON with comments.
type scanner struct {
	text     string
	at       int
	depth    int
	comments [][2]int
}

const maxDepth = 200

func (s *scanner) problem(what string) error {
	return fmt.Errorf("line %d: %s", 1+strings.Count(s.text[:min(s.at, len(s.text))], "\n"), what)
}

// space skips blanks and comments.
func (s *scanner) space() {
	for s.at < len(s.text) {
		rest := s.text[s.at:]
		switch {
		case strings.IndexByte(" \t\r\n", rest[0]) >= 0:
			s.at++
		case strings.HasPrefix(rest, "//"):
			end := strings.IndexByte(rest, '\n')
			if end < 0 {
				end = len(rest)
			}
			s.skip(end)
		case strings.HasPrefix(rest, "/*"):
			end := strings.Index(rest[2:], "*/")
			if end < 0 {
				return // what follows is no JSON
			}
			s.skip(end + 4)
		default:
			return
		}
	}
}

func (s *scanner) skip(comment int) {
	s.comments = append(s.comments, [2]int{s.at, s.at + comment})
	s.at += comment
}

// take skips one byte if it is the next.
func (s *scanner) take(b byte) bool {
	if s.at < len(s.text) && s.text[s.at] == b {
		s.at++
		return true
	}
	return false
}

// member reads a name and its value.
func (s *scanner) member() (it item, err error) {
	it.begin = s.at
	if it.name, err = s.string(); err != nil {
		return it, err
	}
	if s.space(); !s.take(':') {
		return it, s.problem("a colon is missing")
	}
	s.space()
	it.value, err = s.value()
	return it, err
}

func (s *scanner) element() (it item, err error) {
	it.begin = s.at
	it.value, err = s.value()
	return it, err
}

// sequence reads what stands between two brackets, with commas between its items.
func (s *scanner) sequence(closes byte, next func() (item, error)) (n node, err error) {
	if s.depth++; s.depth > maxDepth {
		return n, s.problem("it is nested too deep")
	}
	defer func() { s.depth-- }()
	n = node{kind: s.text[s.at], begin: s.at}
	s.at++
	for s.space(); !s.take(closes); s.space() {
		if len(n.items) > 0 && !s.take(',') {
			return n, s.problem("a comma is missing")
		}
		if s.space(); len(n.items) > 0 && s.at < len(s.text) && s.text[s.at] == closes {
			return n, s.problem("a comma stands before the end, which the host does not take")
		}
		it, err := next()
		if err != nil {
			return n, err
		}
		n.items = append(n.items, it)
	}
	n.end = s.at
	return n, nil
}

// value reads one value.
func (s *scanner) value() (n node, err error) {
	if s.at >= len(s.text) {
		return n, s.problem("it ends in the middle")
	}
	switch n.begin = s.at; s.text[s.at] {
	case '{':
		return s.sequence('}', s.member)
	case '[':
		return s.sequence(']', s.element)
	case '"':
		_, err = s.string()
	default:
		end := strings.IndexAny(s.text[s.at:], ",]} \t\r\n/")
		if end < 0 {
			end = len(s.text) - s.at
		}
		if !json.Valid([]byte(s.text[s.at : s.at+end])) {
			return n, s.problem("a value is missing")
		}
		s.at += end
	}
	n.end = s.at
	return n, err
}

func (s *scanner) string() (value string, err error) {
	begin := s.at
	if !s.take('"') {
		return "", s.problem("a text is missing")
	}
	for s.at < len(s.text) && s.text[s.at] != '"' {
		if s.text[s.at] == '\\' {
			s.at++
		}
		s.at++
	}
	if !s.take('"') || json.Unmarshal([]byte(s.text[begin:s.at]), &value) != nil {
		return "", s.problem("a text is not JSON")
	}
	return value, nil
}
