package document

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"slices"
)

//go:embed schema.json
var schema []byte

// Schema is the JSON Schema (2020-12) of a document, for editors and other tools.
// Parse also checks that ids are unique, and sizes in bytes.
func Schema() []byte { return slices.Clone(schema) }

// placeholderID is the schema's id in the file, which nobody serves.
const placeholderID = "https://writ.invalid/schema/policy-v1.json"

// SchemaAt is Schema with the address where it is served as its id, so that tools that follow ids find it.
func SchemaAt(address string) []byte {
	quoted, err := json.Marshal(address)
	if err != nil {
		return Schema() // no text fails
	}
	return bytes.Replace(schema, []byte(`"`+placeholderID+`"`), quoted, 1)
}
