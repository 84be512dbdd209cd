package accounts_test

import (
	"regexp"
)

// elsewhere is how a page names another server.
var elsewhere = regexp.MustCompile(`https?:|["']//`)

// The files spec_*_test.go say the specification of observability (sections 2.2
// to 2.5, 3, 4.1, 7 and 8), and what was settled where it is silent, rule by
// rule: each has a test or subtest whose name is the rule.

// m is a JSON object.
type m = map[string]any
