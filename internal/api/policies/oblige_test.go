package policies_test

import (
	"testing"

	"github.com/go-json-experiment/json"

	"writ/internal/api/policies"
	"writ/internal/policy/document"
)

// TestObligationsThatAreNotDemanded: a size of 0 would read as if nothing of a result were shown.
func TestObligationsThatAreNotDemanded(t *testing.T) {
	t.Parallel()
	got, err := json.Marshal(policies.ObligeOf(&document.Obligations{Labels: []string{"money"}}))
	if err != nil || string(got) != `{"labels":["money"]}` {
		t.Errorf("labels alone: %s, %v", got, err)
	}
}
