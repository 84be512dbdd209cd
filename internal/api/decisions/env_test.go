package decisions_test

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"testing"

	"writ/internal/testserver"
)

// digestOfName is the digest that clients make of a tool's name.
func digestOfName(t *testing.T, name string) string {
	t.Helper()
	sum := sha256.Sum256([]byte(testserver.JSON(t, name)))
	return hex.EncodeToString(sum[:])
}

// decides reports whether a route answers a body that cannot be read with a deny:
// see TestBodiesThatCannotBeReadAreDenied.
func decides(path string) bool {
	return slices.Contains([]string{"/iap/sdk/enforce", "/iap/enforce", "/iap/verify-step", "/verify/action"}, path)
}

// m is a JSON object.
type m = map[string]any
