package drafting

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"writ/internal/policy/document/node"
	"writ/internal/policy/policytest"
	"writ/internal/verdict"
)

// A model's words stand in more places than its descriptions. The name of a test
// says what is tested, and a test that is named after a deny and wants an allow
// passes; a comment in a condition says what it means, and where lines are joined
// it swallows the rest. So tests are named here, and comments are refused.

// nameTests gives a model's tests names that say what they call and want.
func nameTests(tests jsontext.Value) ([]map[string]jsontext.Value, error) {
	var named []map[string]jsontext.Value
	if err := json.Unmarshal(tests, &named); err != nil {
		return nil, unusable("tests", "must be a list of objects")
	}
	for i, test := range named {
		if test == nil {
			return nil, unusable(fmt.Sprintf("tests[%d]", i), "must be an object")
		}
		if _, given := test["name"]; given {
			test["name"] = jsontext.Value(quoted(nameOf(i, test)))
		}
	}
	return named, nil
}

// nameOf is the name of a test. What cannot be read is told by who reads the test.
func nameOf(place int, test map[string]jsontext.Value) string {
	var call struct{ Server, Tool string }
	var want struct{ Decision string }
	_ = json.Unmarshal(test["call"], &call, json.MatchCaseInsensitiveNames(true))
	_ = json.Unmarshal(test["want"], &want, json.MatchCaseInsensitiveNames(true))
	return fmt.Sprintf("test %d: %s wants %s", place+1, node.Shown(call.Server+"."+call.Tool),
		node.Shown(want.Decision))
}

// aboutTests says how much tests of a model's own prove.
func aboutTests(tests []policytest.Test) string {
	allows := 0
	for _, t := range tests {
		if t.Want.Decision == verdict.Allow {
			allows++
		}
	}
	return fmt.Sprintf("Its %d tests are the model's too: %d want an allow, %d something stricter.", len(tests), allows,
		len(tests)-allows)
}

// literalText is a text within a condition, as CEL writes them.
var literalText = regexp.MustCompile(`(?s)[rR][bB]?(?:"""(?:.*?)"""|'''(?:.*?)'''|"[^"\n]*"|'[^'\n]*')|` +
	`"""(?:\\.|[^\\])*?"""|'''(?:\\.|[^\\])*?'''|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'`)

// hasComment finds a comment in a condition.
func hasComment(when string) bool {
	return strings.Contains(literalText.ReplaceAllString(when, `""`), "//")
}
