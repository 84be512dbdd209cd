package cli_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/rogpeppe/go-internal/testscript"

	"writ/client"
)

// mcpServer is an MCP server: the first argument of this program describes its tools, the others name them. Another
// release of it, with the same arguments, says what MCP_RELEASE does, in words with a bar between.
func mcpServer() *mcp.Server {
	tools, said := []string{"read"}, os.Args[1:]
	if release := os.Getenv("MCP_RELEASE"); release != "" {
		said = strings.Split(release, "|")
	}
	if len(said) > 1 {
		tools = said[1:]
	}
	s := mcp.NewServer(&mcp.Implementation{Name: "test-mcp", Version: "1"}, nil)
	for _, name := range tools {
		s.AddTool(&mcp.Tool{Name: name, Description: said[0], InputSchema: json.RawMessage(`{"type":"object"}`)},
			func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				return &mcp.CallToolResult{}, nil
			})
	}
	return s
}

// mcpProgram serves it over stdio.
func mcpProgram() {
	if err := mcpServer().Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// mcpOverHTTP serves it over streamable HTTP at MCP_PORT.
func mcpOverHTTP() {
	s := mcpServer()
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, nil)
	fmt.Fprintln(os.Stderr, http.ListenAndServe("127.0.0.1:"+os.Getenv("MCP_PORT"), handler))
	os.Exit(1)
}

// reached waits until somebody listens at MCP_PORT.
func reached(ts *testscript.TestScript, neg bool, args []string) {
	needs(ts, !neg && len(args) == 0, "reached")
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(10 * time.Millisecond) {
		conn, err := net.Dial("tcp", "127.0.0.1:"+ts.Getenv("MCP_PORT"))
		if err == nil {
			ts.Check(conn.Close())
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("not reached: %v", err)
		}
	}
}

// fingerprint NAME FILE RULE puts the fingerprint of the first finding of a rule into the environment.
func fingerprintOf(ts *testscript.TestScript, neg bool, args []string) {
	needs(ts, !neg && len(args) == 3, "fingerprint NAME FILE RULE")
	var found client.MCPFindings
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(args[1])), &found))
	for _, f := range found.Items {
		if f.ID == args[2] {
			ts.Setenv(args[0], f.Fingerprint)
			return
		}
	}
	ts.Fatalf("%s has no finding %s", args[1], args[2])
}
