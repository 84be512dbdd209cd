package checks

import (
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"writ/internal/cli"
)

// The members of a log in the Static Analysis Results Interchange Format, 2.1.0, that we write.
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool struct {
			Driver sarifDriver `json:"driver"`
		} `json:"tool"`
		Results []sarifResult `json:"results"`
	}
	sarifDriver struct {
		Name    string      `json:"name"`
		Version string      `json:"version"`
		Rules   []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID    string    `json:"id"`
		Short sarifText `json:"shortDescription"`
	}
	sarifText struct {
		Text string `json:"text"`
	}
	sarifResult struct {
		RuleID    string          `json:"ruleId"`
		RuleIndex int             `json:"ruleIndex"`
		Level     Level           `json:"level"`
		Message   sarifText       `json:"message"`
		Locations []sarifLocation `json:"locations"`
	}
	sarifLocation struct {
		Physical struct {
			Artifact struct {
				URI string `json:"uri"`
			} `json:"artifactLocation"`
			Region *sarifRegion `json:"region,omitempty"`
		} `json:"physicalLocation"`
	}
	sarifRegion struct {
		Line   int `json:"startLine"`
		Column int `json:"startColumn,omitempty"`
	}
)

// kinds says what each kind of finding is.
var kinds = map[string]string{
	"problem":              "The policy is not valid",
	"warning":              "A likely mistake",
	"test":                 "A test of a policy failed",
	"unreachable":          "A rule never decides",
	"shadowed_allow":       "A deny overrules an allow",
	"over_broad":           "A rule permits everything",
	"literal_marks":        "A pattern has characters that are not special here",
	"contradictory_limits": "Limits contradict each other",
	"always_true":          "A condition is always true",
	"always_fails":         "A condition always fails",
}

func sarifOf(r Report) sarifLog {
	run := sarifRun{Results: []sarifResult{}}
	run.Tool.Driver = sarifDriver{Name: "writ policy", Version: cli.Version, Rules: []sarifRule{}}
	for _, f := range r.Files {
		for _, found := range f.Findings {
			text := found.Text
			if found.Advice != "" {
				text += "; " + found.Advice
			}
			run.add(found.Kind, found.Level, text, sarifPlace(f.Name, found.Line, found.Column))
		}
	}
	for _, t := range r.Tests {
		if len(t.Failures) > 0 {
			text := strings.TrimPrefix(t.Name+": "+strings.Join(t.Failures, "; "), ": ")
			run.add("test", Error, text, sarifPlace(t.File, t.Line, 0))
		}
	}
	return sarifLog{"https://json.schemastore.org/sarif-2.1.0.json", "2.1.0", []sarifRun{run}}
}

// add adds a result, and its rule the first time.
func (run *sarifRun) add(kind string, level Level, text string, at sarifLocation) {
	rules := &run.Tool.Driver.Rules
	index := slices.IndexFunc(*rules, func(r sarifRule) bool { return r.ID == kind })
	if index < 0 {
		says := kinds[kind]
		if says == "" {
			says = kind // of a newer server
		}
		index = len(*rules)
		*rules = append(*rules, sarifRule{kind, sarifText{says}})
	}
	run.Results = append(run.Results, sarifResult{kind, index, level, sarifText{text}, []sarifLocation{at}})
}

func sarifPlace(file string, line, column int) (at sarifLocation) {
	at.Physical.Artifact.URI = (&url.URL{Path: filepath.ToSlash(filepath.Clean(file))}).String()
	if line > 0 {
		at.Physical.Region = &sarifRegion{line, column}
	}
	return at
}
