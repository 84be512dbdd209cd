package manifest

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"writ/internal/node"
)

// Problem is something wrong with a manifest, or worth a warning.
type Problem struct {
	node.Position
	Field   string // mcp_servers[2].url; empty for the whole text
	Message string // what was expected; never a value
}

// String is the problem on one line.
func (p Problem) String() string {
	if p.Field == "" {
		return p.Position.String() + ": " + p.Message
	}
	return p.Position.String() + ": " + p.Field + ": " + p.Message
}

// KnownField is Field up to the first name that no manifest has, which is the sender's
// own and may be anything; "body" if nothing is left.
func (p Problem) KnownField() string {
	end := 0
	for step := range strings.SplitSeq(p.Field, ".") {
		name, _, _ := strings.Cut(step, "[")
		if !memberNames[name] {
			break
		}
		end += len(step) + 1
	}
	return cmp.Or(p.Field[:max(0, end-1)], "body")
}

// memberNames are the names of members at all levels.
var memberNames = map[string]bool{
	"version": true, "identity": true, "environment": true, "proxy": true, "mcp_servers": true, "policy": true,
	"intent": true, "api_key": true, "user_id": true, "agent_id": true, "url": true, "timeout": true,
	"max_retries": true, "id": true, "description": true, "auth": true, "type": true, "token": true,
	"header_name": true, "allow": true, "deny": true, "ttl_seconds": true, "require_csrg": true,
}

// Invalid is the error for a manifest with problems, in the order of the text.
type Invalid struct{ Problems []Problem }

// Error is the first problem, and how many more there are.
func (e *Invalid) Error() string {
	if len(e.Problems) == 1 {
		return e.Problems[0].String()
	}
	return fmt.Sprintf("%s (and %d more)", e.Problems[0], len(e.Problems)-1)
}

// Format is how a manifest is written.
type Format bool

// The formats.
const (
	YAML Format = false
	JSON Format = true
)

// FormatOf is the format of a file by its name, else by how its text begins.
func FormatOf(file string, text []byte) Format {
	switch filepath.Ext(file) {
	case ".json":
		return JSON
	case ".yaml", ".yml":
		return YAML
	}
	// YAML too may begin with a brace, and has then a name without quotes behind it.
	inside, isBraced := strings.CutPrefix(strings.TrimSpace(string(text)), "{")
	return Format(isBraced && strings.IndexAny(strings.TrimSpace(inside), `"}`) == 0)
}

// Read reads a manifest as people write it, and replaces its variables. Warnings do not
// keep it from being used.
func Read(text []byte, format Format, variables Lookup) (m *Manifest, warnings []Problem, err error) {
	root, err := parse(text, format)
	if err != nil {
		return nil, nil, err
	}
	return read(root, variables)
}

// ReadSent reads a manifest as published clients send it: as JSON, with its variables as
// they were written, absent members as null, and no credentials as "none".
func ReadSent(text []byte) (m *Manifest, warnings []Problem, err error) {
	root, err := parse(text, JSON)
	if err != nil {
		return nil, nil, err
	}
	dropAbsent(root, "")
	return read(root, nil)
}

func parse(text []byte, format Format) (*node.Node, error) {
	if len(text) > MaxSize {
		return nil, &Invalid{[]Problem{{
			Position: node.Position{Line: 1, Column: 1}, Message: fmt.Sprintf("must be at most %d bytes", MaxSize),
		}}}
	}
	parser := node.ReadYAML
	if format == JSON {
		parser = node.ReadJSON
	}
	root, found := parser(text)
	if len(found) == 0 {
		return root, nil
	}
	problems := make([]Problem, len(found))
	for i, p := range found {
		problems[i] = Problem{Position: p.Position, Message: p.Message}
	}
	return nil, &Invalid{problems}
}

func read(root *node.Node, variables Lookup) (*Manifest, []Problem, error) {
	r := &reader{variables: variables, servers: map[string]bool{}}
	m := r.manifest(node.Read(root, r.report))
	if len(r.problems) > 0 {
		slices.SortStableFunc(r.problems, func(a, b Problem) int { return a.Compare(b.Position) })
		return nil, nil, &Invalid{r.problems}
	}
	return m, r.warnings, nil
}

// dropAbsent removes members that are null, and credentials that are "none".
func dropAbsent(n *node.Node, key string) {
	n.Members = slices.DeleteFunc(n.Members, func(m node.Member) bool {
		return m.Value.Kind == node.Null ||
			m.Key == "auth" && key == "mcp_servers" && m.Value.Kind == node.String && m.Value.Text == "none"
	})
	for _, m := range n.Members {
		dropAbsent(m.Value, m.Key)
	}
	for _, item := range n.Items {
		dropAbsent(item, key)
	}
}
