package decisions_test

import (
	"testing"

	"writ/internal/testserver"
)

// A plugin whose policy engine is set to this server asks it without a credential, looks at no status, and denies
// where the answer has no result. So no answer may have one.
func TestWirePolicyEngineQuery(t *testing.T) {
	t.Parallel()
	testserver.EachPublished(t, func(t *testing.T, w *testserver.Published) {
		const body = `{"input":{"policies":[],"policy":{"schemaVersion":1,"defaults":{},"statements":[]},"context":{"timestamp":1},` +
			`"resource":{"toolName":"search","resourceType":"tool","params":{}},"subject":{"source":"claude-code"}}}`
		for _, headers := range [][]string{nil, w.Claude()} {
			status, answer := w.Call("/v1/data/armoriq/authz/decision", body, headers...)
			if _, has := answer["result"]; status != 404 || has || answer["allowed"] == true {
				t.Errorf("%d %v", status, answer)
			}
		}
	})
}
