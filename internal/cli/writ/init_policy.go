package writ

import (
	"context"
	"encoding/json"
	"fmt"

	"writ/client"
)

// findPolicy checks with a key that a policy is in force. A key puts none in force and lists none: it sees which policy
// decides about calls of the host.
func (i *initializing) findPolicy(ctx context.Context, a access) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	c := &client.Client{BaseURL: a.url, APIKey: a.key}
	for _, t := range guardTools {
		access, err := c.CheckAccess(ctx, "", client.ToolCall{
			Server: "gemini-cli", Tool: t.name, AgentID: i.agent, Arguments: json.RawMessage(t.arguments),
		})
		if err != nil {
			return "", noAnswer(a.url, "ask about the policy "+i.policy, err)
		}
		if p := access.MatchedPolicy; p != nil && p.Name == i.policy {
			return fmt.Sprintf("%s, version %d, in force", p.Name, p.Version), nil
		}
	}
	return "", fmt.Errorf("a key cannot put the policy %s in force, and none of the calls that it asked about is decided "+
		"by it: leave out --policy, and have an owner or admin look (writ policy list)", i.policy)
}
