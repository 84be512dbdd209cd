package cli_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// mcpProgram is an MCP server over stdio: its first argument describes its tools, the others name them.
func mcpProgram() {
	tools := []string{"read"}
	if len(os.Args) > 2 {
		tools = os.Args[2:]
	}
	s := mcp.NewServer(&mcp.Implementation{Name: "test-mcp", Version: "1"}, nil)
	for _, name := range tools {
		s.AddTool(&mcp.Tool{Name: name, Description: os.Args[1], InputSchema: json.RawMessage(`{"type":"object"}`)},
			func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				return &mcp.CallToolResult{}, nil
			})
	}
	if err := s.Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
