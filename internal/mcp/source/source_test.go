package source_test

import (
	"strings"
	"testing"

	"writ/internal/mcp/definition"
	"writ/internal/mcp/source"
)

// TestForms reads every form in which people have definitions.
func TestForms(t *testing.T) {
	t.Parallel()
	const tool = `{"name":"add","description":"Adds.","inputSchema":{"type":"object"}}`
	for name, text := range map[string]string{
		"a tool":       tool,
		"tools":        `[` + tool + `]`,
		"an answer":    `{"tools":[` + tool + `]}`,
		"a message":    `{"jsonrpc":"2.0","id":1,"result":{"tools":[` + tool + `]}}`,
		"a definition": `{"name":"maths","instructions":"Maths.","tools":[` + tool + `]}`,
		"a set":        `{"servers":[{"name":"maths","tools":[` + tool + `]}]}`,
		"comments":     "/* a */ {\"tools\": [" + tool + ",], // b\n}",
	} {
		found, err := source.Read([]byte(text))
		if err != nil || len(found) != 1 || len(found[0].Server.Tools) != 1 || found[0].Server.Tools[0].Name != "add" {
			t.Errorf("%s: %+v, %v", name, found, err)
		}
	}
}

// TestConfigurations reads the servers of clients, without their secrets.
func TestConfigurations(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"Claude, Cursor": `{"mcpServers":{"a":{"command":"npx","args":["-y","x@1.0.0"],"env":{"TOKEN":"abcdef123456"}}}}`,
		"VS Code":        `{"servers":{"a":{"type":"stdio","command":"npx","args":["-y","x@1.0.0"],"env":{"TOKEN":"abcdef123456"}}}}`,
		"settings":       `{"mcp":{"servers":{"a":{"command":"npx","args":["-y","x@1.0.0"],"env":{"TOKEN":"abcdef123456"}}}}}`,
		"Zed":            `{"context_servers":{"a":{"command":{"path":"npx","args":["-y","x@1.0.0"]},"env":{"TOKEN":"abcdef123456"}}}}`,
	} {
		found, err := source.Read([]byte(text))
		if err != nil || len(found) != 1 {
			t.Errorf("%s: %+v, %v", name, found, err)
			continue
		}
		s := found[0]
		if s.Server.Name != "a" || s.Server.Transport != definition.Stdio ||
			strings.Join(s.Server.Command, " ") != "npx -y x@1.0.0" ||
			len(s.Secrets) != 1 || s.Secrets[0] != "TOKEN" {
			t.Errorf("%s: %+v", name, s)
		}
	}
	found, err := source.Read([]byte(`{"mcpServers":{"g":{"httpUrl":"https://x.example/mcp","trust":true,
		"headers":{"Authorization":"Bearer ${T}"}},"s":{"type":"sse","url":"https://y.example/sse","alwaysAllow":["*"]}}}`))
	if err != nil || len(found) != 2 {
		t.Fatalf("%+v, %v", found, err)
	}
	gemini, sse := found[0], found[1]
	if gemini.Server.URL != "https://x.example/mcp" || gemini.Server.Auth != definition.AuthBearer || !gemini.Trusted ||
		len(gemini.Secrets) != 0 {
		t.Errorf("%+v", gemini)
	}
	if sse.Server.Transport != definition.SSE || !sse.Trusted || sse.Server.Auth != "" {
		t.Errorf("%+v", sse)
	}
}

// TestUnreadable says what is wrong with a file.
func TestUnreadable(t *testing.T) {
	t.Parallel()
	for text, reason := range map[string]string{
		`{"a":1}`:                                  "no definition and no configuration",
		`{"servers":1}`:                            "servers: must be a list of definitions",
		`{"mcpServers":[]}`:                        "must be an object of servers by name",
		`{"mcpServers":{"a":{}}}`:                  `server "a": must have command or url`,
		`{"mcpServers":{"a":{"command":1}}}`:       "command: must be a text",
		`{"tools":[{"name":"a","name":"b"}]}`:      "name",
		`{"tools":1}`:                              "must be a list",
		"{\"instructions\":\"\xff\"}":              "UTF-8",
		strings.Repeat(" ", definition.MaxBytes+1): "bytes",
	} {
		if _, err := source.Read([]byte(text)); err == nil || !strings.Contains(err.Error(), reason) {
			t.Errorf("%.60q: %v, want %q", text, err, reason)
		}
	}
}
