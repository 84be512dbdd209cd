// Package csvsafe writes CSV that a spreadsheet opens without running anything in it.
//
// What agents send ends up in cells, and a spreadsheet takes a cell that begins with =, +, - or @ for a formula: it
// may call a program, or send the row next to it away. Such a text gets an apostrophe in front, which makes
// spreadsheets show it as text. The beginning of a cell is not enough: where the list separator is a semicolon, a
// spreadsheet cuts "a;=f()" in two in spite of its quotes. So what follows a semicolon, a tab or a line break is
// treated in the same way. JSON must keep its meaning: its semicolons are escaped instead.
//
// Original removes the apostrophes again.
package csvsafe

import (
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Row is a line of a table. Add cells in the order of the header. The zero value is an empty line.
type Row struct {
	text  []byte
	cells int
}

// Text adds a cell of any text.
func (r *Row) Text(text string) { r.quoted(Safe(text)) }

// JSON adds a cell of JSON without changing its meaning. It must be an object or an array: neither begins a formula.
func (r *Row) JSON(text string) { r.quoted(flatten.Replace(text)) }

// flatten leaves JSON on one line without a semicolon. In JSON, a semicolon can only be in a string, and the others
// only between values.
var flatten = strings.NewReplacer(";", `\u003b`, "\t", " ", "\r", " ", "\n", " ")

// Number adds a cell of a whole number.
func (r *Row) Number(n int64) {
	r.next()
	r.text = strconv.AppendInt(r.text, n, 10)
}

// Decimal adds a cell of a number, with as many digits as it needs.
func (r *Row) Decimal(n float64) {
	r.next()
	r.text = strconv.AppendFloat(r.text, n, 'f', -1, 64)
}

// Time adds a cell of a time.
func (r *Row) Time(t time.Time) {
	r.next()
	r.text = t.UTC().AppendFormat(r.text, time.RFC3339Nano)
}

// Empty adds a cell with nothing in it, which is not the same as an empty text.
func (r *Row) Empty() { r.next() }

// Cells is the number of cells.
func (r *Row) Cells() int { return r.cells }

// End returns the line with its line break, and begins the next one, which reuses its memory.
func (r *Row) End() []byte {
	line := append(r.text, '\r', '\n')
	r.text, r.cells = line[:0], 0
	return line
}

func (r *Row) next() {
	if r.cells++; r.cells > 1 {
		r.text = append(r.text, ',')
	}
}

func (r *Row) quoted(text string) {
	r.next()
	r.text = append(r.text, '"')
	for {
		before, after, found := strings.Cut(text, `"`)
		r.text = append(r.text, before...)
		if !found {
			break
		}
		r.text = append(r.text, `""`...)
		text = after
	}
	r.text = append(r.text, '"')
}

// Safe makes a text begin no formula in any cell that a spreadsheet makes of it.
func Safe(text string) string {
	if !strings.ContainsAny(text, starts) {
		return text
	}
	var safe strings.Builder
	eachPart(text, func(part string) {
		if isFormula(part) {
			safe.WriteByte('\'')
		}
		safe.WriteString(part)
	})
	return safe.String()
}

// Original is the text that was given to Safe.
func Original(safe string) string {
	var text strings.Builder
	eachPart(safe, func(part string) {
		if rest, marked := strings.CutPrefix(part, "'"); marked && isFormula(rest) {
			part = rest
		}
		text.WriteString(part)
	})
	return text.String()
}

const (
	// starts are the characters that begin a formula, and their full-width forms, which some locales treat alike. Some
	// spreadsheets drop a tab or line break at the beginning, so that what follows is the beginning.
	starts = "=+-@\t\r\n\uff1d\uff0b\uff0d\uff20"
	// separators end a cell in some spreadsheet, quoted or not.
	separators = ";\t\r\n"
	// ignored may come before a formula: a quote can be taken for that of the cell, blanks are trimmed, some of them
	// are invisible, and an apostrophe of the text's own must not be taken for ours.
	ignored = `'" ` + "\u00a0\u200b\ufeff"
)

// eachPart splits a text into what may become a cell, each with the separator that ends it.
func eachPart(text string, do func(part string)) {
	for text != "" {
		end := strings.IndexAny(text, separators) + 1
		if end == 0 {
			end = len(text)
		}
		do(text[:end])
		text = text[end:]
	}
}

func isFormula(part string) bool {
	first, _ := utf8.DecodeRuneInString(strings.TrimLeft(part, ignored))
	return first != utf8.RuneError && strings.ContainsRune(starts, first)
}
