// Package checks writes what checks of policy files found: for people, for programs (JSON), for CI systems (JUnit) and
// for editors and code review (SARIF). Whoever ran the checks, this machine or a server, they look the same.
//
// Texts come from files that others may have written. They are shown without what could steer a terminal, and in XML
// without what XML cannot hold.
package checks

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"writ/internal/cli"
)

// Formats are how a report can be written.
var Formats = []string{"text", "json", "junit", "sarif"}

// Level is how grave a finding is.
type Level string

// The levels. Only an error fails a check.
const (
	Error   Level = "error"
	Warning Level = "warning"
	Note    Level = "note"
)

// Finding is something that a check found in a file.
type Finding struct {
	Kind    string // what kind of finding, for those who filter: problem, warning, or what lint calls it
	Level   Level
	Line    int // 0: the whole file
	Column  int
	Text    string // where in the file, and what is wrong, without the file's name
	Advice  string // what to do about it; may be empty
	Subject string // the rule; may be empty
}

// File is a file that was checked.
type File struct {
	Name     string
	Rules    int // of a policy without errors
	Findings []Finding
}

// Failed reports whether a file has errors.
func (f File) Failed() bool {
	for _, found := range f.Findings {
		if found.Level == Error {
			return true
		}
	}
	return false
}

// Test is one test that ran, or a file of tests that could not be used.
type Test struct {
	File     string
	Line     int
	Name     string // empty: the file as a whole
	Failures []string
}

// Report is what checks found. It has Files, Tests or both.
type Report struct {
	Files []File
	Tests []Test
}

// Write writes a report in a format for CI: junit or sarif.
func Write(out io.Writer, format string, r Report) error {
	switch format {
	case "junit":
		return writeJUnit(out, r)
	case "sarif":
		return cli.WriteIndentedJSON(out, sarifOf(r))
	}
	return fmt.Errorf("a report cannot be written as %q", format)
}

// place is a position as compilers write it.
func place(file string, line, column int) string {
	switch {
	case line == 0:
		return file
	case column == 0:
		return fmt.Sprintf("%s:%d", file, line)
	}
	return fmt.Sprintf("%s:%d:%d", file, line, column)
}

// Text is a report in words, a line for each finding and each failure.
func Text(r Report) string {
	var b strings.Builder
	for _, f := range r.Files {
		for _, found := range f.Findings {
			b.WriteString(cli.Line(place(f.Name, found.Line, found.Column)+": "+found.Text+advised(found)) + "\n")
		}
		if !f.Failed() {
			fmt.Fprintf(&b, "%s: ok, %s\n", cli.Line(f.Name), cli.Count(f.Rules, "rule"))
		}
	}
	for _, t := range r.Tests {
		if len(t.Failures) > 0 {
			b.WriteString(cli.Line(strings.TrimSuffix(place(t.File, t.Line, 0)+": "+t.Name, ": ")) + "\n")
		}
		for _, failure := range t.Failures {
			b.WriteString("    " + cli.Line(failure) + "\n")
		}
	}
	if len(r.Tests) > 0 {
		failed := r.FailedTests()
		fmt.Fprintf(&b, "%d passed, %d failed\n", len(r.Tests)-failed, failed)
	}
	return b.String()
}

// advised is what follows the text of a finding: the advice, and its kind where it fails nothing.
func advised(f Finding) string {
	words := ""
	if f.Advice != "" {
		words = "; " + f.Advice
	}
	switch f.Level {
	case Warning:
		words += " (warning)"
	case Note:
		words += " (finding " + f.Kind + ")"
	}
	return words
}

// FailedFiles is how many files have errors.
func (r Report) FailedFiles() (failed int) {
	for _, f := range r.Files {
		if f.Failed() {
			failed++
		}
	}
	return failed
}

// FailedTests is how many tests failed.
func (r Report) FailedTests() (failed int) {
	for _, t := range r.Tests {
		if len(t.Failures) > 0 {
			failed++
		}
	}
	return failed
}

// HaveProblems is the error of a command that found problems in so many files.
func HaveProblems(files, of int) error {
	if of == 1 {
		return errors.New("the file has problems")
	}
	return fmt.Errorf("%d of %d files have problems", files, of)
}

// Err is the error of a command whose checks failed; nil: they did not.
func (r Report) Err() error {
	if failed := r.FailedTests(); failed > 0 {
		return fmt.Errorf("%d of %s failed", failed, cli.Count(len(r.Tests), "test"))
	}
	if failed := r.FailedFiles(); failed > 0 {
		return HaveProblems(failed, len(r.Files))
	}
	return nil
}
