package route

import (
	"net/http"
	"reflect"

	"github.com/danielgtaylor/huma/v2"

	"writ/internal/fault"
	"writ/internal/page"
)

// None is the input or output of a route that has none.
type None struct{}

// What several routes take. Inputs that others embed are exported: huma reads no other.
type (
	// OrgInput is the path of an organization-scoped route. The gate has read it.
	OrgInput struct {
		OrgID string `path:"orgId" doc:"The organization."`
	}
	// OrganizationQuery says which organization a call is about. The gate has read it.
	OrganizationQuery struct {
		OrganizationID string `query:"organizationId" doc:"The organization. Absent: the calling key's own, or the only one of the calling person."`
	}
	// IDInput is the path of a route about one thing.
	IDInput struct {
		ID string `path:"id" doc:"Its id."`
	}
	// PageInput is the query of a list.
	PageInput struct {
		Limit  int    `query:"limit" minimum:"1" maximum:"200" default:"50" doc:"How many items a page has at most."`
		Cursor string `query:"cursor" doc:"nextCursor of the page before."`
	}
)

// answer is an output that is only a body.
type answer[T any] struct{ Body T }

// Items is a list that has no pages.
type Items[T any] struct {
	Items []T `json:"items" nullable:"false"`
}

// ItemsOf is a list with its items in another form.
func ItemsOf[T, U any](list []T, convert func(T) U) Items[U] {
	items := make([]U, len(list))
	for i, item := range list {
		items[i] = convert(item)
	}
	return Items[U]{items}
}

// MapPage is a page with its items in another form.
func MapPage[T, U any](p page.Page[T], convert func(T) U) page.Page[U] {
	return page.Page[U]{
		Items: ItemsOf(p.Items, convert).Items, NextCursor: p.NextCursor, HasMore: p.HasMore,
	}
}

// Optional is a query parameter whose zero value means something else than its absence.
type Optional[T any] struct {
	Value T
	IsSet bool
}

// Schema is that of the value.
func (o Optional[T]) Schema(r huma.Registry) *huma.Schema {
	return huma.SchemaFromType(r, reflect.TypeFor[T]())
}

// Receiver is where huma puts the value.
func (o *Optional[T]) Receiver() reflect.Value { return reflect.ValueOf(&o.Value).Elem() }

// OnParamSet is how huma says whether it was sent.
func (o *Optional[T]) OnParamSet(isSet bool, _ any) { o.IsSet = isSet }

// NoOrganization refuses a key that is bound to no organization.
func NoOrganization() error {
	return fault.New(fault.Forbidden, "this key belongs to no organization")
}

// WriteFile answers with content as it is.
func WriteFile(w http.ResponseWriter, contentType string, content []byte) {
	w.Header().Set("Content-Type", contentType)
	_, _ = w.Write(content) // a client that is gone cannot be told
}

// OrEmpty returns an optional text, or an empty one where it was not sent.
func OrEmpty(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}

// OrNull returns a text for a member that is null where there is none.
func OrNull(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}
