package cli

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// WriteTable writes rows in columns, below the headings. Every cell is one Line. On a terminal the headings are bold,
// and words that say how something stands have a colour.
func WriteTable(out io.Writer, headings string, rows [][]any) error {
	lines := [][]string{strings.Split(headings, "\t")}
	for _, row := range rows {
		lines = append(lines, cellsOf(row))
	}
	var widths []int
	for _, cells := range lines {
		for i, cell := range cells {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	var b strings.Builder
	on := colours(out)
	for i, cells := range lines {
		if i == 0 && on {
			b.WriteString(bold)
		}
		for j, cell := range cells {
			b.WriteString(coloured(cell, on && i > 0))
			if j < len(cells)-1 {
				b.WriteString(strings.Repeat(" ", widths[j]-utf8.RuneCountInString(cell)+columnGap))
			}
		}
		if i == 0 && on {
			b.WriteString(plain)
		}
		b.WriteByte('\n')
	}
	_, err := io.WriteString(out, b.String())
	return err
}

// columnGap is how many spaces are between columns.
const columnGap = 2

// WriteRow writes one row of a table whose other rows are not known yet.
func WriteRow(out io.Writer, row []any) error {
	cells, on := cellsOf(row), colours(out)
	for i, cell := range cells {
		cells[i] = coloured(cell, on)
	}
	_, err := fmt.Fprintln(out, strings.Join(cells, strings.Repeat(" ", columnGap)))
	return err
}

func cellsOf(row []any) []string {
	cells := make([]string, len(row))
	for i, cell := range row {
		cells[i] = Line(fmt.Sprint(cell))
	}
	return cells
}

// Count is a number of things: "1 rule", "2 rules".
func Count[N int | int64](n N, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// Entries is "1 entry", "2 entries".
func Entries(n int64) string {
	if n == 1 {
		return "1 entry"
	}
	return fmt.Sprintf("%d entries", n)
}

// Change is a difference between two versions of a policy.
type Change struct{ Kind, Rule, Field, Old, New string }

// ChangeLines is a line for each difference, with the text before and after below it.
func ChangeLines(changes []Change) string {
	var b strings.Builder
	for _, c := range changes {
		what := c.Field
		if c.Rule != "" {
			what = strings.TrimSpace("rule " + c.Rule + " " + c.Field)
		}
		fmt.Fprintf(&b, "%s: %s\n", Line(what), Line(c.Kind))
		writeLines(&b, "  - ", c.Old)
		writeLines(&b, "  + ", c.New)
	}
	return b.String()
}

func writeLines(b *strings.Builder, mark, text string) {
	for line := range strings.Lines(text) {
		b.WriteString(mark + Line(strings.TrimSuffix(line, "\n")) + "\n")
	}
}
