package drafting

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"writ/internal/node"
	"writ/internal/policy/policytest"
	"writ/internal/verdict"
)

// A model's prose is not only in its descriptions. A test whose name mentions a deny can
// want an allow, and pass. A comment can lie about its condition, and hides the rest of
// it where lines are joined. So tests are named here, and comments are refused.

// nameTests names a model's tests by what they call and want.
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

// nameOf is the name of a test. It ignores errors, which policytest reports.
func nameOf(i int, test map[string]jsontext.Value) string {
	var call struct{ Server, Tool string }
	var want struct{ Decision string }
	_ = json.Unmarshal(test["call"], &call, json.MatchCaseInsensitiveNames(true))
	_ = json.Unmarshal(test["want"], &want, json.MatchCaseInsensitiveNames(true))
	return fmt.Sprintf("test %d: %s wants %s", i+1, node.Shown(call.Server+"."+call.Tool),
		node.Shown(want.Decision))
}

// aboutTests says what a model's own tests want.
func aboutTests(tests []policytest.Test) string {
	allows := 0
	for _, t := range tests {
		if t.Want.Decision == verdict.Allow {
			allows++
		}
	}
	return fmt.Sprintf("The model also wrote its %d tests: %d want an allow, %d something stricter.", len(tests),
		allows,
		len(tests)-allows)
}

// literalText is a string literal of CEL.
var literalText = regexp.MustCompile(`(?s)[rR][bB]?(?:"""(?:.*?)"""|'''(?:.*?)'''|"[^"\n]*"|'[^'\n]*')|` +
	`"""(?:\\.|[^\\])*?"""|'''(?:\\.|[^\\])*?'''|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'`)

func hasComment(when string) bool {
	return strings.Contains(literalText.ReplaceAllString(when, `""`), "//")
}
