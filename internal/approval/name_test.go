package approval_test

import (
	"strings"
	"testing"

	"writ/internal/approval"
	"writ/internal/fault"
	"writ/internal/testenv"
)

// TestNamesAreWhatTheyLookLike: a client cannot ask in a name that shows as another
// one, or that holds a key.
func TestNamesAreWhatTheyLookLike(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		for name, asked := range map[string]approval.Asked{
			"turned":     {Tool: "pay\u202eyap"},
			"hidden":     {Tool: "pay", Domain: "ba\u2060nk"},
			"a new line": {Tool: "pay", Email: "ada\u2028@example.org"},
			"a key":      {Tool: "pay", AgentID: "sk_live_" + strings.Repeat("4eC39HqLyjWD", 2)},
		} {
			_, _, err := e.approvals.Ask(t.Context(), e.key, asked)
			testenv.WantFault(t, name, err, fault.Invalid)
		}
	})
}
