package document

import (
	_ "embed"
	"slices"
)

//go:embed schema.json
var schema []byte

// Schema is the JSON Schema (2020-12) of a document, for editors and other tools.
// Parse also checks that ids are unique, and sizes in bytes.
func Schema() []byte { return slices.Clone(schema) }
