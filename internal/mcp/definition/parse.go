package definition

import (
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// document is every form in which a definition is written: a definition, the answer to a list, and that answer as a
// message of JSON-RPC.
type document struct {
	Server
	Info *struct {
		Name    string `json:"name"`
		Title   string `json:"title"`
		Version string `json:"version"`
	} `json:"serverInfo"`
	Result jsontext.Value `json:"result"`
}

// Parse reads a definition: a whole one, the answer to initialize or to a list of tools, prompts or resources, or such
// an answer as a message of JSON-RPC. It refuses what is too large or too deep, and JSON that readers may read
// differently: members given twice, invalid UTF-8. Tools listed twice are left to [Server.Check].
func Parse(raw []byte) (Server, error) {
	if len(raw) > MaxBytes {
		return Server{}, fmt.Errorf("the definition has %d bytes, and at most %d are permitted", len(raw), MaxBytes)
	}
	if deepest := Depth(raw); deepest > MaxDepth+envelopeDepth {
		return Server{}, fmt.Errorf("the definition is nested %d levels deep, and at most %d are permitted",
			deepest, MaxDepth+envelopeDepth)
	}
	doc, err := read(raw)
	if err != nil {
		return Server{}, err
	}
	if doc.Result != nil {
		if doc, err = read(doc.Result); err != nil {
			return Server{}, err
		}
	}
	if doc.Info != nil {
		doc.Name, doc.Title, doc.Version = doc.Info.Name, doc.Info.Title, doc.Info.Version
	}
	return doc.Server, nil
}

// envelopeDepth is how many levels lie around a schema: the message, its result, the list, the tool.
const envelopeDepth = 4

func read(raw []byte) (document, error) {
	var doc document
	if err := json.Unmarshal(raw, &doc); err != nil {
		return document{}, readable(err)
	}
	for i := range doc.Tools {
		tool := &doc.Tools[i]
		for _, part := range []*jsontext.Value{&tool.InputSchema, &tool.OutputSchema, &tool.Annotations} {
			if string(*part) == "null" {
				*part = nil
			}
		}
	}
	return doc, nil
}

// readable says where a text is not what it must be. It shows nothing of the text but names of members.
func readable(err error) error {
	if semantic, ok := errors.AsType[*json.SemanticError](err); ok && semantic.GoType != nil {
		return fmt.Errorf("%s: must be %s", place(semantic.JSONPointer), kindOf(semantic.GoType.String()))
	}
	if syntax, ok := errors.AsType[*jsontext.SyntacticError](err); ok && syntax.Err != nil {
		return fmt.Errorf("%s: %w at byte %d", place(syntax.JSONPointer), syntax.Err, syntax.ByteOffset)
	}
	return errors.New("the definition is no JSON object")
}

func place(pointer jsontext.Pointer) string {
	if pointer == "" {
		return "the definition"
	}
	return strings.TrimPrefix(string(pointer), "/")
}

func kindOf(goType string) string {
	switch {
	case goType == "string":
		return "a text"
	case goType == "bool":
		return "true or false"
	case strings.HasPrefix(goType, "[]"):
		return "a list"
	}
	return "an object"
}
