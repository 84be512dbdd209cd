package writ

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"writ/client"
	"writ/internal/cli"
	"writ/internal/cli/checks"
)

// checkingFiles is a command that checks policy files: with writd where it is installed, else by asking a server.
type checkingFiles struct {
	asPerson
	format string
}

// checkWays is how commands that check files say who does it.
const checkWays = `writd does it where it is installed beside writ, without any server. Else, or with --url, --token or
--organization, a server is asked: with your sign-in, or with an API key of the scope policy.draft. Nothing is stored
there.

--format junit and sarif are for CI systems and code review.`

func (k *checkingFiles) addFlags(cmd *cobra.Command) {
	k.asPerson.addFlags(cmd)
	k.format = "text"
	cli.ChoiceFlag(cmd, &k.format, "format", "text, json, junit or sarif", checks.Formats...)
	cmd.MarkFlagsMutuallyExclusive("json", "format")
}

// run checks files: with writd, or with ask.
func (k *checkingFiles) run(
	cmd *cobra.Command, s cli.Streams, args []string,
	ask func(context.Context, *client.Client) (checks.Report, any, error),
) error {
	if k.asJSON {
		k.format = "json"
	}
	self, _ := os.Executable() // unknown: writd is looked for on the path
	writd, err := findServer(self, exec.LookPath)
	if named := k.url + k.tokenFile + k.orgID; err == nil && named == "" {
		words := append([]string{"policy", cmd.Name(), "--format", k.format, "--"}, args...)
		return runProgram(cmd.Context(), writd, words, s)
	}
	c, advise, err := k.either(cmd.Context())
	if err != nil {
		return err
	}
	report, result, err := ask(cmd.Context(), c)
	if err != nil {
		return advise(err)
	}
	switch k.format {
	case "text":
		_, err = fmt.Fprint(s.Out, checks.Text(report))
	case "json":
		err = cli.WriteIndentedJSON(s.Out, result)
	default:
		err = checks.Write(s.Out, k.format, report)
	}
	if err != nil {
		return err
	}
	return report.Err()
}

// either is a client with the person's sign-in, else with the API key, and what to do if the server accepts neither.
func (k *checkingFiles) either(ctx context.Context) (c *client.Client, advise func(error) error, err error) {
	found, err := k.find()
	if err != nil {
		return nil, nil, err
	}
	if found.AccessToken != "" || k.tokenFile != "" {
		c, err = k.client(ctx)
		return c, func(err error) error { return hinted(err, k.signInAgain()) }, err
	}
	c, found, err = k.withKey()
	return c, func(err error) error {
		if client.StatusOf(err) == http.StatusForbidden {
			return fmt.Errorf("%w: %s", err, keyThatDrafts)
		}
		return hinted(err, mendKey(found))
	}, err
}

// fileProblem is a problem as --json prints it.
type fileProblem struct {
	Line    int    `json:"line,omitempty"`
	Column  int    `json:"column,omitempty"`
	Rule    string `json:"rule,omitempty"`
	Field   string `json:"field,omitempty"`
	Message string `json:"message"`
}

// words are a problem without its place.
func (p fileProblem) words() string {
	field := p.Field
	if _, below, ok := strings.Cut(field, "]"); ok && p.Rule != "" && strings.HasPrefix(field, "rules[") {
		field = strings.TrimPrefix(below, ".") // the rule is named already
	}
	text := ""
	if p.Rule != "" {
		text = "rule " + p.Rule + ": "
	}
	if field != "" {
		text += field + ": "
	}
	return text + p.Message
}

// checkedFile is a file as `writ policy lint --json` prints it.
type checkedFile struct {
	File     string                 `json:"file"`
	OK       bool                   `json:"ok"`
	Rules    int                    `json:"rules"`
	Problems []fileProblem          `json:"problems"`
	Warnings []fileProblem          `json:"warnings"`
	Findings []client.PolicyFinding `json:"findings"`
}

