package engine

import (
	"slices"

	"writ/internal/glob"
)

// NamesServer reports whether a rule of any policy names a server, itself or by a pattern that is not that of every
// server.
func (s *Set) NamesServer(server string) bool {
	return s.others.index.named[server] ||
		slices.ContainsFunc(s.others.index.patterns, func(pattern string) bool { return glob.Match(pattern, server) })
}
