package carrier

import (
	"context"

	registry "writ/internal/mcp"
	"writ/internal/mcp/upstream"
)

type judgedKey struct{}

// withJudged is the context in which an allowed call is sent.
func withJudged(ctx context.Context, reach registry.Reach) context.Context {
	return context.WithValue(ctx, judgedKey{}, reach)
}

// Judged is the registration by which the call was judged that is being sent; false: none is. Nothing is sent by
// another, which nobody has judged.
func Judged(ctx context.Context) (registry.Reach, bool) {
	reach, ok := ctx.Value(judgedKey{}).(registry.Reach)
	return reach, ok
}

func isSame(a, b registry.Reach) bool { return a.ID == b.ID && a.UpdatedAt.Equal(b.UpdatedAt) }

// Changed is the failure of a call that was not sent because its server is registered otherwise than when it was
// judged.
func Changed(server string) *upstream.Failure {
	return &upstream.Failure{
		Kind: upstream.Refused, Server: server, Reason: "its registration has just changed: make the call again",
	}
}
