package writ

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"writ/client"
	"writ/internal/cli"
	"writ/internal/cli/checks"
	"writ/internal/node"
)

// testedFile is a test as `writ policy test --json` prints it, or a file that cannot be used.
type testedFile struct {
	File     string        `json:"file"`
	Line     int           `json:"line,omitempty"`
	Test     string        `json:"test,omitempty"`
	OK       bool          `json:"ok"`
	Decision string        `json:"decision,omitempty"`
	Rule     string        `json:"rule,omitempty"`
	Reason   string        `json:"reason,omitempty"`
	Failures []string      `json:"failures,omitempty"`
	Problems []fileProblem `json:"problems,omitempty"`
}

func policyTestCommand(s cli.Streams) *cobra.Command {
	var k checkingFiles
	cmd := &cobra.Command{
		Use: "test FILE|DIR...", Short: "Run tests of policies in files: calls, and the decisions wanted for them",
		Long: `Run tests of policies: calls and the decisions wanted for them. In a folder, every file *.yaml and *.yml that has
tests is run, and every *.test.json. - reads tests from the standard input; policies that they name are in the folder
where the command runs. ` + checkWays + ` A server runs tests of one policy that is a
file of its own, at most 500 at once; writd runs all others too.`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return k.run(cmd, s, args, func(ctx context.Context, c *client.Client) (checks.Report, any, error) {
				return k.test(ctx, s, c, args)
			})
		},
	}
	k.addFlags(cmd)
	return cmd
}

func (k *checkingFiles) test(
	ctx context.Context, s cli.Streams, c *client.Client, args []string,
) (report checks.Report, result any, err error) {
	files, err := checks.TestFiles(args)
	if err != nil {
		return report, nil, err
	}
	shown := []testedFile{}
	progress := cli.NewProgress(s)
	defer progress.End()
	for i, file := range files {
		progress.Say("writ: file %d of %d: %s", i+1, len(files), file)
		some, err := k.testOne(ctx, s, c, file)
		if err != nil {
			return report, nil, err
		}
		shown = append(shown, some...)
	}
	for _, t := range shown {
		report.Tests = append(report.Tests, t.checked())
	}
	failed := report.FailedTests()
	return report, map[string]any{"passed": len(shown) - failed, "failed": failed, "results": shown}, nil
}

// testOne has a server run the tests of a file. An error is one of the asking; a file that cannot be used fails.
func (k *checkingFiles) testOne(
	ctx context.Context, s cli.Streams, c *client.Client, file string,
) ([]testedFile, error) {
	failed := func(problems ...fileProblem) []testedFile { return []testedFile{{File: file, Problems: problems}} }
	tests, err := readInput(s, file)
	if err != nil {
		return failed(fileProblem{Message: fmt.Sprintf("read the tests: %v", err)}), nil
	}
	policy, err := policyOfTests(file, tests)
	if err != nil {
		return failed(fileProblem{Message: err.Error()}), nil
	}
	text, err := readSmall(policy)
	if err != nil {
		return failed(fileProblem{Message: fmt.Sprintf("read the policy that it names: %v", err)}), nil
	}
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	said, err := c.TestPolicy(ctx, k.orgID, client.PolicyTests{YAML: text, Tests: string(tests)})
	if problems := problemsIn(err); problems != nil {
		if problems[0].Field != "tests" {
			file = policy
		}
		for i, p := range problems {
			problems[i] = p.inTests()
		}
		return failed(problems...), nil
	}
	if err != nil {
		return nil, err
	}
	shown := make([]testedFile, len(said.Results))
	for i, r := range said.Results {
		shown[i] = testedFile{
			File: file, Line: r.Line, Test: r.Name, OK: r.Passed,
			Decision: r.Decision, Rule: r.Rule, Reason: r.Reason, Failures: r.Failures,
		}
	}
	return shown, nil
}

// inTests is a problem of a file of tests with its place, which a server writes before its words.
func (p fileProblem) inTests() fileProblem {
	line, rest, _ := strings.Cut(p.Message, ":")
	column, words, _ := strings.Cut(rest, ": ")
	if n, err := strconv.Atoi(line); err == nil && p.Field == "tests" {
		if p.Column, err = strconv.Atoi(column); err == nil {
			p.Line, p.Field, p.Message = n, "", words
		}
	}
	return p
}

// policyOfTests is the path of the policy that a file of tests names.
func policyOfTests(file string, text []byte) (string, error) {
	read := node.ReadYAML
	if kindOf(file) == client.JSONDocument {
		read = node.ReadJSON
	}
	root, problems := read(text)
	if len(problems) > 0 {
		return "", errors.New(problems[0].String())
	}
	if root.Has("rules") && !root.Has("tests") {
		return "", errors.New("this is a policy, not its tests: " +
			"write them into a file of their own, whose policy names this one")
	}
	var wrong []string
	tree := node.Read(root, func(_ node.Position, path, message string) {
		wrong = append(wrong, strings.TrimPrefix(path+": "+message, ": "))
	})
	named := tree.Members("policy", "policies", "tests").Get("policy")
	if named == nil || named.Node().Kind == node.Map {
		return "", errors.New("a server tests one policy that is a file of its own: " +
			"policy must name it, or install writd beside writ")
	}
	path, ok := named.Text()
	if !ok || len(wrong) > 0 {
		return "", errors.New(strings.Join(wrong, "; "))
	}
	if filepath.IsAbs(path) {
		return "", errors.New("policy: must be a path relative to this file")
	}
	return filepath.Join(filepath.Dir(file), filepath.FromSlash(path)), nil
}

// checked is a test as reports show it.
func (t testedFile) checked() checks.Test {
	test := checks.Test{File: t.File, Line: t.Line, Name: t.Test, Failures: t.Failures}
	for _, p := range t.Problems {
		if test.Line == 0 {
			test.Line = p.Line
		}
		text := p.words()
		if p.Line > 0 {
			text = fmt.Sprintf("%d:%d: %s", p.Line, p.Column, text)
		}
		test.Failures = append(test.Failures, text)
	}
	return test
}
