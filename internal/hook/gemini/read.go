package gemini

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"unicode/utf8"
)

// Limits of a payload.
const (
	MaxPayload = 16 << 20 // bytes
	MaxDepth   = 128      // of values in values
	maxName    = 1 << 10  // bytes of a name
	maxPath    = 16 << 10 // bytes of a path
)

// Read reads what the host says about an event by this name. Members that it does not know are passed over: later hosts
// may say more. Anything else that is not as expected is an error that names the member.
func Read(in io.Reader, event string) (*Payload, error) {
	text, err := io.ReadAll(io.LimitReader(in, MaxPayload+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("the payload cannot be read: %w", err)
	case len(text) > MaxPayload:
		return nil, fmt.Errorf("the payload has more than %d MiB", MaxPayload>>20)
	case len(bytes.TrimSpace(text)) == 0:
		return nil, errors.New("the payload is empty")
	case !utf8.Valid(text):
		return nil, errors.New("the payload is not UTF-8")
	}
	members, err := readMembers(text)
	if err != nil {
		return nil, fmt.Errorf("the payload is not one JSON object: %w", err)
	}
	p := &Payload{}
	if err := p.fill(members); err != nil {
		return nil, err
	}
	if p.Event != event {
		return nil, fmt.Errorf("hook_event_name: must be %s, which is the hook that was started", event)
	}
	return p, p.check()
}

// fill takes the members that every event has, and those of some.
func (p *Payload) fill(members map[string]json.RawMessage) error {
	for name, place := range map[string]*string{
		"session_id": &p.SessionID, "transcript_path": &p.TranscriptPath, "cwd": &p.CWD,
		"hook_event_name": &p.Event, "timestamp": &p.Timestamp, "source": &p.Source,
		"prompt": &p.Prompt, "reason": &p.Reason, "tool_name": &p.ToolName,
		"original_request_name": &p.OriginalName,
	} {
		if err := readText(members[name], place); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	p.ToolInput, p.ToolResponse = members["tool_input"], members["tool_response"]
	p.LLMRequest = members["llm_request"]
	mcp, err := readMCP(members["mcp_context"])
	if err != nil {
		return fmt.Errorf("mcp_context: %w", err)
	}
	p.MCP = mcp
	return nil
}

// check holds what hooks rely on.
func (p *Payload) check() error {
	switch {
	case !isSession(p.SessionID):
		return errors.New("session_id: must be an id of at most 128 letters, digits, - and _")
	case !filepath.IsAbs(p.CWD) || !isPath(p.CWD):
		return errors.New("cwd: must be an absolute path")
	case !isPath(p.TranscriptPath):
		return errors.New("transcript_path: must be a path")
	}
	if p.Event != BeforeTool && p.Event != AfterTool {
		return nil
	}
	if p.ToolName == "" || !isName(p.ToolName) || !isName(p.OriginalName) {
		return fmt.Errorf("tool_name: must be a name of at most %d bytes without control characters", maxName)
	}
	if len(p.ToolInput) == 0 || p.ToolInput[0] != '{' {
		return errors.New("tool_input: must be an object")
	}
	return nil
}

// isSession reports whether a text is the id of a session. Local files carry it in their names.
func isSession(id string) bool {
	return id != "" && len(id) <= 128 && id[0] != '-' &&
		strings.Trim(id, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") == ""
}

func isName(name string) bool {
	return len(name) <= maxName && !strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f })
}

func isPath(path string) bool { return len(path) <= maxPath && !strings.ContainsRune(path, 0) }

// readText reads a text. Absence and null leave the place as it is.
func readText(value json.RawMessage, place *string) error {
	if len(value) == 0 || string(value) == "null" {
		return nil
	}
	if value[0] != '"' || json.Unmarshal(value, place) != nil {
		return errors.New("must be a text")
	}
	return nil
}

// readMCP reads where a tool comes from. Nothing and null mean the host's own tool; anything else must name a
// server and its tool, because a call that hides its server must not be taken for one of the host's own.
func readMCP(value json.RawMessage) (*MCP, error) {
	if len(value) == 0 || string(value) == "null" {
		return nil, nil
	}
	members, err := readMembers(value)
	if err != nil {
		return nil, errors.New("must be an object")
	}
	mcp := &MCP{}
	for name, place := range map[string]*string{
		"server_name": &mcp.ServerName, "tool_name": &mcp.ToolName, "command": &mcp.Command,
		"cwd": &mcp.CWD, "url": &mcp.URL,
	} {
		if err := readText(members[name], place); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	if args := members["args"]; len(args) > 0 && json.Unmarshal(args, &mcp.Args) != nil {
		return nil, errors.New("args: must be a list of texts")
	}
	if mcp.ServerName == "" || mcp.ToolName == "" || !isName(mcp.ServerName) || !isName(mcp.ToolName) {
		return nil, errors.New("must name the server and the tool")
	}
	return mcp, nil
}
