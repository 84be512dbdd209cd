package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"
)

// confinedStarts is how often each way of running a command is timed.
const confinedStarts = 201

// mostAdded is what Landlock and the filter may add to a command.
const mostAdded = 3 * time.Millisecond

// confinedRuns are times of one command: alone, with Landlock and the filter, and with
// namespaces too.
type confinedRuns struct{ bare, flat, full []time.Duration }

func (b *bench) run(ctx context.Context) error {
	c, err := measureConfined(ctx, b.writ)
	if err != nil {
		return err
	}
	return c.print()
}

// measureConfined runs /bin/true in the three ways in turns.
func measureConfined(ctx context.Context, writ string) (c confinedRuns, err error) {
	dir, err := os.MkdirTemp("", "writ-bench-")
	if err != nil {
		return c, err
	}
	defer os.RemoveAll(dir)
	if writ, err = installed(writ, dir); err != nil {
		return c, err
	}
	for range confinedStarts {
		for _, way := range []struct {
			times   *[]time.Duration
			command []string
		}{
			{&c.bare, []string{"/bin/true"}},
			{&c.flat, []string{writ, "run", "--without", "namespaces", "--without", "processes", "--", "/bin/true"}},
			{&c.full, []string{writ, "run", "--", "/bin/true"}},
		} {
			command := exec.CommandContext(ctx, way.command[0], way.command[1:]...)
			command.Dir, command.Env = "/usr", cleanEnvironment() // a directory that every command may read
			begin := time.Now()
			if output, err := command.CombinedOutput(); err != nil {
				return c, fmt.Errorf("run %s: %w: %s", way.command, err, output)
			}
			*way.times = append(*way.times, time.Since(begin))
		}
	}
	return c, nil
}

// installed copies a program, as whoever installs it does. The linker writes a file page by page, and the kernel then
// maps it page by page too, which takes longer at every start.
func installed(program, dir string) (string, error) {
	from, err := os.Open(program)
	if err != nil {
		return "", err
	}
	defer from.Close()
	copied := filepath.Join(dir, filepath.Base(program))
	to, err := os.OpenFile(copied, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o755)
	if err != nil {
		return "", err
	}
	// Not ReadFrom, which would let the file system share the pages of the original.
	_, err = io.CopyBuffer(struct{ io.Writer }{to}, from, make([]byte, 1<<20))
	return copied, errors.Join(err, to.Close())
}

func (c confinedRuns) print() error {
	table := newTable(os.Stdout, "/bin/true", "measured", "lowest", "added", "target", "")
	bare := median(c.bare)
	for _, way := range []struct {
		name   string
		times  []time.Duration
		target string
	}{
		{"alone", c.bare, "-"},
		{"writ run, Landlock and filter", c.flat, "at most " + milliseconds(mostAdded) + " added"},
		{"writ run, with namespaces", c.full, "-"},
	} {
		added, verdict := median(way.times)-bare, ""
		if way.target != "-" && added > mostAdded {
			verdict = "missed"
		}
		table.row(way.name, milliseconds(median(way.times)), milliseconds(slices.Min(way.times)), milliseconds(added),
			way.target, verdict)
	}
	return table.Flush()
}
