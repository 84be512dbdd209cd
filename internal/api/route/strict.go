package route

import (
	"maps"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/validation"

	"writ/internal/fault"
)

// knownMembers is where an operation keeps the members of its body, for the error about another.
const knownMembers = "members"

// notKnown begins the message about an unknown member.
const notKnown = "is not known here"

// refuseUnknown makes a route refuse members of its body that are not documented.
func (r *Router) refuseUnknown(rt Route) {
	op := r.operation(rt)
	body := op.RequestBody.Content[JSONType].Schema
	r.close(body, map[*huma.Schema]bool{})
	op.Metadata = map[string]any{knownMembers: slices.Sorted(maps.Keys(r.resolved(body).Properties))}
}

// close refuses unknown members in a schema and in what it holds.
func (s *server) close(schema *huma.Schema, seen map[*huma.Schema]bool) {
	if schema = s.resolved(schema); schema == nil || seen[schema] {
		return
	}
	seen[schema] = true
	if len(schema.Properties) > 0 {
		schema.AdditionalProperties = false
	}
	for _, member := range schema.Properties {
		s.close(member, seen)
	}
	s.close(schema.Items, seen)
}

// resolved is a schema, or the one that it refers to.
func (s *server) resolved(schema *huma.Schema) *huma.Schema {
	if schema != nil && schema.Ref != "" {
		return s.OpenAPI().Components.Schemas.SchemaFromRef(schema.Ref)
	}
	return schema
}

// unknownMember says what is wrong with a member that a route does not know, and which it does.
func unknownMember(ctx huma.Context, location string) string {
	if ctx == nil || strings.Count(location, ".") != 1 {
		return notKnown
	}
	names, _ := ctx.Operation().Metadata[knownMembers].([]string)
	if len(names) == 0 {
		return notKnown
	}
	return notKnown + "; expected " + strings.Join(names, ", ")
}

func isUnknownMember(d *huma.ErrorDetail) bool {
	return d.Message == validation.MsgUnexpectedProperty && strings.HasPrefix(d.Location, "body.")
}

// sortUnknown puts unknown members behind other problems, by name: huma finds them in random order.
func sortUnknown(details []fault.Detail) {
	slices.SortStableFunc(details, func(a, b fault.Detail) int {
		first, second := strings.HasPrefix(a.Message, notKnown), strings.HasPrefix(b.Message, notKnown)
		switch {
		case first && second:
			return strings.Compare(a.Field, b.Field)
		case first:
			return 1
		case second:
			return -1
		}
		return 0
	})
}
