package writ

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"writ/client"
	"writ/internal/cli"
)

// exporting is what `writ traces export` is asked.
type exporting struct {
	asPerson
	filter                client.TraceFilter
	format, rows, file    string
	minDuration           int64
	errors, withoutErrors bool
	force                 bool
	progress              *cli.Progress
}

func tracesExport(s cli.Streams) *cobra.Command {
	e := exporting{format: "ndjson", rows: "traces"}
	cmd := &cobra.Command{
		Use: "export [TRACE]", Short: "Export traces, spans or sessions to a file or to stdout",
		Args: cobra.MaximumNArgs(1),
		Long: `Export the traces of an organization, their spans or its sessions, as lines of JSON or as a table; or one TRACE, or
with --format json one session, as JSON. A file gets its name only when it is complete, and is written over only with
--force; on stdout the last line says whether the export is complete. One that the server cuts is continued. In tables, texts that a spreadsheet would run begin with
an apostrophe.`,
		PreRunE: e.check,
		RunE:    func(cmd *cobra.Command, args []string) error { return e.run(cmd.Context(), s, args) },
	}
	e.addFlags(cmd)
	f := cmd.Flags()
	cli.ChoiceFlag(cmd, &e.format, "format", "ndjson, csv; json for one trace or session", "ndjson", "csv", "json")
	cli.ChoiceFlag(cmd, &e.rows, "rows", "what a line is: traces (in ndjson with their spans), spans or sessions",
		"traces", "spans", "sessions")
	f.StringVarP(&e.file, "out", "o", "", "the file to write; stdout unless given")
	f.BoolVar(&e.force, "force", false, "write over a file that is there")
	daysFlag(cmd, &e.filter.Days, "how many days back, 1 to 90")
	f.StringVar(&e.filter.SessionID, "session", "", "of this session, by its id; --rows sessions lists them")
	f.StringVar(&e.filter.Name, "name", "", "traces of exactly this name")
	cli.ChoiceFlag(cmd, &e.filter.Status, "status",
		"of this status: ok, error, denied; of sessions active, completed, expired, error",
		"ok", "error", "denied", "active", "completed", "expired")
	f.StringVar(&e.filter.UserID, "user", "", "of this person, by id or e-mail")
	f.StringVar(&e.filter.AgentID, "agent", "", "of exactly this agent")
	f.Int64Var(&e.minDuration, "min-duration", 0, "traces that took at least so many milliseconds")
	f.BoolVar(&e.errors, "errors", false, "traces whose status is not ok")
	f.BoolVar(&e.withoutErrors, "no-errors", false, "traces whose status is ok")
	cmd.MarkFlagsMutuallyExclusive("errors", "no-errors", "status")
	return cmd
}

// one reports whether a single trace or session is exported.
func (e *exporting) one(args []string) bool { return len(args) == 1 || e.format == "json" }

// states are those of what is exported.
func (e *exporting) states() []string {
	if e.rows == "sessions" {
		return sessionStates
	}
	return traceStates
}

func (e *exporting) check(cmd *cobra.Command, args []string) error {
	switch {
	case e.filter.Status != "" && !slices.Contains(e.states(), e.filter.Status):
		return fmt.Errorf("--status of %s must be one of %s", e.rows, strings.Join(e.states(), ", "))
	case len(args) == 1 && cmd.Flags().Changed("format") && e.format != "json":
		return errors.New("one trace is exported as json")
	case len(args) == 0 && e.format == "json" && e.filter.SessionID == "":
		return errors.New("--format json is for one trace or session: name a TRACE, or give --session")
	case e.rows == "sessions" && e.filter.SessionID != "" && e.format != "json":
		return errors.New("one session is exported with --format json")
	case e.asJSON && e.file == "":
		return errors.New("--json tells what was written to a file: give --out")
	}
	if cmd.Flags().Changed("min-duration") {
		e.filter.MinDurationMs = &e.minDuration
	}
	if e.errors || e.withoutErrors {
		e.filter.HasError = &e.errors
	}
	return idOfSession(&e.filter.SessionID)
}

func (e *exporting) run(ctx context.Context, s cli.Streams, args []string) error {
	e.progress = cli.NewProgress(s)
	defer e.progress.End()
	if e.file == "" {
		lines, err := e.write(ctx, s.Out, args)
		if err == nil {
			e.warnOfNone(s, lines, args)
		}
		return err
	}
	lines, err := e.writeFile(ctx, args)
	e.progress.End()
	if err != nil {
		return err
	}
	if e.asJSON {
		return cli.WriteJSON(s.Out, map[string]any{"file": e.file, "lines": lines})
	}
	what := cli.Count(lines, strings.TrimSuffix(e.rows, "s"))
	if e.one(args) {
		what = "it"
	}
	fmt.Fprintf(s.Err, "writ: exported %s to %s\n", what, cli.Line(e.file))
	e.warnOfNone(s, lines, args)
	return nil
}

