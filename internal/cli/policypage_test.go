package cli_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"writ/internal/policy"
	"writ/internal/policy/document"
	"writ/internal/policy/engine"
	"writ/internal/policy/expression"
	"writ/internal/policy/policytest"
	"writ/internal/policy/template"
	"writ/internal/toolcall"
	"writ/internal/verdict"
)

const policyPage = "../../docs/policy.md"

// policyPages are the page on policies, and those that go on from it.
var policyPages = []string{
	policyPage, "../../docs/policy-functions.md", "../../docs/policy-effects.md", lifecyclePage,
}

const lifecyclePage = "../../docs/policy-lifecycle.md"

// TestPolicyPage runs every example of the pages on policies. What follows the
// opening fence of a block says what it is:
//
//	yaml NAME         a file; the commands of the page find it by its name
//	yaml rules        rules of a policy, without the document around them
//	cel               conditions, one a line, true for the call in call.yaml
//	cel fails         conditions that compile and cannot be evaluated for it
//	console           a command and all it prints; it exits 0
//	console exits N   the same, with another exit code
func TestPolicyPage(t *testing.T) {
	t.Parallel()
	var blocks []block
	for _, page := range policyPages {
		blocks = append(blocks, readBlocks(t, page)...)
	}
	folder := t.TempDir()
	for _, b := range blocks {
		if name, ok := strings.CutPrefix(b.kind, "yaml "); ok && name != "rules" {
			writeExample(t, folder, name, b.text)
		}
	}
	call := readCall(t, filepath.Join(folder, "call.yaml"))
	ran := map[string]int{}
	for _, b := range blocks {
		t.Run(fmt.Sprintf("line %d", b.line), func(t *testing.T) {
			kind, rest, _ := strings.Cut(b.kind, " ")
			ran[kind]++
			switch {
			case b.kind == "yaml rules":
				compileRules(t, b.text)
			case kind == "yaml":
				compileFile(t, rest, b.text)
			case b.kind == "cel", b.kind == "cel fails":
				evaluateLines(t, b.text, call, b.kind == "cel fails")
			case b.kind == "console":
				runTranscript(t, folder, b.text, 0)
			case kind == "console":
				runTranscript(t, folder, b.text, exitCode(t, rest))
			default:
				t.Errorf("a block of kind %q is not tested; see TestPolicyPage", b.kind)
			}
		})
	}
	for kind, least := range map[string]int{"yaml": 6, "cel": 10, "console": 4} {
		if ran[kind] < least {
			t.Errorf("%d %s blocks ran, want at least %d: is the page read as it is written?", ran[kind], kind, least)
		}
	}
}

// block is a fenced block of a page.
type block struct {
	line int // of the opening fence
	kind string
	text string
}

func readBlocks(t *testing.T, file string) []block {
	t.Helper()
	page, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("read the page: %v", err)
	}
	const fence = "```"
	var blocks []block
	open := false
	for i, line := range strings.SplitAfter(string(page), "\n") {
		kind, fenced := strings.CutPrefix(line, fence)
		switch {
		case fenced && !open:
			blocks = append(blocks, block{line: i + 1, kind: strings.TrimSpace(kind)})
			open = true
		case fenced:
			open = false
		case open:
			blocks[len(blocks)-1].text += line
		}
	}
	if open {
		t.Fatalf("the block in line %d does not end", blocks[len(blocks)-1].line)
	}
	return blocks
}

func writeExample(t *testing.T, folder, name, text string) {
	t.Helper()
	file := filepath.Join(folder, name)
	if _, err := os.Stat(file); err == nil {
		t.Fatalf("two blocks are the file %s", name)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatalf("write an example: %v", err)
	}
}

func readCall(t *testing.T, file string) *toolcall.Call {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("read the call of the page: %v", err)
	}
	call, err := policytest.ReadCall(file, text)
	if err != nil {
		t.Fatalf("read the call of the page: %v", err)
	}
	return call
}

// compileFile checks a file of the page. Tests are run by the page's commands.
func compileFile(t *testing.T, name, text string) {
	t.Helper()
	if name == "call.yaml" || strings.HasSuffix(name, ".test.yaml") {
		return
	}
	compile(t, text)
}

// compileRules checks rules without their document. They are good
// examples, so they have no warnings.
func compileRules(t *testing.T, text string) {
	t.Helper()
	compiled := compile(t, "version: v1\nname: example\nrules:\n"+text)
	for _, warning := range compiled.Warnings() {
		t.Errorf("warning: %s", warning)
	}
}

func compile(t *testing.T, text string) *engine.Policy {
	t.Helper()
	doc, err := document.Parse([]byte(text), document.YAML)
	if err != nil {
		t.Fatalf("the example does not parse: %v", err)
	}
	compiled, problems := engine.Compile(doc)
	if problems != nil {
		t.Fatalf("the example does not compile: %v", problems)
	}
	return compiled
}

func evaluateLines(t *testing.T, text string, call *toolcall.Call, fails bool) {
	t.Helper()
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		condition, problem := expression.Compile(line)
		if problem != nil {
			t.Errorf("%s\ndoes not compile: %s", line, problem.Message)
			continue
		}
		holds, err := condition.Eval(call)
		switch {
		case fails && err == nil:
			t.Errorf("%s\nis %v, and should fail", line, holds)
		case !fails && (err != nil || !holds):
			t.Errorf("%s\nis %v (error: %v), and should be true", line, holds, err)
		}
	}
}

func exitCode(t *testing.T, text string) int {
	t.Helper()
	var code int
	if _, err := fmt.Sscanf(text, "exits %d", &code); err != nil {
		t.Fatalf("%q is no exit code: %v", text, err)
	}
	return code
}

