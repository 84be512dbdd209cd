package carrier

import (
	"testing"

	"writ/internal/manifest"
)

// TestManifestsAreWarnedOfOurLimits: what a manifest is warned of is what the proxy does.
func TestManifestsAreWarnedOfOurLimits(t *testing.T) {
	t.Parallel()
	if manifest.MostTimeout != MaxTimeout || manifest.MostRetries != maxRetries {
		t.Errorf("a manifest is warned above %s and %d retries, and the proxy does %s and %d at most",
			manifest.MostTimeout, manifest.MostRetries, MaxTimeout, maxRetries)
	}
}
