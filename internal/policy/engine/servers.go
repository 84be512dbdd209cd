package engine

import "writ/internal/policy/glob"

// NamesServer reports whether a rule of any policy names a server, itself or by a pattern that is not that of every
// server.
func (s *Set) NamesServer(server string) bool {
	if s.index.named[server] {
		return true
	}
	for _, pattern := range s.index.patterns {
		if glob.Match(pattern, server) {
			return true
		}
	}
	return false
}
