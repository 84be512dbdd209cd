package gateway

import sdk "github.com/modelcontextprotocol/go-sdk/mcp"

// promise notes which of the tools that the client is shown have a form of their results. Clients check results by
// what they were shown, and a rule may come after that.
func (s *session) promise(shown []*sdk.Tool) {
	if s.stateless {
		return // nobody knows what the client was shown by other requests
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, tool := range shown {
		if tool.OutputSchema == nil {
			delete(s.promised, tool.Name)
			continue
		}
		if s.promised == nil {
			s.promised = map[string]bool{}
		}
		s.promised[tool.Name] = true
	}
}

// hasPromised reports whether the client was shown the form of a tool's results.
func (s *session) hasPromised(tool string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.promised[tool]
}