func policyLint(s cli.Streams) *cobra.Command {
	var k checkingFiles
	cmd := &cobra.Command{
		Use: "lint FILE|DIR...", Short: "Check policies in files: their form, their conditions, and likely mistakes",
		Long: `Check policies in files. In a folder, every file *.yaml, *.yml and *.json is checked that may be a policy: not
tests, calls, plans and manifests. - reads one from the standard input. ` + checkWays,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return k.run(cmd, s, args, func(ctx context.Context, c *client.Client) (checks.Report, any, error) {
				return k.lint(ctx, s, c, args)
			})
		},
	}
	k.addFlags(cmd)
	return cmd
}

func (k *checkingFiles) lint(
	ctx context.Context, s cli.Streams, c *client.Client, args []string,
) (checks.Report, any, error) {
	shown, report := []checkedFile{}, checks.Report{}
	files, err := checks.PolicyFiles(args)
	if err != nil {
		return report, nil, err
	}
	for _, file := range files {
		one, err := k.lintOne(ctx, s, c, file)
		if err != nil {
			return report, nil, err
		}
		shown, report.Files = append(shown, one), append(report.Files, one.checked())
	}
	return report, map[string]any{"files": shown}, nil
}

// lintOne has a server check a file. An error is one of the asking, not of the file.
func (k *checkingFiles) lintOne(
	ctx context.Context, s cli.Streams, c *client.Client, file string,
) (one checkedFile, err error) {
	one = checkedFile{
		File: file, Problems: []fileProblem{}, Warnings: []fileProblem{}, Findings: []client.PolicyFinding{},
	}
	text, err := readInput(s, file)
	if err != nil {
		one.Problems = append(one.Problems, fileProblem{Message: fmt.Sprintf("read the policy: %v", err)})
		return one, nil
	}
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	said, err := c.CheckPolicy(ctx, k.orgID, kindOf(file), string(text))
	if problems := problemsIn(err); problems != nil {
		one.Problems = problems
		return one, nil
	}
	if err != nil {
		return one, err
	}
	one.OK, one.Rules, one.Findings = true, len(said.Document.Rules), append(one.Findings, said.Findings...)
	for _, w := range said.Warnings {
		one.Warnings = append(one.Warnings, fileProblem(w))
	}
	return one, nil
}

// kindOf is the media type of a document, by the name of its file.
func kindOf(file string) string {
	if strings.EqualFold(filepath.Ext(file), ".json") {
		return client.JSONDocument
	}
	return client.YAMLDocument
}

// problemsIn are the problems of a document that a server refused; nil: the error is another one.
func problemsIn(err error) (problems []fileProblem) {
	refused, ok := errors.AsType[*client.Error](err)
	if !ok || len(refused.Details) == 0 || refused.Details[0].Field == "organizationId" {
		return nil
	}
	for _, d := range refused.Details {
		p := fileProblem{Field: d.Field, Message: d.Message}
		if d.Field == "document" {
			p.Field = "" // it is the whole file, which is named
		}
		if place := positioned().FindStringSubmatch(d.Message); place != nil {
			p.Line, _ = strconv.Atoi(place[1])
			p.Column, _ = strconv.Atoi(place[2])
			p.Rule, p.Message = strings.TrimPrefix(place[3], "rule "), d.Message[len(place[0]):]
		}
		problems = append(problems, p)
	}
	return problems
}

// checked is a file as reports show it.
func (f checkedFile) checked() checks.File {
	file := checks.File{Name: f.File, Rules: f.Rules}
	add := func(p fileProblem, kind string, level checks.Level, advice string) {
		file.Findings = append(file.Findings, checks.Finding{
			Kind: kind, Level: level, Line: p.Line, Column: p.Column,
			Text: p.words(), Advice: advice, Subject: p.Rule,
		})
	}
	for _, p := range f.Problems {
		add(p, "problem", checks.Error, "")
	}
	for _, p := range f.Warnings {
		add(p, "warning", checks.Warning, "")
	}
	for _, found := range f.Findings {
		add(fileProblem(found.PolicyProblem), cmp.Or(found.Kind, "finding"), checks.Note, found.Fix)
	}
	return file
}
