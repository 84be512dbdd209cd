package gemini_test

import (
	"bytes"
	"strings"
	"testing"

	"writ/internal/hook/gemini"
)

// call is a payload of BeforeTool with some members replaced or added.
func call(replace ...string) string {
	text := `{"session_id":"7f3b-1","transcript_path":"/home/dev/t.jsonl","cwd":"/home/dev/project",` +
		`"hook_event_name":"BeforeTool","timestamp":"2026-01-01T00:00:00Z","tool_name":"read_file","tool_input":{"path":"a"}}`
	return strings.NewReplacer(replace...).Replace(text)
}

func TestRead(t *testing.T) {
	t.Parallel()
	text := call(`"tool_name":"read_file"`, `"tool_name":"mcp_docs_find","later":[1,{"a":null}],"mcp_context":`+
		`{"server_name":"docs","tool_name":"find","command":"/opt/docs","args":["-v"],"cwd":"/srv","more":1}`)
	p, err := gemini.Read(strings.NewReader(text), gemini.BeforeTool)
	if err != nil {
		t.Fatal(err)
	}
	if p.SessionID != "7f3b-1" || p.CWD != "/home/dev/project" || string(p.ToolInput) != `{"path":"a"}` ||
		p.MCP.ServerName != "docs" || p.MCP.Command != "/opt/docs" || len(p.MCP.Args) != 1 {
		t.Errorf("%+v, %+v", p, p.MCP)
	}
}

func TestReadRefuses(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat("[", 200) + strings.Repeat("]", 200)
	for _, c := range []struct{ name, text, want string }{
		{"nothing", "", "is empty"},
		{"spaces", " \n", "is empty"},
		{"cut", call()[:100], "not one JSON object"},
		{"cut at the end", call()[:len(call())-1], "not one JSON object"},
		{"text", "hello", "not one JSON object"},
		{"list", "[" + call() + "]", "not one JSON object"},
		{"null", "null", "not one JSON object"},
		{"text with an object", `"{}"`, "not one JSON object"},
		{"two", call() + call(), "behind it"},
		{"something behind", call() + "x", "behind it"},
		{"byte order mark", "\ufeff" + call(), "not one JSON object"},
		{"no UTF-8", call("read_file", "read\xff"), "not UTF-8"},
		{"UTF-16", "{\x00\"\x00}\x00", "not one JSON object"},
		{"member twice", call(`"tool_name"`, `"tool_name":"ls","tool_name"`), "twice"},
		{"argument twice", call(`"path"`, `"path":"b","path"`), "twice"},
		{"argument twice by an escape", call(`"path"`, `"p\u0061th":"b","path"`), "twice"},
		{"deep", call(`"a"`, deep), "nested"},
		{"too large", call(`"a"`, `"`+strings.Repeat("a", gemini.MaxPayload)+`"`), "more than 16 MiB"},
		{"other event", call("BeforeTool", "AfterTool"), "hook_event_name: must be BeforeTool"},
		{"no event", call("hook_event_name", "event"), "hook_event_name"},
		{"event in other case", call("hook_event_name", "Hook_Event_Name"), "hook_event_name"},
		{"no session", call("session_id", "session"), "session_id"},
		{"session is a number", call(`"7f3b-1"`, "7"), "session_id: must be a text"},
		{"session is a path", call("7f3b-1", "../../x"), "session_id"},
		{"session is a flag", call("7f3b-1", "-x"), "session_id"},
		{"long session", call("7f3b-1", strings.Repeat("a", 129)), "session_id"},
		{"no folder", call(`"cwd"`, `"dir"`), "cwd"},
		{"relative folder", call("/home/dev/project", "project"), "cwd"},
		{"folder with a zero byte", call("/home/dev/project", `/home/\u0000`), "cwd"},
		{"transcript with a zero byte", call("/home/dev/t.jsonl", `\u0000`), "transcript_path"},
		{"no tool", call("tool_name", "tool"), "tool_name"},
		{"empty tool", call("read_file", ""), "tool_name"},
		{"tool is an object", call(`"read_file"`, "{}"), "tool_name: must be a text"},
		{"tool with a line break", call("read_file", `read\nfile`), "tool_name"},
		{"no input", call("tool_input", "input"), "tool_input"},
		{"input is null", call(`{"path":"a"}`, "null"), "tool_input"},
		{"input is a list", call(`{"path":"a"}`, "[]"), "tool_input"},
		{"input is a text", call(`{"path":"a"}`, `"{}"`), "tool_input"},
		{"context is a text", call(`"tool_name"`, `"mcp_context":"x","tool_name"`), "mcp_context"},
		{"context without a server", call(`"tool_name"`, `"mcp_context":{"tool_name":"x"},"tool_name"`), "mcp_context"},
		{
			"context with numbers",
			call(`"tool_name"`, `"mcp_context":{"server_name":"a","tool_name":"x","args":[1]},"tool_name"`), "args",
		},
	} {
		p, err := gemini.Read(strings.NewReader(c.text), gemini.BeforeTool)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %+v, %v, want %q", c.name, p, err, c.want)
		}
	}
}

func TestAnswerText(t *testing.T) {
	t.Parallel()
	for want, answer := range map[string]gemini.Answer{
		"":                                 {},
		`{"decision":"deny","reason":"r"}`: gemini.Denied("r"),
		`{"decision":"allow","hookSpecificOutput":{"hookEventName":"BeforeTool","tool_input":{"a":1}}}`: {
			Decision: gemini.Allow,
			Specific: &gemini.Specific{Event: gemini.BeforeTool, ToolInput: []byte(`{"a":1}`)},
		},
	} {
		if text, err := answer.Text(); err != nil || !bytes.Equal(text, []byte(want)) {
			t.Errorf("%s, %v; want %s", text, err, want)
		}
	}
}
