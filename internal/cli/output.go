package cli

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// WriteTable writes rows in columns, below the headings. Every cell is one Line.
func WriteTable(out io.Writer, headings string, rows [][]any) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, headings)
	for _, row := range rows {
		cells := make([]string, len(row))
		for i, cell := range row {
			cells[i] = Line(fmt.Sprint(cell))
		}
		fmt.Fprintln(table, strings.Join(cells, "\t"))
	}
	return table.Flush()
}

// Count is a number of things: "1 rule", "2 rules".
func Count[N int | int64](n N, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
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
		fmt.Fprintf(&b, "%s: %s\n", Line(what), c.Kind)
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
