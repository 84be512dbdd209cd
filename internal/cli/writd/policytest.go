package writd

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"writ/internal/cli"
	"writ/internal/policy/document"
	"writ/internal/policy/policytest"
)

// tested is what --json prints about one test, or about a file that cannot be used.
type tested struct {
	File     string    `json:"file"`
	Line     int       `json:"line,omitempty"`
	Test     string    `json:"test,omitempty"`
	OK       bool      `json:"ok"`
	Decision string    `json:"decision,omitempty"`
	Policy   string    `json:"policy,omitempty"`
	Rule     string    `json:"rule,omitempty"`
	Reason   string    `json:"reason,omitempty"`
	Failures []string  `json:"failures,omitempty"`
	Problems []problem `json:"problems,omitempty"`
}

func (c *command) policyTest() *cobra.Command {
	var asJSON bool
	test := &cobra.Command{
		Use: "test FILE|DIR...", Short: "Run tests of policies: calls and the decisions wanted for them",
		Long: `Run tests of policies: calls and the decisions wanted for them. In a folder, every file *.yaml and *.yml that has tests
is run, and every *.test.json.`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			files, err := testFiles(args)
			if err != nil {
				return err
			}
			var results []tested
			for _, file := range files {
				results = append(results, runTests(file)...)
			}
			return c.showTests(asJSON, results)
		},
	}
	cli.JSONFlag(test, &asJSON)
	return test
}

func (c *command) showTests(asJSON bool, results []tested) error {
	failed := 0
	for _, r := range results {
		if !r.OK {
			failed++
		}
	}
	report := map[string]any{"passed": len(results) - failed, "failed": failed, "results": results}
	words := testText(results) + fmt.Sprintf("%d passed, %d failed\n", len(results)-failed, failed)
	if err := c.show(asJSON, report, words); err != nil {
		return err
	}
	if failed > 0 {
		return fmt.Errorf("%d of %s failed", failed, cli.Count(len(results), "test"))
	}
	return nil
}

// testFiles lists the files that the arguments name, and those with tests in folders
// that they name.
func testFiles(args []string) ([]string, error) {
	var files []string
	for _, arg := range args {
		found := 0
		err := filepath.WalkDir(arg, func(path string, entry fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case path != arg && strings.HasPrefix(entry.Name(), "."):
				if entry.IsDir() {
					return fs.SkipDir
				}
				return nil
			case entry.IsDir():
				return nil
			}
			tests, err := hasTests(path, path == arg)
			if tests {
				files, found = append(files, path), found+1
			}
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("look for tests: %w", err)
		}
		if found == 0 {
			return nil, fmt.Errorf("there are no tests in %s", arg)
		}
	}
	return files, nil
}

var testsMember = regexp.MustCompile(`(?m)^["']?tests["']? *:`)

// hasTests reports whether a file has tests. One that was named always has.
func hasTests(path string, named bool) (bool, error) {
	if named {
		return true, nil
	}
	switch strings.ToLower(filepath.Ext(path)) {
	case ".yaml", ".yml":
		text, err := policytest.ReadFile(path, policytest.MaxBytes)
		return testsMember.Match(text), err
	case ".json":
		return strings.HasSuffix(strings.ToLower(path), ".test.json"), nil
	}
	return false, nil
}

// runTests runs the tests of one file. A file that cannot be used is a failure.
func runTests(file string) []tested {
	s, err := policytest.Load(file)
	if err != nil {
		failed := tested{File: file, Problems: []problem{{Message: err.Error()}}}
		if invalid, ok := errors.AsType[*policytest.Invalid](err); ok {
			failed.File, failed.Problems = invalid.File, problemsOf(invalid.Problems)
		}
		return []tested{failed}
	}
	results := s.Run()
	shown := make([]tested, len(results))
	for i, r := range results {
		shown[i] = tested{
			File: file, Line: r.Test.At.Line, Test: r.Test.Name, OK: r.Passed(),
			Decision: r.Decision.Verdict.String(), Policy: r.Decision.PolicyName, Rule: r.Decision.Rule,
			Reason: r.Decision.Reason, Failures: r.Failures,
		}
	}
	return shown
}

// testText lists what failed; what passed is only counted.
func testText(results []tested) string {
	var b strings.Builder
	for _, r := range results {
		for _, p := range r.Problems {
			whole := document.Problem{
				Position: document.Position{Line: p.Line, Column: p.Column},
				Rule:     p.Rule,
				Field:    p.Field,
				Message:  p.Message,
			}
			fmt.Fprintf(&b, "%s\n", cli.Line(whole.In(r.File)))
		}
		if len(r.Failures) > 0 {
			fmt.Fprintf(&b, "%s:%d: %s\n", cli.Line(r.File), r.Line, cli.Line(r.Test))
		}
		for _, failure := range r.Failures {
			fmt.Fprintf(&b, "    %s\n", cli.Line(failure))
		}
	}
	return b.String()
}
