package route

import (
	"reflect"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

// DocumentNulls says in the document which members of answers may be null: those whose field is a pointer and is always
// written. Huma says so of texts and numbers only. Bodies of requests stay as they are validated. Call it when every
// route is mounted.
func (s *server) DocumentNulls() {
	taken := s.takenSchemas()
	schemas := s.OpenAPI().Components.Schemas
	for name, schema := range schemas.Map() {
		t := schemas.TypeFromRef("#/components/schemas/" + name)
		if t == nil || taken[schema] {
			continue
		}
		for t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		if t.Kind() == reflect.Struct {
			documentNulls(t, schema)
		}
	}
}

func documentNulls(t reflect.Type, schema *huma.Schema) {
	for i := range t.NumField() {
		field := t.Field(i)
		tag := field.Tag.Get("json")
		name, options, _ := strings.Cut(tag, ",")
		if field.Anonymous && name == "" && field.Type.Kind() == reflect.Struct {
			documentNulls(field.Type, schema)
			continue
		}
		member := schema.Properties[name]
		if member == nil || field.Type.Kind() != reflect.Pointer || strings.Contains(options, "omit") {
			continue
		}
		if member.Ref != "" {
			schema.Properties[name] = &huma.Schema{
				OneOf: []*huma.Schema{{Ref: member.Ref}, {Type: "null"}}, Description: field.Tag.Get("doc"),
			}
			continue
		}
		member.Nullable = true
	}
}

// takenSchemas are those that the body of some request has.
func (s *server) takenSchemas() map[*huma.Schema]bool {
	taken := map[*huma.Schema]bool{}
	for _, item := range s.OpenAPI().Paths {
		for _, op := range []*huma.Operation{item.Get, item.Post, item.Put, item.Patch, item.Delete} {
			if op == nil || op.RequestBody == nil {
				continue
			}
			for _, media := range op.RequestBody.Content {
				s.take(media.Schema, taken)
			}
		}
	}
	return taken
}

func (s *server) take(schema *huma.Schema, taken map[*huma.Schema]bool) {
	if schema = s.resolved(schema); schema == nil || taken[schema] {
		return
	}
	taken[schema] = true
	for _, member := range schema.Properties {
		s.take(member, taken)
	}
	s.take(schema.Items, taken)
}
