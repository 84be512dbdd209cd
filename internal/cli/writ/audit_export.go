package writ

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"writ/client"
	"writ/internal/cli"
)

// logExport is what `writ audit export` is asked.
type logExport struct {
	asPerson
	file  string
	since int
}

// exportedLog is what `writ audit export --json` prints.
type exportedLog struct {
	File    string `json:"file"`
	Entries int64  `json:"entries"`
	Bytes   int64  `json:"bytes"`
}

func auditExport(s cli.Streams) *cobra.Command {
	var e logExport
	cmd := &cobra.Command{
		Use: "export", Short: "Export the audit log of an organization, for writ audit verify on any machine",
		Long: `Export the audit log of an organization to a file, or to stdout: a header and a line for each entry, byte for byte what
was hashed. A file gets its name only when the export is complete, and no file is written over. Nothing of an export can
be trusted before writ audit verify has checked it, with the keys of writ audit key.

Viewers get no payloads. The operator exports any log on the server's machine: writd audit export.`,
		Args: cobra.NoArgs,
		PreRunE: func(*cobra.Command, []string) error {
			if e.asJSON && e.file == "" {
				return errors.New("--json tells what was written to a file: give --out")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return e.run(cmd.Context(), s) },
	}
	e.addFlags(cmd)
	cmd.Flags().StringVarP(&e.file, "out", "o", "", "the file to write; stdout unless given")
	cli.NumberFlag(cmd, &e.since, "since", "begin with the entry of this number", 0, maxCount)
	return cmd
}

func (e *logExport) run(ctx context.Context, s cli.Streams) error {
	if err := e.refuseExisting(); err != nil {
		return err
	}
	c, err := e.client(ctx)
	if err != nil {
		return hinted(err, e.signInAgain())
	}
	body, err := c.ExportLog(ctx, e.orgID, int64(e.since))
	if err != nil {
		return hinted(err, e.signInAgain())
	}
	defer body.Close()
	if e.file == "" {
		_, err := e.copy(s, s.Out, body)
		return err
	}
	done, err := e.writeFile(s, body)
	if err != nil {
		return err
	}
	return show(&e.server, s, done, func(s cli.Streams, done exportedLog) error {
		_, err := fmt.Fprintf(s.Err, "writ: exported %s to %s: verify it with writ audit verify\n",
			cli.Entries(done.Entries), cli.Line(done.File))
		return err
	})
}

// copy writes an export, and counts what it has.
func (e *logExport) copy(s cli.Streams, out io.Writer, body io.Reader) (exportedLog, error) {
	progress := cli.NewProgress(s)
	defer progress.End()
	lines := &lineCount{out: out, told: func(n int64) { progress.Say("writ: %d lines so far", n) }}
	size, err := io.Copy(lines, body)
	if err == nil && (lines.lines == 0 || !lines.ended) {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return exportedLog{}, cutOff("", err)
	}
	return exportedLog{File: e.file, Entries: lines.lines - 1, Bytes: size}, nil // the first line is the header
}

// lineCount counts the lines that pass, and knows whether the last is whole.
type lineCount struct {
	out   io.Writer
	lines int64
	ended bool
	told  func(lines int64)
}

func (l *lineCount) Write(text []byte) (int, error) {
	l.lines += int64(bytes.Count(text, []byte("\n")))
	if len(text) > 0 {
		l.ended = text[len(text)-1] == '\n'
	}
	l.told(l.lines)
	return l.out.Write(text)
}

// writeFile writes a temporary file, and gives it its name when it is complete.
func (e *logExport) writeFile(s cli.Streams, body io.Reader) (done exportedLog, err error) {
	part, err := os.CreateTemp(filepath.Dir(e.file), "."+filepath.Base(e.file)+".part-*")
	if err != nil {
		return done, fmt.Errorf("write the export: %w", err)
	}
	defer func() {
		if err != nil {
			_, _ = part.Close(), os.Remove(part.Name())
		}
	}()
	if done, err = e.copy(s, part, body); err != nil {
		return done, err
	}
	if err = errors.Join(part.Sync(), part.Close(), e.refuseExisting()); err == nil {
		err = os.Rename(part.Name(), e.file)
	}
	if err != nil {
		return done, fmt.Errorf("write the export: %w", err)
	}
	return done, nil
}

// refuseExisting refuses to write over a file: it may be the evidence of before.
func (e *logExport) refuseExisting() error {
	if _, err := os.Lstat(e.file); e.file != "" && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s is there already: name another file", e.file)
	}
	return nil
}

// shownText is a text of the log for files: --json wraps it.
func shownText[T any](
	s cli.Streams, use, short, long string, read func(context.Context, *client.Client, string) (T, error),
	text func(T) string,
) *cobra.Command {
	var p asPerson
	cmd := &cobra.Command{
		Use: use, Short: short, Long: long, Args: cobra.NoArgs,
		RunE: asking(&p, s, func(ctx context.Context, c *client.Client, _ []string) (T, error) {
			return read(ctx, c, p.orgID)
		}, func(s cli.Streams, found T) error {
			_, err := io.WriteString(s.Out, cli.Printable(text(found)))
			return err
		}),
	}
	p.addFlags(cmd)
	return cmd
}

func auditKey(s cli.Streams) *cobra.Command {
	return shownText(s, "key", "Print the server's public keys for checkpoints, one a line, for --key of writ audit verify",
		`Print the server's public keys for checkpoints, one a line and the current one first, for --key of writ audit verify.
Compare them with what the server's operator says: whoever forges a log also forges the keys beside it.`,
		func(ctx context.Context, c *client.Client, orgID string) (logKeys, error) {
			keys, err := c.LogKeys(ctx, orgID)
			return logKeys{Keys: keys}, err
		}, func(found logKeys) string { return strings.Join(found.Keys, "\n") + "\n" })
}

// logKeys is what `writ audit key --json` prints.
type logKeys struct {
	Keys []string `json:"keys"`
}

func auditCheckpoint(s cli.Streams) *cobra.Command {
	return shownText(s, "checkpoint", "Print the signed size and root of the log, for --checkpoint of writ audit verify",
		`Print the newest checkpoint of the audit log: its size and root, signed. Save one from time to time, outside the server:
writ audit verify --checkpoint FILE detects a log that was rewritten, cut or forked since.`,
		func(ctx context.Context, c *client.Client, orgID string) (logCheckpoint, error) {
			text, err := c.LogCheckpoint(ctx, orgID)
			return logCheckpoint{Checkpoint: text}, err
		}, func(found logCheckpoint) string { return found.Checkpoint })
}

// logCheckpoint is what `writ audit checkpoint --json` prints.
type logCheckpoint struct {
	Checkpoint string `json:"checkpoint"`
}
