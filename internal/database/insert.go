package database

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// maxParameters bounds those of one statement on PostgreSQL, which takes 65,535.
const maxParameters = 6000

// sqliteChunks are how many rows one statement inserts on SQLite: few different
// numbers, because each is a prepared statement.
var sqliteChunks = []int{32, 8, 1}

// Insert runs "head VALUES ... tail" over all rows, in few statements. All rows have
// the same length.
func (tx *Tx) Insert(ctx context.Context, head string, rows [][]any, tail string) error {
	_, err := tx.insert(ctx, head, rows, tail)
	return err
}

// InsertNew is Insert without rows whose key is taken. It returns how many it inserted.
func (tx *Tx) InsertNew(ctx context.Context, head string, rows [][]any) (inserted int64, err error) {
	return tx.insert(ctx, head, rows, `ON CONFLICT DO NOTHING`)
}

func (tx *Tx) insert(ctx context.Context, head string, rows [][]any, tail string) (changed int64, err error) {
	err = tx.inChunks(ctx, head, rows, tail, func(ctx context.Context, text string, some [][]any) error {
		var n int64
		var err error
		if tx.engine == SQLite {
			n, err = tx.execPrepared(ctx, text, some...)
		} else {
			n, err = tx.Exec(ctx, text, tx.inserts.gather(some)...)
		}
		changed += n
		return err
	})
	return changed, err
}

// InsertReturning is Insert whose tail returns rows, which scan reads.
func InsertReturning[T any](
	ctx context.Context, tx *Tx, scan func(Scanner) (T, error), head string, rows [][]any, tail string,
) (returned []T, err error) {
	err = tx.inChunks(ctx, head, rows, tail, func(ctx context.Context, text string, some [][]any) error {
		items, err := Collect(ctx, tx.Prepared(), scan, text, tx.inserts.gather(some)...)
		returned = append(returned, items...)
		return err
	})
	return returned, err
}

// inChunks calls do with one statement after the other. On SQLite they are not
// cancelled, so it checks the time in between.
func (tx *Tx) inChunks(
	ctx context.Context, head string, rows [][]any, tail string,
	do func(ctx context.Context, text string, some [][]any) error,
) error {
	for len(rows) > 0 {
		if err := ctx.Err(); err != nil {
			return err
		}
		n := tx.chunk(len(rows), len(rows[0]))
		if err := do(ctx, tx.insertText(head, n, len(rows[0]), tail), rows[:n]); err != nil {
			return err
		}
		rows = rows[n:]
		tx.inserted += n
	}
	return nil
}

// chunk is how many of the rows the next statement inserts.
func (tx *Tx) chunk(rows, columns int) int {
	if tx.engine == PostgreSQL {
		return min(rows, max(1, maxParameters/columns))
	}
	return sqliteChunks[slices.IndexFunc(sqliteChunks, func(n int) bool { return n <= rows })]
}

// inserts is what the committer keeps of its inserts from one to the next.
type inserts struct {
	texts map[insertKey]string // on SQLite: they are long
	args  []any                // of the running one: one buffer for all, which are many
}

// insertKey is what the text of an insert depends on.
type insertKey struct {
	head, tail string
	rows       int
}

func newInserts() *inserts { return &inserts{texts: map[insertKey]string{}} }

// gather is the parameters of some rows, until it is called again.
func (i *inserts) gather(rows [][]any) []any {
	i.args = i.args[:0]
	for _, row := range rows {
		i.args = append(i.args, row...)
	}
	return i.args
}

// release lets go of what was stored last.
func (i *inserts) release() { clear(i.args[:cap(i.args)]) }

// insertText is the statement for a number of rows.
func (tx *Tx) insertText(head string, rows, columns int, tail string) string {
	if tx.engine == PostgreSQL {
		return head + " " + values(rows, columns, func(n int) string { return "$" + strconv.Itoa(n) }) + " " + tail
	}
	key := insertKey{head, tail, rows}
	text, known := tx.inserts.texts[key]
	if !known {
		// SQLite takes $1 for a name, and looks it up for every value.
		text = head + " " + values(rows, columns, func(int) string { return "?" }) + " " + tail
		tx.inserts.texts[key] = text
	}
	return text
}

// values is a VALUES list with a mark for each parameter, which are counted from 1.
func values(rows, columns int, mark func(n int) string) string {
	var text strings.Builder
	text.WriteString("VALUES ")
	for i := range rows * columns {
		switch {
		case i == 0:
			text.WriteByte('(')
		case i%columns == 0:
			text.WriteString("), (")
		default:
			text.WriteString(", ")
		}
		text.WriteString(mark(i + 1))
	}
	text.WriteByte(')')
	return text.String()
}

// copyHead is the beginning of a copy on SQLite. With OR FAIL SQLite does not prepare to
// undo a statement that fails: the transaction is rolled back anyway.
func copyHead(table string, columns []string) string {
	return fmt.Sprintf(`INSERT OR FAIL INTO %s (%s)`, table, strings.Join(columns, ", "))
}
