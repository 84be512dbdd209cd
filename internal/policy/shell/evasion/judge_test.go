package evasion

import (
	"path"
	"strings"

	"writ/internal/policy/shell"
)

// runsFreely reports whether a policy that trusts package shell would let a command run
// in the workspace without a question: it is plain, and stays in there.
func runsFreely(command string) bool {
	c := shell.Parse(command)
	return c.Plain() && allInside(c.Writes) && allInside(c.Reads)
}

func allInside(paths []string) bool {
	for _, p := range paths {
		if !inside(p) {
			return false
		}
	}
	return true
}

// inside reports whether a path of shell.Command is in the workspace, or nobody's.
func inside(p string) bool {
	if p = path.Clean(p); path.IsAbs(p) {
		return p == workspace || strings.HasPrefix(p, workspace+"/") || strings.HasPrefix(p, "/tmp/") ||
			p == "/dev/null" || p == "/dev/stdin" || p == "/dev/stdout" || p == "/dev/stderr"
	}
	return p != ".." && !strings.HasPrefix(p, "../") && !strings.HasPrefix(p, "~")
}
