// Package definition holds what an MCP server says of itself: its instructions, tools, prompts and resources.
//
// A definition comes from a server that nobody has to trust. It is read strictly and within limits, the
// schemas stay the JSON that the server sent, and each tool has a hash, by which a person's approval of it is
// pinned. The package is pure.
package definition

import (
	"fmt"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"writ/internal/names"
)

// Limits of a definition.
const (
	MaxBytes     = 4 << 20   // of a whole definition
	MaxToolBytes = 256 << 10 // of one tool
	MaxTools     = 2000
	MaxPrompts   = 1000
	MaxResources = 1000 // and as many templates of resources
	MaxDepth     = 64   // of arrays and objects within each other
)

// The ways to reach a server.
const (
	HTTP  = "http"  // streamable HTTP
	SSE   = "sse"   // HTTP with server-sent events, from before streamable HTTP
	Stdio = "stdio" // a program on the user's own machine
)

// The ways to sign in to a server.
const (
	AuthNone   = "none"
	AuthBearer = "bearer"
	AuthAPIKey = "api_key"
	AuthOAuth  = "oauth" // each person consents at the server's own authorization server
)

// Server is what a server says of itself, and how it is reached.
type Server struct {
	Name         string     `json:"name,omitzero"`
	Title        string     `json:"title,omitzero"`
	Version      string     `json:"version,omitzero"`
	Instructions string     `json:"instructions,omitzero"`
	Transport    string     `json:"transport,omitzero"` // empty: not known
	URL          string     `json:"url,omitzero"`
	Auth         string     `json:"auth,omitzero"` // empty: not known
	Command      []string   `json:"command,omitzero"`
	Tools        []Tool     `json:"tools,omitzero"`
	Prompts      []Prompt   `json:"prompts,omitzero"`
	Resources    []Resource `json:"resources,omitzero"`
	Templates    []Resource `json:"resourceTemplates,omitzero"`
	// Partial is true if the server has more prompts or resources than were read.
	Partial bool `json:"partial,omitzero"`
}

// Tool is a tool as its server describes it. Schemas and annotations are the server's own JSON; nil: it has none.
type Tool struct {
	Name         string         `json:"name"`
	Title        string         `json:"title,omitzero"`
	Description  string         `json:"description,omitzero"`
	InputSchema  jsontext.Value `json:"inputSchema,omitzero"`
	OutputSchema jsontext.Value `json:"outputSchema,omitzero"`
	Annotations  jsontext.Value `json:"annotations,omitzero"`
}

// Prompt is a text that the server offers to users.
type Prompt struct {
	Name        string     `json:"name"`
	Title       string     `json:"title,omitzero"`
	Description string     `json:"description,omitzero"`
	Arguments   []Argument `json:"arguments,omitzero"`
}

// Argument is an argument of a prompt.
type Argument struct {
	Name        string `json:"name"`
	Title       string `json:"title,omitzero"`
	Description string `json:"description,omitzero"`
	Required    bool   `json:"required,omitzero"`
}

// Resource is something that the server lets clients read, or a template of such things.
type Resource struct {
	URI         string `json:"uri,omitzero"`
	URITemplate string `json:"uriTemplate,omitzero"`
	Name        string `json:"name,omitzero"`
	Title       string `json:"title,omitzero"`
	Description string `json:"description,omitzero"`
	MIMEType    string `json:"mimeType,omitzero"`
}

// Check reports what makes a definition one that cannot be pinned: too much of something, a tool listed twice, a name
// that is none.
func (s Server) Check() error {
	if len(s.Tools) > MaxTools {
		return fmt.Errorf("tools: the server lists %d, and at most %d are permitted", len(s.Tools), MaxTools)
	}
	seen := make(map[string]int, len(s.Tools))
	for i, tool := range s.Tools {
		if tool.Name == "" || !names.Valid(tool.Name) {
			return fmt.Errorf("tools[%d].name: must be 1 to %d bytes of text without hidden characters",
				i, names.MaxBytes)
		}
		if first, twice := seen[tool.Name]; twice {
			return fmt.Errorf("tools[%d].name: %q is also the name of tools[%d], and clients may call either",
				i, tool.Name, first)
		}
		seen[tool.Name] = i
		if err := tool.check(); err != nil {
			return fmt.Errorf("tools[%d] (%s): %w", i, tool.Name, err)
		}
	}
	return s.checkRest()
}

func (s Server) checkRest() error {
	if len(s.Prompts) > MaxPrompts {
		return fmt.Errorf("prompts: must be at most %d", MaxPrompts)
	}
	if len(s.Resources) > MaxResources || len(s.Templates) > MaxResources {
		return fmt.Errorf("resources: must be at most %d, and so must their templates", MaxResources)
	}
	return nil
}

func (t Tool) check() error {
	size := len(t.Name) + len(t.Title) + len(t.Description)
	for _, part := range []jsontext.Value{t.InputSchema, t.OutputSchema, t.Annotations} {
		size += len(part)
		if Depth(part) > MaxDepth {
			return fmt.Errorf("must not be nested deeper than %d levels", MaxDepth)
		}
	}
	if size > MaxToolBytes {
		return fmt.Errorf("has %d bytes, and at most %d are permitted", size, MaxToolBytes)
	}
	return nil
}

// Depth is how many arrays and objects of a JSON text are open at once. Brackets within strings do not count.
func Depth(raw []byte) (deepest int) {
	open, quoted := 0, false
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			open++
			deepest = max(deepest, open)
		case c == '}' || c == ']':
			open--
		}
	}
	return deepest
}

// Tool finds a tool by its name.
func (s Server) Tool(name string) (Tool, bool) {
	i := slices.IndexFunc(s.Tools, func(t Tool) bool { return t.Name == name })
	if i < 0 {
		return Tool{}, false
	}
	return s.Tools[i], true
}
