package writd

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"writ/internal/cli"
	"writ/internal/cli/checks"
	"writ/internal/policy/document"
	"writ/internal/policy/engine"
	"writ/internal/policy/lint"
	"writ/internal/policy/policytest"
)

// policy holds the commands about policies in files. They need no server and no data
// folder, so that a repository of policies can run them in its CI.
func (c *command) policy() *cobra.Command {
	policy := &cobra.Command{
		Use: "policy", Short: "Check, test, explain and compare policies in files",
		Long: `Check, test, explain and compare policies in files. None of these commands needs a server.

Exit codes: 0 all is well, 1 there are problems or failed tests, 2 the command line is wrong.`,
	}
	policy.AddCommand(c.policyLint(), c.policyTest(), c.policyExplain(), c.policyDiff())
	return policy
}

// problem is a problem as --json prints it.
type problem struct {
	Line    int    `json:"line,omitempty"`
	Column  int    `json:"column,omitempty"`
	Rule    string `json:"rule,omitempty"`
	Field   string `json:"field,omitempty"`
	Message string `json:"message"`
}

func problemsOf(found []document.Problem) []problem {
	shown := make([]problem, len(found))
	for i, p := range found {
		shown[i] = problem{p.Line, p.Column, p.Rule, p.Field, p.Message}
	}
	return shown
}

// linted is what lint finds in one file.
type linted struct {
	File     string    `json:"file"`
	OK       bool      `json:"ok"`
	Rules    int       `json:"rules"`
	Problems []problem `json:"problems"`
	Warnings []problem `json:"warnings"`
	Findings []found   `json:"findings"`

	problems, warnings []document.Problem
	report             lint.Report
}

// found is a finding as --json prints it.
type found struct {
	Kind lint.Kind `json:"kind"`
	problem
	Fix string `json:"fix"`
}

func findingsOf(r lint.Report) []found {
	shown := make([]found, len(r.Findings))
	for i, f := range r.Findings {
		shown[i] = found{f.Kind, problemsOf([]document.Problem{f.Problem})[0], f.Fix}
	}
	return shown
}

func (c *command) policyLint() *cobra.Command {
	var format reportFormat
	lint := &cobra.Command{
		Use: "lint FILE|DIR...", Short: "Check policies: their form, their conditions, and what is likely a mistake",
		Long: `Check policies: their form, their conditions, and likely mistakes: rules that never decide, allows that a deny
overrules, stars over everything, limits that contradict each other. Warnings and findings change no exit code.
In a folder, every file *.yaml, *.yml and *.json is checked that may be a policy: not tests, calls, plans and manifests.
- reads a policy from the standard input.`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			named, err := checks.PolicyFiles(args)
			if err != nil {
				return err
			}
			files, bad := make([]linted, len(named)), 0
			for i, file := range named {
				files[i] = c.lintFile(file)
				if !files[i].OK {
					bad++
				}
			}
			report := checks.Report{}
			for _, l := range files {
				report.Files = append(report.Files, l.checked())
			}
			if err := c.showReport(format, report, map[string]any{"files": files}, lintText(files)); err != nil {
				return err
			}
			if bad > 0 {
				return checks.HaveProblems(bad, len(files))
			}
			return nil
		},
	}
	format.addFlags(lint)
	return lint
}

func (c *command) lintFile(file string) linted {
	l := linted{File: file}
	policy, err := c.loadPolicy(file)
	if err != nil {
		invalid, ok := errors.AsType[*document.Invalid](err)
		if !ok {
			invalid = &document.Invalid{Problems: []document.Problem{{Message: err.Error()}}}
		}
		l.problems = invalid.Problems
	} else {
		l.OK, l.Rules, l.warnings, l.report = true, len(policy.Document().Rules), policy.Warnings(), lint.Of(policy)
	}
	l.Problems, l.Warnings, l.Findings = problemsOf(l.problems), problemsOf(l.warnings), findingsOf(l.report)
	return l
}

func lintText(files []linted) string {
	var b strings.Builder
	for _, l := range files {
		for _, p := range l.problems {
			fmt.Fprintf(&b, "%s\n", cli.Line(p.In(l.File)))
		}
		for _, p := range l.warnings {
			fmt.Fprintf(&b, "%s (warning)\n", cli.Line(p.In(l.File)))
		}
		for _, f := range l.report.Findings {
			fmt.Fprintf(&b, "%s; %s (finding %s)\n", cli.Line(f.In(l.File)), cli.Line(f.Fix), f.Kind)
		}
		if l.report.Incomplete {
			fmt.Fprintf(&b, "%s: has too many rules or findings to list all (finding)\n", cli.Line(l.File))
		}
		if l.OK {
			fmt.Fprintf(&b, "%s: ok, %s\n", cli.Line(l.File), cli.Count(l.Rules, "rule"))
		}
	}
	return b.String()
}

// loadPolicy reads and compiles a policy; its error is a *document.Invalid if the
// policy itself is wrong.
func (c *command) loadPolicy(file string) (*engine.Policy, error) {
	doc, err := c.loadDocument(file)
	if err != nil {
		return nil, err
	}
	policy, problems := engine.Compile(doc)
	if len(problems) > 0 {
		return nil, &document.Invalid{Problems: problems}
	}
	return policy, nil
}

func (c *command) loadDocument(file string) (*document.Document, error) {
	text, err := c.readFile(file, document.MaxBytes)
	if err != nil {
		return nil, fmt.Errorf("read the policy: %w", err)
	}
	return document.Parse(text, document.FormatOf(file))
}

// readFile reads a file, or the standard input, of at most limit bytes, as policytest.ReadFile does.
func (c *command) readFile(file string, limit int64) ([]byte, error) {
	if file == checks.Stdin {
		return io.ReadAll(io.LimitReader(c.streams.In, limit+1))
	}
	return policytest.ReadFile(file, limit)
}

// inFile names the file before the problems of its policy.
func inFile(file string, err error) error {
	if invalid, ok := errors.AsType[*document.Invalid](err); ok {
		return &policytest.Invalid{File: file, Problems: invalid.Problems}
	}
	return err
}

// show prints a result, as JSON or in words.
func (c *command) show(asJSON bool, result any, words string) error {
	if asJSON {
		return c.print(result)
	}
	_, err := fmt.Fprint(c.streams.Out, words)
	return err
}
