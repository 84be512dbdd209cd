package shell

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// quick reads the text of most commands: words, quotes, $name, $( ), pipes, &&, ||, ;,
// redirections, assignments, for and testSigns in [[ ]]. It makes the tree that the
// parser makes, without positions, in memory that is used again. At any other sign it
// gives up, and the parser reads the text.
type quick struct {
	text   string
	at     int
	failed bool

	words    memory[syntax.Word]
	bare     memory[syntax.Lit]
	single   memory[syntax.SglQuoted]
	double   memory[syntax.DblQuoted]
	params   memory[syntax.ParamExp]
	substs   memory[syntax.CmdSubst]
	assigns  memory[syntax.Assign]
	calls    memory[syntax.CallExpr]
	binaries memory[syntax.BinaryCmd]
	stmts    memory[syntax.Stmt]
	redirs   memory[syntax.Redirect]
	loops    memory[quickLoop]
	tests    memory[quickTest]

	partList   pile[syntax.WordPart]
	wordList   pile[*syntax.Word]
	assignList pile[*syntax.Assign]
	redirList  pile[*syntax.Redirect]
	stmtList   pile[*syntax.Stmt]

	noted []syntax.Node          // those that variables are gathered from
	all   []interface{ reset() } // the memory above
}

// pile is memory for lists: those that are being read, within each other, and those that are complete.
type pile[T any] struct {
	open     []T
	complete memory[T]
}

func (p *pile[T]) add(item T) { p.open = append(p.open, item) }

// take completes the list that began at an index.
func (p *pile[T]) take(first int) []T {
	list := append(p.complete.room(len(p.open)-first), p.open[first:]...)
	p.open = p.open[:first]
	return list
}

func (p *pile[T]) reset() {
	p.open = p.open[:0]
	p.complete.reset()
}

type (
	quickLoop struct {
		clause syntax.ForClause
		iter   syntax.WordIter
	}
	quickTest struct {
		clause syntax.TestClause
		binary syntax.BinaryTest
	}
)

// reset makes all memory free again.
func (q *quick) reset() {
	if q.all == nil {
		q.all = []interface{ reset() }{
			&q.words, &q.bare, &q.single, &q.double, &q.params, &q.substs, &q.assigns, &q.calls, &q.binaries, &q.stmts,
			&q.redirs, &q.loops, &q.tests, &q.partList, &q.wordList, &q.assignList, &q.redirList, &q.stmtList,
		}
	}
	for _, m := range q.all {
		m.reset()
	}
	q.noted = q.noted[:0]
}

// reserved begin a command that is no simple one.
var reserved = names(`! [[ ]] { } case coproc do done elif else esac fi for function if in select then time until while
	declare local export readonly typeset nameref let`)

// read reads a text. What it noted are the nodes that variables are gathered from.
func (q *quick) read(text string) (list []*syntax.Stmt, noted []syntax.Node, ok bool) {
	q.text, q.at, q.failed = text, 0, false
	first := len(q.noted)
	list, ok = q.list("")
	return list, q.noted[first:], ok && !q.failed && q.at == len(text)
}

// list reads commands up to a sign or word that ends them, or to the end of the text.
func (q *quick) list(end string) (list []*syntax.Stmt, ok bool) {
	first := len(q.stmtList.open)
	for q.blanks(); q.at < len(q.text) && (end == "" || !q.stands(end)); q.blanks() {
		st := q.chain()
		if st == nil {
			return nil, false
		}
		q.stmtList.add(st)
		if !q.got(";") {
			ok = q.at == len(q.text) || end == ")" && q.text[q.at] == ')'
			return q.stmtList.take(first), ok
		}
	}
	return q.stmtList.take(first), true
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

// stands reports whether a word, or the sign that ends a substitution, comes next.
func (q *quick) stands(word string) bool {
	rest, found := strings.CutPrefix(q.text[q.at:], word)
	return found && (word == ")" || rest == "" || strings.IndexByte(" \t;|&<>)", rest[0]) >= 0)
}

// ends reports whether a command ends here.
func (q *quick) ends() bool {
	return q.at == len(q.text) || endSigns[q.text[q.at]]
}

func (q *quick) gotWord(word string) bool { return q.stands(word) && q.got(word) }

func (q *quick) chain() *syntax.Stmt {
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
	st := q.command()
	for st != nil && !strings.HasPrefix(q.text[q.at:], "||") && q.got("|") {
		st = q.join(syntax.Pipe, st, q.command())
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

func (q *quick) command() *syntax.Stmt {
	q.blanks()
	switch {
	case q.gotWord("for"):
		return q.compound(q.loop())
	case q.gotWord("[["):
		return q.compound(q.test())
	}
	return q.simple()
}

// compound is a command that is no simple one, with its redirections.
func (q *quick) compound(cmd syntax.Command) *syntax.Stmt {
	if cmd == nil {
		return nil
	}
	var st *syntax.Stmt
	if q.blanks(); q.ends() {
		st = q.stmts.next()
	} else if st = q.simple(); st == nil || st.Cmd != nil {
		return nil
	}
	st.Cmd = cmd
	return st
}

// loop reads for NAME in WORD...; do LIST; done.
func (q *quick) loop() syntax.Command {
	q.blanks()
	l := q.loops.next()
	c, iter := &l.clause, &l.iter
	q.noted = append(q.noted, c)
	if n := q.name(); n > 0 {
		iter.Name = q.lit(n)
	}
	q.blanks()
	if iter.Name == nil || !q.gotWord("in") {
		return nil
	}
	first := len(q.wordList.open)
	for q.blanks(); !q.got(";"); q.blanks() {
		word := q.word()
		if word == nil || q.redirects() {
			return nil
		}
		q.wordList.add(word)
	}
	iter.Items, c.Loop = q.wordList.take(first), iter
	q.blanks()
	if !q.gotWord("do") {
		return nil
	}
	var ok bool
	if c.Do, ok = q.list("done"); !ok || len(c.Do) == 0 || !q.gotWord("done") {
		return nil
	}
	return c
}

// testSigns are the operators of [[ ]] that are read.
var testSigns = map[string]syntax.BinTestOperator{
	"-eq": syntax.TsEql, "-ne": syntax.TsNeq, "-lt": syntax.TsLss, "-le": syntax.TsLeq, "-gt": syntax.TsGtr,
	"-ge": syntax.TsGeq, "==": syntax.TsMatch, "!=": syntax.TsNoMatch,
}

// test reads WORD OPERATOR WORD ]].
func (q *quick) test() syntax.Command {
	q.blanks()
	if q.at < len(q.text) && strings.IndexByte("-!", q.text[q.at]) >= 0 {
		return nil // an operator with one operand
	}
	x := q.word()
	q.blanks()
	sign, _, _ := strings.Cut(q.text[q.at:], " ")
	op, known := testSigns[sign]
	q.at += len(sign)
	q.blanks()
	y := q.word()
	if x == nil || y == nil || !known || !q.got(" ") {
		return nil
	}
	if q.blanks(); !q.gotWord("]]") {
		return nil
	}
	t := q.tests.next()
	t.binary.Op, t.binary.X, t.binary.Y = op, x, y
	t.clause.X = &t.binary
	return &t.clause
}
