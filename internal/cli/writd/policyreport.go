package writd

import (
	"github.com/spf13/cobra"

	"writ/internal/cli"
	"writ/internal/cli/checks"
	"writ/internal/policy/document"
)

// reportFormat is how a command that checks files reports.
type reportFormat struct {
	name   string
	asJSON bool
}

func (f *reportFormat) addFlags(cmd *cobra.Command) {
	f.name = "text"
	cli.ChoiceFlag(cmd, &f.name, "format", "text, json, junit or sarif", checks.Formats...)
	cli.JSONFlag(cmd, &f.asJSON)
	cmd.MarkFlagsMutuallyExclusive("json", "format")
}

// showReport prints a report in the format that was asked for.
func (c *command) showReport(f reportFormat, report checks.Report, result any, words string) error {
	if f.name == "junit" || f.name == "sarif" {
		return checks.Write(c.streams.Out, f.name, report)
	}
	return c.show(f.asJSON || f.name == "json", result, words)
}

// checked is what lint found in a file, as CI systems are told.
func (l linted) checked() checks.File {
	file := checks.File{Name: l.File, Rules: l.Rules}
	add := func(p document.Problem, kind string, level checks.Level, advice string) {
		at := p
		at.Position = document.Position{} // the place is told apart
		file.Findings = append(file.Findings, checks.Finding{
			Kind: kind, Level: level, Line: p.Line, Column: p.Column,
			Text: at.String(), Advice: advice, Subject: p.Rule,
		})
	}
	for _, p := range l.problems {
		add(p, "problem", checks.Error, "")
	}
	for _, p := range l.warnings {
		add(p, "warning", checks.Warning, "")
	}
	for _, f := range l.report.Findings {
		add(f.Problem, string(f.Kind), checks.Note, f.Fix)
	}
	return file
}

// checked is what came of a test, as CI systems are told.
func (r tested) checked() checks.Test {
	test := checks.Test{File: r.File, Line: r.Line, Name: r.Test, Failures: r.Failures}
	for _, p := range r.Problems {
		whole := document.Problem{Rule: p.Rule, Field: p.Field, Message: p.Message}
		if test.Line == 0 {
			test.Line = p.Line
		}
		test.Failures = append(test.Failures, whole.String())
	}
	return test
}
