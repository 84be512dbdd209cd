// Package lists checks calls of a coding agent against the lists of its manifest, on the agent's machine. It
// only denies: what a manifest allows is decided by the server nevertheless.
package lists

import (
	"errors"
	"fmt"
	"io"
	"os"

	"writ/internal/glob"
	"writ/internal/manifest"
	"writ/internal/toolname"
)

// Lists are those of one manifest.
type Lists struct {
	allow, deny []string
	any         bool
}

// Read reads the lists of the manifest in a file. Variables stay as they are written: lists have none, and the
// environment is the agent's.
func Read(path string) (Lists, error) {
	file, err := os.Open(path)
	if err != nil {
		return Lists{}, errors.New("it cannot be opened")
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, manifest.MaxSize+1))
	if err != nil {
		return Lists{}, errors.New("it cannot be read")
	}
	m, _, err := manifest.Read(text, manifest.FormatOf(path, text), nil)
	if err != nil {
		return Lists{}, err
	}
	return Lists{m.Allow, m.Deny, m.HasLists()}, nil
}

// Forbid is the reason why a tool is denied; empty: the lists do not forbid it. The host runs some tools under two
// names: a deny of either counts.
func (l Lists) Forbid(server, tool string) string {
	name := server + "." + tool
	other, has := toolname.Name{Server: server, Tool: tool}.Alias()
	for _, pattern := range l.deny {
		if glob.Match(pattern, name) || has && glob.Match(pattern, other.Server+"."+other.Tool) {
			return fmt.Sprintf("the agent's manifest denies %s, by %s", name, pattern)
		}
	}
	for _, pattern := range l.allow {
		if glob.Match(pattern, name) {
			return ""
		}
	}
	if l.any {
		return fmt.Sprintf("the agent's manifest does not allow %s; a person can add it", name)
	}
	return ""
}
