package audit_test

import (
	"testing"

	"writ/internal/audit"
)

func TestVersionsCover(t *testing.T) {
	t.Parallel()
	at := audit.Version{Generation: 5, Epoch: 1}
	for other, want := range map[audit.Version]bool{
		{5, 1}: true, {4, 1}: true, {6, 1}: false, {5, 2}: false, {4, 2}: false, {5, 0}: false,
	} {
		if got := at.Covers(other); got != want {
			t.Errorf("%+v covers %+v: %t, want %t", at, other, got, want)
		}
	}
}
