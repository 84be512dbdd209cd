package database

import (
	"context"
	"os"
	"os/exec"
	"strings"
)

// DumpedRows reads a table from a file of DumpPostgres, without a database, so that a restore can look before it loads:
// the rows, each with its columns by name, in PostgreSQL's text form. A table that the file does not have has no rows.
func DumpedRows(ctx context.Context, path, table string) ([]map[string]string, error) {
	var out strings.Builder
	cmd := exec.CommandContext(ctx, "pg_restore", "--data-only", "--table="+table, "--file=-", path)
	cmd.Env = os.Environ()
	cmd.Stdout = &out
	if err := runTool(cmd); err != nil {
		return nil, err
	}
	return copiedRows(out.String()), nil
}

// copiedRows reads the rows of a COPY statement. Escapes but that of the backslash stay as they are: no value that we
// look for holds a tab or a line break.
func copiedRows(script string) (rows []map[string]string) {
	var columns []string
	for line := range strings.Lines(script) {
		line = strings.TrimRight(line, "\r\n")
		switch {
		case columns == nil:
			columns = copiedColumns(line)
		case line == `\.`:
			return rows
		default:
			row := map[string]string{}
			for i, value := range strings.Split(line, "\t") {
				if i < len(columns) {
					row[columns[i]] = strings.ReplaceAll(value, `\\`, `\`)
				}
			}
			rows = append(rows, row)
		}
	}
	return rows
}

// copiedColumns are the names in a line like COPY public.signing_key (id, purpose) FROM stdin; and none in others.
func copiedColumns(line string) []string {
	list, isCopy := strings.CutSuffix(line, ") FROM stdin;")
	_, list, hasColumns := strings.Cut(list, " (")
	if !isCopy || !hasColumns || !strings.HasPrefix(line, "COPY ") {
		return nil
	}
	return strings.Split(list, ", ")
}
