package gateway

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"strings"

	"writ/internal/toolname"
)

// MCP permits names of 128 characters, and models of 64.
const (
	maxName   = 64
	separator = "__"
	markBytes = 4 // of the hash that makes a name unique
)

var (
	unfit = regexp.MustCompile(`[^A-Za-z0-9_.-]`)
	// marked is a name that ends as one with a mark does.
	marked = regexp.MustCompile(`_[0-9a-f]{8}$`)
)

// publicNames are the names that things of several servers get where all of them are in one list: SERVER__NAME, which
// clients know. Where that would be too long, hold characters that names must not have, or be the name of two things,
// the name ends with a mark that is the thing's own. A name depends on nothing but its own thing and those that would
// share it, so that it stays the same when others come and go.
func publicNames(of []toolname.Name) []string {
	public := make([]string, len(of))
	plain := make(map[string]int, len(of))
	for i, n := range of {
		public[i] = n.Server + separator + n.Tool
		plain[public[i]]++
	}
	for i, n := range of {
		name := public[i]
		if plain[name] > 1 || len(name) > maxName || unfit.MatchString(name) || marked.MatchString(name) {
			public[i] = withMark(n)
		}
	}
	return public
}

// withMark is a fitting name with a mark.
func withMark(n toolname.Name) string {
	sum := sha256.Sum256([]byte(n.Server + "\x00" + n.Tool))
	mark := "_" + hex.EncodeToString(sum[:markBytes])
	name := strings.Trim(unfit.ReplaceAllString(n.Server, "-"), "-") + separator + unfit.ReplaceAllString(n.Tool, "-")
	return name[:min(len(name), maxName-len(mark))] + mark
}
