// Package sarif writes the report of a scan as a log in the Static Analysis Results Interchange Format, 2.1.0, which CI
// systems read.
package sarif

import (
	"net/url"
	"path/filepath"
	"strings"

	"writ/internal/mcp/scan"
)

// Version and Schema are those of the format.
const (
	Version = "2.1.0"
	Schema  = "https://json.schemastore.org/sarif-2.1.0.json"
)

// Log is a file in this format.
type Log struct {
	Schema  string `json:"$schema"`
	Version string `json:"version"`
	Runs    []Run  `json:"runs"`
}

// Run is one run of a tool.
type Run struct {
	Tool    Tool     `json:"tool"`
	Results []Result `json:"results"`
}

// Tool is the program that ran.
type Tool struct {
	Driver Driver `json:"driver"`
}

// Driver is what the program can find.
type Driver struct {
	Name    string `json:"name"`
	Version string `json:"semanticVersion,omitempty"`
	Rules   []Rule `json:"rules"`
}

// Rule describes one kind of finding.
type Rule struct {
	ID         string     `json:"id"`
	Short      Message    `json:"shortDescription"`
	Help       Message    `json:"help"`
	Default    Level      `json:"defaultConfiguration"`
	Properties Properties `json:"properties"`
}

// Level is how severe results of a rule are, unless they say otherwise.
type Level struct {
	Level string `json:"level"`
}

// Properties are what the format has no member for. GitHub reads the severity.
type Properties struct {
	Tags     []string `json:"tags"`
	Severity string   `json:"security-severity"`
}

// Message is a text.
type Message struct {
	Text string `json:"text"`
}

// Result is one finding.
type Result struct {
	RuleID       string            `json:"ruleId"`
	RuleIndex    int               `json:"ruleIndex"`
	Level        string            `json:"level"`
	Message      Message           `json:"message"`
	Locations    []Location        `json:"locations"`
	Fingerprints map[string]string `json:"partialFingerprints"`
}

// Location is where a finding is: the file or address, and the place within the definition.
type Location struct {
	Physical Physical  `json:"physicalLocation"`
	Logical  []Logical `json:"logicalLocations"`
}

// Physical is a file.
type Physical struct {
	Artifact Artifact `json:"artifactLocation"`
	Region   Region   `json:"region"`
}

// Artifact is the URI of a file.
type Artifact struct {
	URI string `json:"uri"`
}

// Region is a part of a file. The definition is scanned as data, so it is the first line.
type Region struct {
	StartLine int `json:"startLine"`
}

// Logical is a place within a definition.
type Logical struct {
	Name string `json:"fullyQualifiedName"`
	Kind string `json:"kind"`
}

// From is the log of a scan of a file or address.
func From(report scan.Report, target, version string) Log {
	rules, numbers := rulesOf()
	results := make([]Result, len(report.Findings))
	for i, f := range report.Findings {
		results[i] = Result{
			RuleID:       f.ID,
			RuleIndex:    numbers[f.ID],
			Level:        level(f.Severity),
			Message:      Message{message(f)},
			Locations:    []Location{location(f, target)},
			Fingerprints: map[string]string{"writ/v1": f.Fingerprint},
		}
	}
	driver := Driver{Name: "writ mcp scan", Version: version, Rules: rules}
	return Log{Schema: Schema, Version: Version, Runs: []Run{{Tool: Tool{driver}, Results: results}}}
}

func rulesOf() (rules []Rule, numbers map[string]int) {
	numbers = map[string]int{}
	for i, r := range scan.Rules() {
		numbers[r.ID] = i
		rules = append(rules, Rule{
			ID:      r.ID,
			Short:   Message{r.Title},
			Help:    Message{r.Advice},
			Default: Level{level(r.Severity)},
			Properties: Properties{
				Tags:     append(append([]string{"security"}, r.OWASP...), r.SAFEMCP...),
				Severity: score(r.Severity),
			},
		})
	}
	return rules, numbers
}

func message(f scan.Finding) string {
	text := f.Title
	if f.Server != "" {
		text = f.Server + ": " + text
	}
	if f.Evidence != "" {
		text += ": " + f.Evidence
	}
	return text + ". " + f.Advice
}

func location(f scan.Finding, target string) Location {
	name := f.Place
	if f.Server != "" {
		name = strings.TrimSuffix(f.Server+"/"+f.Place, "/")
	}
	return Location{
		Physical: Physical{Artifact{uri(target)}, Region{1}},
		Logical:  []Logical{{name, "member"}},
	}
}

// uri is a file or address as a URI, without what may be secret in it.
func uri(target string) string {
	if u, err := url.Parse(target); err == nil && u.Scheme != "" && u.Host != "" {
		return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
	}
	return (&url.URL{Path: filepath.ToSlash(target)}).String()
}

func level(s scan.Severity) string {
	switch {
	case s >= scan.High:
		return "error"
	case s == scan.Medium:
		return "warning"
	}
	return "note"
}

// score is a severity as a number from 0 to 10.
func score(s scan.Severity) string {
	return map[scan.Severity]string{
		scan.Info: "1.0", scan.Low: "3.0", scan.Medium: "5.5", scan.High: "8.0", scan.Critical: "9.5",
	}[s]
}
