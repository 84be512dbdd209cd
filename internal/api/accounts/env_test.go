package accounts_test

import (
	"regexp"
)

// elsewhere is how a page names another server.
var elsewhere = regexp.MustCompile(`https?:|["']//`)

// m is a JSON object.
type m = map[string]any
