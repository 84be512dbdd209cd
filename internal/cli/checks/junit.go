package checks

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"

	"writ/internal/cli"
)

// suites is a report as JUnit writes it, which most CI systems show.
type suites struct {
	XMLName  xml.Name `xml:"testsuites"`
	Tests    int      `xml:"tests,attr"`
	Failures int      `xml:"failures,attr"`
	Suites   []suite  `xml:"testsuite"`
}

type suite struct {
	Name     string     `xml:"name,attr"`
	Tests    int        `xml:"tests,attr"`
	Failures int        `xml:"failures,attr"`
	Cases    []testCase `xml:"testcase"`
}

type testCase struct {
	Name    string   `xml:"name,attr"`
	Class   string   `xml:"classname,attr"`
	File    string   `xml:"file,attr"`
	Line    int      `xml:"line,attr,omitempty"`
	Failure *failure `xml:"failure"`
	Out     string   `xml:"system-out,omitempty"`
}

type failure struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

// add adds a case to the suite of its file, which is the last one if it is there.
func (s *suites) add(c testCase) {
	if last := len(s.Suites) - 1; last < 0 || s.Suites[last].Name != c.File {
		s.Suites = append(s.Suites, suite{Name: c.File})
	}
	in := &s.Suites[len(s.Suites)-1]
	in.Cases = append(in.Cases, c)
	s.Tests++
	in.Tests++
	if c.Failure != nil {
		s.Failures++
		in.Failures++
	}
}

func writeJUnit(out io.Writer, r Report) error {
	all := suites{}
	for _, f := range r.Files {
		all.add(fileCase(f))
	}
	for _, t := range r.Tests {
		c := testCase{Name: t.Name, Class: t.File, File: t.File, Line: t.Line}
		if c.Name == "" {
			c.Name = "tests"
		}
		if len(t.Failures) > 0 {
			c.Failure = &failure{cli.Line(t.Failures[0]), cli.Printable(strings.Join(t.Failures, "\n"))}
		}
		c.Name = cli.Line(c.Name)
		all.add(c)
	}
	text, err := xml.MarshalIndent(all, "", "  ")
	if err != nil {
		return fmt.Errorf("write a report as JUnit: %w", err)
	}
	_, err = fmt.Fprintf(out, "%s%s\n", xml.Header, text)
	return err
}

// fileCase is a file as a case: what is no error is its output.
func fileCase(f File) testCase {
	c := testCase{Name: "lint", Class: f.Name, File: f.Name}
	var errors, others []string
	for _, found := range f.Findings {
		line := cli.Line(place(f.Name, found.Line, found.Column) + ": " + found.Text + advised(found))
		if found.Level == Error {
			errors = append(errors, line)
			if c.Line == 0 {
				c.Line = found.Line
			}
			continue
		}
		others = append(others, line)
	}
	if len(errors) > 0 {
		c.Failure = &failure{errors[0], strings.Join(errors, "\n")}
	}
	c.Out = strings.Join(others, "\n")
	return c
}
