package testserver

import (
	"fmt"
	"net"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// NPMServer is the start file of an MCP server from npm, for tests of packages three folders below the root.
func NPMServer(t *testing.T, name string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "../../../scripts/mcp-servers").Output()
	if err != nil {
		t.Fatalf("install the MCP servers: %v", err)
	}
	return filepath.Join(strings.TrimSpace(string(out)), "node_modules/@modelcontextprotocol", name, "dist/index.js")
}

// StartEverything serves server-everything by streamable HTTP on a free port, and gives its address.
func StartEverything(t *testing.T) string {
	t.Helper()
	return startEverything(t, "streamableHttp", "/mcp")
}

// StartEverythingSSE serves it by the older transport.
func StartEverythingSSE(t *testing.T) string {
	t.Helper()
	return startEverything(t, "sse", "/sse")
}

func startEverything(t *testing.T, transport, path string) string {
	t.Helper()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := free.Addr().(*net.TCPAddr).Port
	_ = free.Close()
	program := exec.CommandContext(t.Context(), "node", NPMServer(t, "server-everything"), transport)
	program.Env = append(program.Environ(), fmt.Sprintf("PORT=%d", port))
	if err := program.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = program.Process.Kill()
		_ = program.Wait()
	})
	url := fmt.Sprintf("http://127.0.0.1:%d%s", port, path)
	Soon(t, "server-everything answers", func() bool {
		answer, err := http.Get(url)
		if err == nil {
			_ = answer.Body.Close()
		}
		return err == nil
	})
	return url
}
