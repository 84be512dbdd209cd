package gateway

import (
	"errors"
	"log/slog"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestQuestionsOfServersEndNothing: the SDK asks these handlers in goroutines of its own, where a panic would end the
// process.
func TestQuestionsOfServersEndNothing(t *testing.T) {
	t.Parallel()
	g := &Gateway{Options: Options{Logger: slog.New(slog.DiscardHandler)}}
	l := &link{s: &session{g: g, down: &sdk.ServerSession{}}}
	internal := func(err error) bool {
		failure, ok := errors.AsType[*jsonrpc.Error](err)
		return ok && failure.Code == jsonrpc.CodeInternalError
	}
	if _, err := l.sample(t.Context(), &sdk.CreateMessageWithToolsRequest{}); !internal(err) {
		t.Errorf("sampling without parameters: %v", err)
	}
	if _, err := l.elicit(t.Context(), &sdk.ElicitRequest{}); !internal(err) {
		t.Errorf("elicitation without parameters: %v", err)
	}
}
