// Package source reads the files that people have of MCP servers: what a server answered, a definition,
// several of them, and the configuration of a client, which lists servers. It only reads: a server that a
// configuration starts is described, never started.
package source

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"writ/internal/mcp/definition"
	"writ/internal/mcp/scan"
)

// MaxBytes is how large a file may be.
const MaxBytes = definition.MaxBytes

// Read reads a file: a definition or an answer of a server (see [definition.Parse]), one tool, a list of
// tools, an object whose member servers is a list of definitions, or the configuration of a client.
func Read(raw []byte) ([]scan.Settings, error) {
	if len(raw) > MaxBytes {
		return nil, fmt.Errorf("the file has %d bytes, and at most %d are permitted", len(raw), MaxBytes)
	}
	raw = withoutComments(raw)
	var object map[string]jsontext.Value
	if err := json.Unmarshal(raw, &object); err != nil {
		var list []jsontext.Value
		if json.Unmarshal(raw, &list) != nil {
			return one(definition.Parse(raw)) // its error says where the file is wrong
		}
		return one(definition.Parse(wrapped("tools", raw)))
	}
	if servers := configured(object); servers != nil {
		return readConfig(servers)
	}
	if list := object["servers"]; list != nil {
		return readSet(list)
	}
	if object["inputSchema"] != nil {
		return one(definition.Parse(wrapped("tools", jsontext.Value("["+string(raw)+"]"))))
	}
	if !says(object) {
		return nil, errors.New("the file is no definition and no configuration: it has none of the members tools, prompts, resources, instructions, serverInfo, result, servers and mcpServers")
	}
	return one(definition.Parse(raw))
}

// says reports whether an object says anything of a server.
func says(object map[string]jsontext.Value) bool {
	for _, name := range []string{
		"tools", "prompts", "resources", "resourceTemplates", "instructions", "serverInfo", "result", "url", "command",
	} {
		if object[name] != nil {
			return true
		}
	}
	return false
}

func one(s definition.Server, err error) ([]scan.Settings, error) {
	if err != nil {
		return nil, err
	}
	return []scan.Settings{{Server: &s}}, nil
}

func wrapped(member string, raw []byte) []byte {
	return []byte(`{"` + member + `":` + string(raw) + `}`)
}

// maxServers bounds the servers of one file.
const maxServers = 500

func readSet(raw jsontext.Value) ([]scan.Settings, error) {
	var list []jsontext.Value
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, errors.New("servers: must be a list of definitions, or an object of servers by name")
	}
	if len(list) > maxServers {
		return nil, fmt.Errorf("servers: at most %d are permitted", maxServers)
	}
	all := make([]scan.Settings, 0, len(list))
	for i, raw := range list {
		server, err := definition.Parse(raw)
		if err != nil {
			return nil, fmt.Errorf("servers[%d]: %w", i, err)
		}
		all = append(all, scan.Settings{Server: &server})
	}
	return all, nil
}

// withoutComments is JSON as some clients read it: without comments, and without commas in front of a closing bracket.
// Offsets stay the same.
func withoutComments(raw []byte) []byte {
	out := append([]byte(nil), raw...)
	comma := -1
	for i := 0; i < len(out); i++ {
		switch c := out[i]; {
		case c == '"':
			i = stringEnd(out, i)
			comma = -1
		case c == '/' && i+1 < len(out) && out[i+1] == '/':
			i = blankUntil(out, i, "\n")
		case c == '/' && i+1 < len(out) && out[i+1] == '*':
			i = blankUntil(out, i, "*/")
		case c == ',':
			comma = i
		case c == '}' || c == ']':
			if comma >= 0 {
				out[comma] = ' '
			}
			comma = -1
		case c != ' ' && c != '\n' && c != '\t' && c != '\r':
			comma = -1
		}
	}
	return out
}

// blankUntil overwrites what stands from an offset to the end mark with spaces, and returns the last offset of it.
func blankUntil(raw []byte, start int, mark string) int {
	length := bytes.Index(raw[start:], []byte(mark))
	end := len(raw)
	if length >= 0 {
		end = start + length + len(mark)
	}
	for i := start; i < end; i++ {
		if raw[i] != '\n' {
			raw[i] = ' '
		}
	}
	return end - 1
}

// stringEnd is where the string that begins at an offset ends.
func stringEnd(raw []byte, start int) int {
	for i := start + 1; i < len(raw); i++ {
		switch raw[i] {
		case '\\':
			i++
		case '"':
			return i
		}
	}
	return len(raw)
}