// furthest is how many days back the lists of a server reach.
const furthest = 90

// warnOfNone says which days an export without lines covers.
func (e *exporting) warnOfNone(s cli.Streams, lines int64, args []string) {
	if lines > 0 || e.one(args) {
		return
	}
	hint := ""
	if e.filter.Days < furthest {
		hint = "; --days reaches further"
	}
	fmt.Fprintf(s.Err, "writ: 0 %s of the last %s%s\n", e.rows, cli.Count(e.filter.Days, "day"), hint)
}

// writeFile writes a temporary file, and gives it its name when it is complete.
func (e *exporting) writeFile(ctx context.Context, args []string) (lines int64, err error) {
	if err := e.mayWrite(); err != nil {
		return 0, err
	}
	part, err := os.CreateTemp(filepath.Dir(e.file), "."+filepath.Base(e.file)+".part-*")
	if err != nil {
		return 0, fmt.Errorf("write the export: no file can be written in %s: %w", filepath.Dir(e.file), cause(err))
	}
	defer func() {
		if err != nil {
			_, _ = part.Close(), os.Remove(part.Name())
		}
	}()
	if lines, err = e.write(ctx, part, args); err != nil {
		return 0, err
	}
	if err = errors.Join(part.Sync(), part.Close(), e.mayWrite()); err == nil {
		err = os.Rename(part.Name(), e.file)
	}
	if err != nil {
		return 0, fmt.Errorf("write the export: %w", err)
	}
	return lines, nil
}

// mayWrite refuses to write over a file unasked, and to replace a device or a folder, which renaming would try.
func (e *exporting) mayWrite() error {
	there, err := os.Stat(e.file)
	switch {
	case err == nil && !there.Mode().IsRegular():
		return fmt.Errorf("write the export: %s is not a file", cli.Line(e.file))
	case err == nil && !e.force:
		return fmt.Errorf("%s is there already: name another file, or give --force", cli.Line(e.file))
	}
	return nil
}

// write writes the export, and continues one of lines that the server cuts.
func (e *exporting) write(ctx context.Context, out io.Writer, args []string) (lines int64, err error) {
	if e.one(args) {
		return 0, e.writeOne(ctx, out, args)
	}
	all := &exportLines{out: out, csv: e.format == "csv", told: func(lines int64) {
		e.progress.Say("writ: %d %s so far", lines, e.rows)
	}}
	for cursor := ""; ; {
		body, err := e.open(ctx, func(c *client.Client, org string) (io.ReadCloser, error) {
			if e.rows == "sessions" {
				f := client.SessionFilter{
					Days: e.filter.Days, Status: e.filter.Status, UserID: e.filter.UserID, AgentID: e.filter.AgentID,
				}
				f.Cursor = cursor
				return c.ExportSessions(ctx, org, e.format, f)
			}
			f := e.filter
			f.Cursor = cursor
			return c.ExportTraces(ctx, org, client.TraceExport{TraceFilter: f, Format: e.format, Rows: e.rows})
		})
		if err != nil {
			return 0, err
		}
		end, err := all.copy(body)
		body.Close()
		switch {
		case end.Complete:
			return all.lines, nil
		case end.Cursor == "" || end.Cursor == cursor:
			return 0, cutOff(end.Message, err)
		}
		cursor = end.Cursor
	}
}

// cutOff is the error of an export that is not complete.
func cutOff(message string, cause error) error {
	switch {
	case message != "":
		return fmt.Errorf("the export was cut off: %s", cli.Line(message))
	case cause != nil:
		return fmt.Errorf("the export was cut off: %w", cause)
	}
	return errors.New("the export was cut off: its last line is missing")
}

func (e *exporting) writeOne(ctx context.Context, out io.Writer, args []string) error {
	body, err := e.open(ctx, func(c *client.Client, org string) (io.ReadCloser, error) {
		if len(args) == 1 {
			return c.ExportTrace(ctx, org, cmp.Or(uuidOf(args[0]), args[0]))
		}
		return c.ExportSession(ctx, org, e.filter.SessionID)
	})
	if err != nil {
		return err
	}
	defer body.Close()
	if _, err := io.Copy(out, body); err != nil {
		return cutOff("", err)
	}
	_, err = io.WriteString(out, "\n")
	return err
}

// open begins an export, with the credentials of the moment.
func (e *exporting) open(
	ctx context.Context, begin func(c *client.Client, org string) (io.ReadCloser, error),
) (io.ReadCloser, error) {
	c, err := e.client(ctx)
	if err != nil {
		return nil, err
	}
	org, err := e.organization(ctx, c)
	if err != nil {
		return nil, hinted(err, e.signInAgain())
	}
	if err := e.idOfPerson(ctx, c, &e.filter.UserID); err != nil {
		return nil, hinted(err, e.signInAgain())
	}
	body, err := begin(c, org)
	return body, hinted(err, e.signInAgain())
}