// runTranscript runs the command of a console block and compares what it prints.
// TestMain has put our programs on the PATH.
func runTranscript(t *testing.T, folder, text string, code int) {
	t.Helper()
	first, want, _ := strings.Cut(text, "\n")
	command, ok := strings.CutPrefix(first, "$ ")
	words := strings.Fields(command)
	if !ok || len(words) == 0 || words[0] != "writd" && words[0] != "writ" {
		t.Fatalf("%q is no command of ours", first)
	}
	cmd := exec.CommandContext(t.Context(), words[0], words[1:]...)
	cmd.Dir = folder
	got, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		t.Fatalf("run %s: %v", command, err)
	}
	if exited := cmd.ProcessState.ExitCode(); exited != code {
		t.Errorf("%s exits %d, want %d", command, exited, code)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("%s prints something else (-page +program):\n%s", command, diff)
	}
}

// TestPolicyPagePatterns checks the page's table of tool patterns.
func TestPolicyPagePatterns(t *testing.T) {
	t.Parallel()
	rows := tableRows(t, policyPage, "pattern", "matches", "does not match")
	if len(rows) < 4 {
		t.Fatalf("%d rows of patterns, want at least 4", len(rows))
	}
	for _, row := range rows {
		pattern := strings.Trim(row[0], "`")
		set := engine.NewSet([]engine.Active{{ID: "p", Policy: compile(t, fmt.Sprintf(
			"version: v1\nname: example\nrules:\n  - {id: r, effect: allow, tools: [%q]}\n", pattern))}})
		for column, want := range map[int]verdict.Verdict{1: verdict.Allow, 2: verdict.Deny} {
			for name := range strings.SplitSeq(row[column], ", ") {
				server, tool, _ := strings.Cut(strings.Trim(name, "`"), ".")
				if got := set.Evaluate(&toolcall.Call{Server: server, Tool: tool}, nil).Verdict; got != want {
					t.Errorf("%s and %s: %s, the page says %s", pattern, name, got, want)
				}
			}
		}
	}
}

// TestPolicyPageSizes checks that the page has the limits there are.
func TestPolicyPageSizes(t *testing.T) {
	t.Parallel()
	told := map[string]string{}
	for _, row := range tableRows(t, policyPage, "", "at most") {
		told[row[0]] = row[1]
	}
	for what, want := range map[string]string{
		"document": fmt.Sprintf("%d MiB, %s rules", document.MaxBytes>>20, thousands(document.MaxRules)),
		"patterns": fmt.Sprintf("%d in a rule, %d bytes each", document.MaxTools, document.MaxPattern),
		"condition": fmt.Sprintf("%d KiB, 1,000 parts, two nested loops",
			document.MaxCondition>>10),
		"name, rule id":        fmt.Sprintf("%d characters", document.MaxName),
		"description, message": fmt.Sprintf("%s characters", thousands(document.MaxDescription)),
		"arguments of a call":  fmt.Sprintf("%d MiB, %d levels", toolcall.MaxArguments>>20, toolcall.MaxDepth),
		"policy": fmt.Sprintf("%s versions, %d bindings", thousands(policy.MaxVersions),
			policy.MaxBindings),
		"organization": fmt.Sprintf("%s policies, %s active rules", thousands(policy.MaxPolicies),
			thousands(policy.MaxActiveRules)),
	} {
		if told[what] != want {
			t.Errorf("%s: the page says %q, and it is %q", what, told[what], want)
		}
	}
}

// TestPolicyPageTemplates checks that the page names the templates there are.
func TestPolicyPageTemplates(t *testing.T) {
	t.Parallel()
	var told, shipped []string
	for _, row := range tableRows(t, lifecyclePage, "template", "for") {
		told = append(told, strings.Trim(row[0], "`"))
	}
	for _, each := range template.All() {
		shipped = append(shipped, each.Name)
	}
	slices.Sort(told)
	slices.Sort(shipped)
	if diff := cmp.Diff(shipped, told); diff != "" {
		t.Errorf("templates (-shipped +page):\n%s", diff)
	}
}

// TestPolicyPageRequests checks that the requests of the page are routes.
func TestPolicyPageRequests(t *testing.T) {
	t.Parallel()
	golden, err := os.ReadFile("../api/testdata/routes.golden")
	if err != nil {
		t.Fatalf("read the routes: %v", err)
	}
	routes := map[string]bool{}
	for line := range strings.Lines(string(golden)) {
		if words := strings.Fields(line); len(words) > 1 {
			routes[words[0]+" "+words[1]] = true
		}
	}
	rows := tableRows(t, lifecyclePage, "request", "")
	if len(rows) < 10 {
		t.Fatalf("%d requests, want at least 10", len(rows))
	}
	for _, row := range rows {
		if request := strings.Trim(row[0], "`"); !routes[request] {
			t.Errorf("%s is no route", request)
		}
	}
}

func thousands(n int) string { return fmt.Sprintf("%d,%03d", n/1000, n%1000) }

// tableRows is the rows of the table with these headings.
func tableRows(t *testing.T, file string, headings ...string) [][]string {
	t.Helper()
	page, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("read the page: %v", err)
	}
	var rows [][]string
	inside := false
	for line := range strings.Lines(string(page)) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		switch {
		case !strings.HasPrefix(line, "|"):
			inside = false
		case cmp.Equal(cells, headings):
			inside = true
		case inside && !strings.HasPrefix(cells[0], "---"):
			rows = append(rows, cells)
		}
	}
	return rows
}
