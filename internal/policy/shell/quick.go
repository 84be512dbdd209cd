package shell

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// quick reads the text of most commands: words, quotes without expansions, pipes, &&,
// ||, ; and redirections. It makes the tree that the parser makes, without positions, in
// memory that is used again. At any other sign it gives up, and the parser reads the text.
type quick struct {
	text string
	at   int

	words    room[syntax.Word]
	bare     room[syntax.Lit]
	single   room[syntax.SglQuoted]
	double   room[syntax.DblQuoted]
	calls    room[syntax.CallExpr]
	binaries room[syntax.BinaryCmd]
	stmts    room[syntax.Stmt]
	redirs   room[syntax.Redirect]
	inner    room[[1]syntax.WordPart]

	partList  []syntax.WordPart
	wordList  []*syntax.Word
	redirList []*syntax.Redirect
	stmtList  []*syntax.Stmt
}

// room is memory for nodes. What was handed out stays where it is.
type room[T any] struct{ nodes []T }

func (r *room[T]) next() *T {
	if len(r.nodes) == cap(r.nodes) {
		r.nodes = make([]T, 0, 32)
	}
	r.nodes = append(r.nodes, *new(T))
	return &r.nodes[len(r.nodes)-1]
}

// reset makes all memory free again.
func (q *quick) reset() {
	q.words.nodes, q.bare.nodes, q.single.nodes = q.words.nodes[:0], q.bare.nodes[:0], q.single.nodes[:0]
	q.double.nodes, q.calls.nodes, q.binaries.nodes = q.double.nodes[:0], q.calls.nodes[:0], q.binaries.nodes[:0]
	q.stmts.nodes, q.redirs.nodes, q.inner.nodes = q.stmts.nodes[:0], q.redirs.nodes[:0], q.inner.nodes[:0]
	q.partList, q.wordList = q.partList[:0], q.wordList[:0]
	q.redirList, q.stmtList = q.redirList[:0], q.stmtList[:0]
}

// quickSigns are the signs of words without quotes, besides letters and digits.
var quickSigns = signs("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./,:@%+=~^*?{}")

// reserved begin a command that is no simple one.
var reserved = names(`! [[ ]] { } case coproc do done elif else esac fi for function if in select then time until while
	declare local export readonly typeset nameref let`)

func (q *quick) read(text string) (list []*syntax.Stmt, ok bool) {
	q.text, q.at = text, 0
	first := len(q.stmtList)
	for q.blanks(); q.at < len(text); q.blanks() {
		st := q.list()
		if st == nil {
			return nil, false
		}
		q.stmtList = append(q.stmtList, st)
		if !q.got(";") && q.at < len(text) {
			return nil, false
		}
	}
	return q.stmtList[first:], true
}

func (q *quick) blanks() {
	for q.at < len(q.text) && (q.text[q.at] == ' ' || q.text[q.at] == '\t') {
		q.at++
	}
}

func (q *quick) got(sign string) bool {
	found := strings.HasPrefix(q.text[q.at:], sign)
	if found {
		q.at += len(sign)
	}
	return found
}

func (q *quick) list() *syntax.Stmt {
	st := q.pipe()
	for st != nil {
		switch {
		case q.got("&&"):
			st = q.join(syntax.AndStmt, st, q.pipe())
		case q.got("||"):
			st = q.join(syntax.OrStmt, st, q.pipe())
		default:
			return st
		}
	}
	return nil
}

func (q *quick) pipe() *syntax.Stmt {
	st := q.simple()
	for st != nil && !strings.HasPrefix(q.text[q.at:], "||") && q.got("|") {
		st = q.join(syntax.Pipe, st, q.simple())
	}
	return st
}

func (q *quick) join(op syntax.BinCmdOperator, x, y *syntax.Stmt) *syntax.Stmt {
	if y == nil {
		return nil
	}
	b := q.binaries.next()
	b.Op, b.X, b.Y = op, x, y
	st := q.stmts.next()
	st.Cmd = b
	return st
}

