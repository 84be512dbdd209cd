package shell

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// quickSigns are the signs of words without quotes, besides letters and digits; nameSigns those of names.
var (
	nameSigns  = signs("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")
	endSigns   = signs("|&;)")
	quickSigns = signs("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./,:@%+=~^*?{}")
)

// simple reads assignments, words and redirections.
func (q *quick) simple() *syntax.Stmt {
	words, redirs, assigns := len(q.wordList.open), len(q.redirList.open), len(q.assignList.open)
	for q.blanks(); !q.ends(); q.blanks() {
		start := q.at
		if len(q.wordList.open) == words && q.assign() {
			continue
		}
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
			if len(q.wordList.open) == words && begins(word) {
				return nil
			}
			q.wordList.add(word)
		}
	}
	args, set := q.wordList.take(words), q.assignList.take(assigns)
	if len(args)+len(set)+len(q.redirList.open)-redirs == 0 {
		return nil
	}
	st := q.stmts.next()
	st.Redirs = q.redirList.take(redirs)
	if len(args)+len(set) > 0 {
		call := q.calls.next()
		call.Args, call.Assigns = args, set
		st.Cmd = call
		q.noted = append(q.noted, call)
	}
	return st
}

var beginSigns = signs("={}")

// begins reports whether a first word is an assignment that we do not read, or of other syntax.
func begins(word *syntax.Word) bool {
	lit, ok := word.Parts[0].(*syntax.Lit)
	return ok && (containsAny(lit.Value, &beginSigns) || reserved[lit.Value])
}

// assign reads NAME=WORD.
func (q *quick) assign() bool {
	n := q.name()
	if n == 0 || !strings.HasPrefix(q.text[q.at+n:], "=") {
		return false
	}
	a := q.assigns.next()
	q.noted = append(q.noted, a)
	a.Name = q.lit(n)
	q.at++
	a.Value = q.word()
	q.assignList.add(a)
	return true
}

// name is the length of the name of a variable that comes next, or 0.
func (q *quick) name() int {
	end := q.at
	for end < len(q.text) && nameSigns[q.text[end]] {
		end++
	}
	if end == q.at || q.text[q.at] <= '9' {
		return 0
	}
	return end - q.at
}

// lit takes a literal of some length.
func (q *quick) lit(length int) *syntax.Lit {
	lit := q.bare.next()
	lit.Value = q.text[q.at : q.at+length]
	q.at += length
	return lit
}

func (q *quick) redirects() bool {
	return q.at < len(q.text) && (q.text[q.at] == '>' || q.text[q.at] == '<')
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
	q.redirList.add(r)
	return r.Word != nil && !q.redirects()
}

// word reads a word, or is nil.
func (q *quick) word() *syntax.Word {
	first := len(q.partList.open)
	for q.at < len(q.text) {
		part := q.part()
		if part == nil {
			break
		}
		q.partList.add(part)
	}
	parts := q.partList.take(first)
	if len(parts) == 0 {
		return nil
	}
	word := q.words.next()
	word.Parts = parts
	return word
}

func (q *quick) part() syntax.WordPart {
	switch q.text[q.at] {
	case '\'':
		end := 1 + strings.IndexByte(q.text[q.at+1:], '\'')
		if end == 0 || !printed(q.text[q.at:q.at+end]) {
			return nil
		}
		part := q.single.next()
		part.Value = q.text[q.at+1 : q.at+end]
		q.at += end + 1
		return part
	case '"':
		return q.quoted()
	case '$':
		return q.expansion()
	}
	return q.literal(&quickSigns)
}

// literal reads signs of a set, or is nil.
func (q *quick) literal(set *[256]bool) syntax.WordPart {
	end := q.at
	for end < len(q.text) && set[q.text[end]] {
		end++
	}
	if end == q.at {
		return nil
	}
	return q.lit(end - q.at)
}

// printed reports whether a text has only letters and signs of ASCII.
func printed(text string) bool {
	for i := range len(text) {
		if text[i] < ' ' || text[i] >= 0x7f {
			return false
		}
	}
	return true
}

// innerSigns are those that stand for themselves in double quotes.
var innerSigns = func() (set [256]bool) {
	for c := ' '; c < 0x7f; c++ {
		set[c] = !strings.ContainsRune("\"$`\\", c)
	}
	return set
}()

// quoted reads a text in double quotes.
func (q *quick) quoted() syntax.WordPart {
	part, first := q.double.next(), len(q.partList.open)
	for q.at++; q.at < len(q.text) && q.text[q.at] != '"'; {
		inner := q.literal(&innerSigns)
		if inner == nil {
			inner = q.expansion()
		}
		if inner == nil {
			break
		}
		q.partList.add(inner)
	}
	part.Parts = q.partList.take(first)
	if !q.got(`"`) {
		return q.giveUp()
	}
	return part
}

// giveUp leaves the text to the parser.
func (q *quick) giveUp() syntax.WordPart {
	q.at, q.failed = len(q.text), true
	return nil
}

// expansion reads $name or $( ), or is nil.
func (q *quick) expansion() syntax.WordPart {
	if !q.got("$") {
		return nil
	}
	if n := q.name(); n > 0 {
		part := q.params.next()
		part.Short, part.Param = true, q.lit(n)
		return part
	}
	if !q.got("(") || strings.HasPrefix(q.text[q.at:], "(") {
		return q.giveUp()
	}
	part := q.substs.next()
	list, ok := q.list(")")
	if !ok || !q.got(")") {
		return q.giveUp()
	}
	part.Stmts = list
	return part
}
