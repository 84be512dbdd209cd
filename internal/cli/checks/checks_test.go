package checks_test

import (
	"encoding/json"
	"encoding/xml"
	"strings"
	"testing"

	"writ/internal/cli/checks"
)

// hostile is a report of files that others wrote.
var hostile = checks.Report{
	Files: []checks.File{
		{Name: "good.yaml", Rules: 2, Findings: []checks.Finding{
			{
				Kind: "over_broad", Level: checks.Note, Line: 4, Column: 5,
				Text: "rule all: permits all", Advice: "name tools",
			},
			{Kind: "warning", Level: checks.Warning, Line: 5, Text: "rule b: odd"},
		}},
		{Name: "a b/bad.yaml", Findings: []checks.Finding{
			{Kind: "problem", Level: checks.Error, Text: "name: \x1b[2J <x> & \x00"},
		}},
	},
	Tests: []checks.Test{
		{File: "t.yaml", Line: 3, Name: "passes"},
		{File: "t.yaml", Line: 9, Name: "fails \x1b", Failures: []string{"decision is \"deny\"", "rule is \"x\""}},
		{File: "u.yaml", Failures: []string{"cannot be read"}},
	},
}

func TestText(t *testing.T) {
	t.Parallel()
	want := `good.yaml:4:5: rule all: permits all; name tools (finding over_broad)
good.yaml:5: rule b: odd (warning)
good.yaml: ok, 2 rules
a b/bad.yaml: name: ` + "\uFFFD[2J <x> & \uFFFD" + `
t.yaml:9: fails ` + "\uFFFD" + `
    decision is "deny"
    rule is "x"
u.yaml
    cannot be read
`
	got := checks.Text(checks.Report{Files: hostile.Files, Tests: hostile.Tests})
	if got, counted := strings.CutSuffix(got, "1 passed, 2 failed\n"); got != want || !counted {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
	if err := hostile.Err(); err == nil || err.Error() != "2 of 3 tests failed" {
		t.Errorf("err = %v", err)
	}
}

// A CI system reads what failed, and nothing that its XML reader refuses.
func TestJUnit(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	if err := checks.Write(&out, "junit", hostile); err != nil {
		t.Fatal(err)
	}
	var read struct {
		Tests    int `xml:"tests,attr"`
		Failures int `xml:"failures,attr"`
		Suites   []struct {
			Name  string `xml:"name,attr"`
			Cases []struct {
				Name    string `xml:"name,attr"`
				Line    int    `xml:"line,attr"`
				Failure *struct {
					Message string `xml:"message,attr"`
					Text    string `xml:",chardata"`
				} `xml:"failure"`
				Out string `xml:"system-out"`
			} `xml:"testcase"`
		} `xml:"testsuite"`
	}
	if err := xml.Unmarshal([]byte(out.String()), &read); err != nil {
		t.Fatalf("%v:\n%s", err, out.String())
	}
	if read.Tests != 5 || read.Failures != 3 || len(read.Suites) != 4 {
		t.Fatalf("read %+v", read)
	}
	broad, bad, tests := read.Suites[0].Cases[0], read.Suites[1].Cases[0], read.Suites[2].Cases
	if broad.Failure != nil || !strings.Contains(broad.Out, "finding over_broad") {
		t.Errorf("a finding is %+v", broad)
	}
	if bad.Failure == nil || !strings.Contains(bad.Failure.Message, "<x> & \uFFFD") {
		t.Errorf("a problem is %+v", bad.Failure)
	}
	if tests[0].Failure != nil || tests[1].Line != 9 || tests[1].Failure.Text != "decision is \"deny\"\nrule is \"x\"" {
		t.Errorf("tests are %+v", tests)
	}
}

func TestSARIF(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	if err := checks.Write(&out, "sarif", hostile); err != nil {
		t.Fatal(err)
	}
	var read struct {
		Version string
		Runs    []struct {
			Tool struct {
				Driver struct{ Rules []struct{ ID string } }
			}
			Results []struct {
				RuleID    string
				RuleIndex int
				Level     string
				Locations []struct {
					PhysicalLocation struct {
						ArtifactLocation struct{ URI string }
						Region           *struct{ StartLine, StartColumn int }
					}
				}
			}
		}
	}
	if err := json.Unmarshal([]byte(out.String()), &read); err != nil {
		t.Fatal(err)
	}
	run := read.Runs[0]
	if read.Version != "2.1.0" || len(run.Results) != 5 || len(run.Tool.Driver.Rules) != 4 {
		t.Fatalf("read %+v", read)
	}
	for i, want := range []struct{ rule, level, uri string }{
		{"over_broad", "note", "good.yaml"}, {"warning", "warning", "good.yaml"},
		{"problem", "error", "a%20b/bad.yaml"}, {"test", "error", "t.yaml"}, {"test", "error", "u.yaml"},
	} {
		got := run.Results[i]
		at := got.Locations[0].PhysicalLocation
		if got.RuleID != want.rule || got.Level != want.level || at.ArtifactLocation.URI != want.uri ||
			run.Tool.Driver.Rules[got.RuleIndex].ID != want.rule {
			t.Errorf("result %d is %+v, want %+v", i, got, want)
		}
	}
	if at := run.Results[2].Locations[0].PhysicalLocation; at.Region != nil {
		t.Errorf("a file without a place has the region %+v", at.Region)
	}
	if err := checks.Write(&out, "xml", hostile); err == nil {
		t.Error("an unknown format is written")
	}
}