// simple reads words and redirections.
func (q *quick) simple() *syntax.Stmt {
	words, redirs := len(q.wordList), len(q.redirList)
	for q.blanks(); q.at < len(q.text) && strings.IndexByte("|&;", q.text[q.at]) < 0; q.blanks() {
		start := q.at
		word := q.word()
		number := ""
		if q.redirects() {
			if word != nil && strings.Trim(q.text[start:q.at], "0123456789") == "" {
				word, number = nil, q.text[start:q.at] // 2>file
			}
			if word != nil && (len(word.Parts) > 1 || q.text[start] == '{') || !q.redirect(number) {
				return nil
			}
		} else if word == nil {
			return nil // a sign that we do not read
		}
		if word != nil {
			if len(q.wordList) == words && begins(word) {
				return nil
			}
			q.wordList = append(q.wordList, word)
		}
	}
	if len(q.wordList) == words && len(q.redirList) == redirs {
		return nil
	}
	st := q.stmts.next()
	st.Redirs = q.redirList[redirs:len(q.redirList):len(q.redirList)]
	if len(q.wordList) > words {
		call := q.calls.next()
		call.Args = q.wordList[words:len(q.wordList):len(q.wordList)]
		st.Cmd = call
	}
	return st
}

func (q *quick) redirects() bool {
	return q.at < len(q.text) && (q.text[q.at] == '>' || q.text[q.at] == '<')
}

// begins reports whether a first word is an assignment, or of other syntax.
func begins(word *syntax.Word) bool {
	lit, ok := word.Parts[0].(*syntax.Lit)
	return ok && (reserved[lit.Value] || strings.ContainsAny(lit.Value, "={}"))
}

func (q *quick) redirect(number string) bool {
	r := q.redirs.next()
	switch {
	case q.got(">>"):
		r.Op = syntax.AppOut
	case q.got(">&"):
		r.Op = syntax.DplOut
	case q.got(">"):
		r.Op = syntax.RdrOut
	case q.got("<"):
		r.Op = syntax.RdrIn
	}
	if number != "" {
		r.N = q.bare.next()
		r.N.Value = number
	}
	q.blanks()
	r.Word = q.word()
	q.redirList = append(q.redirList, r)
	return r.Word != nil && !q.redirects()
}

// word reads a word, or is nil.
func (q *quick) word() *syntax.Word {
	first := len(q.partList)
	for q.at < len(q.text) {
		part := q.part()
		if part == nil {
			break
		}
		q.partList = append(q.partList, part)
	}
	if len(q.partList) == first {
		return nil
	}
	word := q.words.next()
	word.Parts = q.partList[first:len(q.partList):len(q.partList)]
	return word
}

func (q *quick) part() syntax.WordPart {
	rest := q.text[q.at:]
	switch rest[0] {
	case '\'':
		if text, ok := q.quoted(rest, "'"); ok {
			part := q.single.next()
			part.Value = text
			return part
		}
		return nil
	case '"':
		if text, ok := q.quoted(rest, "\"$`\\"); ok {
			part := q.double.next()
			if text != "" {
				lit := q.bare.next()
				lit.Value = text
				inner := q.inner.next()
				inner[0] = lit
				part.Parts = inner[:]
			}
			return part
		}
		return nil
	}
	end := 0
	for end < len(rest) && quickSigns[rest[end]] {
		end++
	}
	if end == 0 {
		return nil
	}
	q.at += end
	lit := q.bare.next()
	lit.Value = rest[:end]
	return lit
}

// quoted reads a quoted text up to the first of some signs, which must be the quote.
func (q *quick) quoted(rest, stops string) (text string, ok bool) {
	for i := 1; i < len(rest); i++ {
		switch c := rest[i]; {
		case c == rest[0]:
			q.at += i + 1
			return rest[1:i], true
		case c < ' ' || c >= 0x7f || strings.IndexByte(stops, c) >= 0:
			return "", false
		}
	}
	return "", false
}
