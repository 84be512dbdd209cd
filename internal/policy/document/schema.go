package document

import (
	_ "embed"
	"slices"
)

//go:embed schema.json
var schema []byte

// Schema is the JSON Schema (2020-12) of a document, for editors and for other
// tools. Parse checks more: that ids are unique, and sizes in bytes.
func Schema() []byte { return slices.Clone(schema) }
