package scan

import (
	"bytes"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"writ/internal/mcp/definition"
)

// schemaReader reads the texts of a JSON value in one pass, without following references: a schema that
// refers to itself is read once.
type schemaReader struct {
	*scanner
	decoder *jsontext.Decoder
	input   bool   // it says what the tool takes
	current string // the parameter that is read
}

// schema reads every text of a schema or of annotations.
func (s *scanner) schema(name string, raw []byte) {
	if len(raw) == 0 {
		return
	}
	kept := len(s.place)
	s.place = append(s.place, member(name))
	r := &schemaReader{
		scanner: s,
		decoder: jsontext.NewDecoder(bytes.NewReader(raw), jsontext.AllowDuplicateNames(true),
			jsontext.AllowInvalidUTF8(true)),
		input: name == "inputSchema",
	}
	if err := r.value(""); err != nil {
		s.foundHere(schemaUnreadable, 0, string(raw[:min(len(raw), evidenceAfter)]))
	}
	s.place = s.place[:kept]
}

// errTooDeep is the reason not to read on.
type errTooDeep struct{}

func (errTooDeep) Error() string { return "nested too deep" }

// maxSchemaDepth is how deep a schema may be nested, with what lies around it.
const maxSchemaDepth = 4 * definition.MaxDepth

// value reads a value that is a member of that name.
func (r *schemaReader) value(name string) error {
	token, err := r.decoder.ReadToken()
	if err != nil {
		return err
	}
	r.work++
	if r.decoder.StackDepth() > maxSchemaDepth {
		return errTooDeep{}
	}
	switch token.Kind() {
	case '{':
		return r.object(name)
	case '[':
		return r.array(name)
	case '"':
		r.text(name, token.String())
	}
	return nil
}

func (r *schemaReader) object(name string) error {
	properties := name == "properties" || name == "$defs" || name == "definitions" || name == "patternProperties"
	for {
		token, err := r.decoder.ReadToken()
		if err != nil {
			return err
		}
		if token.Kind() == '}' {
			return nil
		}
		key := token.String()
		kept := len(r.place)
		r.place = append(r.place, member(key))
		if properties {
			r.parameter(name, key)
			err = r.value("")
		} else {
			if !keywords[key] {
				r.read(&text{value: key, role: roleParameterName})
			}
			err = r.value(key)
		}
		r.place = r.place[:kept]
		if err != nil {
			return err
		}
	}
}

// parameter reads the name of a parameter, at any level.
func (r *schemaReader) parameter(list, name string) {
	r.fragment(name)
	r.read(&text{value: name, role: roleParameterName})
	if !r.input || list != "properties" {
		return
	}
	r.tool.parameters = append(r.tool.parameters, name)
	r.tool.names[name] = true
	r.current = name
	r.judgeParameter(name)
}

func (r *schemaReader) array(name string) error {
	for i := 0; ; i++ {
		if r.decoder.PeekKind() == ']' {
			_, err := r.decoder.ReadToken()
			return err
		}
		kept := len(r.place)
		r.place = append(r.place, item(i, ""))
		err := r.value(name)
		r.place = r.place[:kept]
		if err != nil {
			return err
		}
	}
}

// text reads a text that is a member of that name, or an item of it.
func (r *schemaReader) text(name, value string) {
	role := roleValue
	switch name {
	case "description", "title", "$comment":
		role = roleParameter
	case "$ref", "$dynamicRef", "$recursiveRef":
		if strings.Contains(value, "://") {
			r.foundHere(schemaReference, 0, value)
		}
		return
	case "type", "format", "$schema":
		if len(value) <= maxKeywordValue {
			return
		}
	case "default":
		if r.input {
			r.judgeDefault(value)
			r.judgeSink(r.current, value)
		}
	case "const":
		if r.input {
			r.judgeSink(r.current, value)
		}
	}
	r.fragment(value)
	r.read(&text{value: value, role: role})
}

// maxKeywordValue is longer than every type and format there is.
const maxKeywordValue = 64

// keywords are the members of schemas and annotations that have a meaning; all others are texts of the server's own.
var keywords = newKeywords(`$id $schema $ref $comment $defs $anchor $dynamicRef $dynamicAnchor $vocabulary $recursiveRef
	definitions properties patternProperties additionalProperties propertyNames items prefixItems additionalItems contains
	required enum const default examples example type format title description minimum maximum exclusiveMinimum
	exclusiveMaximum multipleOf minLength maxLength pattern minItems maxItems uniqueItems minProperties maxProperties
	minContains maxContains allOf anyOf oneOf not if then else dependentRequired dependentSchemas dependencies readOnly
	writeOnly deprecated contentEncoding contentMediaType contentSchema unevaluatedItems unevaluatedProperties nullable
	discriminator xml externalDocs readOnlyHint destructiveHint idempotentHint openWorldHint`)

func newKeywords(list string) map[string]bool {
	set := map[string]bool{}
	for _, name := range strings.Fields(list) {
		set[name] = true
	}
	return set
}
