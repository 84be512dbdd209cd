package route

import (
	"bytes"
	"encoding/json"
	"net/http"
	"reflect"
	"strconv"

	"github.com/danielgtaylor/huma/v2"
)

// Media types of bodies and answers.
const (
	JSONType   = "application/json"
	NDJSONType = "application/x-ndjson"
)

// Exampled is a body with an example for the document.
type Exampled interface{ Example() any }

// OpenAPI is the document of what is mounted, for what a declaration alone cannot say.
func (s *server) OpenAPI() *huma.OpenAPI { return s.huma.OpenAPI() }

// WrittenDocument is the document as it is served.
func (s *server) WrittenDocument() ([]byte, error) {
	text, err := json.Marshal(s.OpenAPI())
	if err != nil {
		return nil, err
	}
	var document any
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(&document); err != nil {
		return nil, err
	}
	tidy(document)
	return json.Marshal(document)
}

// tidy removes what is no word of JSON Schema, and refers to what documents an object.
func tidy(value any) {
	switch value := value.(type) {
	case map[string]any:
		delete(value, "patternDescription")
		if ref, ok := value[documentedAs]; ok {
			delete(value, documentedAs)
			delete(value, "type")
			delete(value, "additionalProperties")
			value["$ref"] = ref
		}
		for _, member := range value {
			tidy(member)
		}
	case []any:
		for _, item := range value {
			tidy(item)
		}
	}
}

// documentedAs is where a schema says which other one documents it.
const documentedAs = "x-documented-as"

// DocumentedAs is the schema of an object that is read by hand, and documented as a T: of what T says nothing is
// demanded.
func DocumentedAs[T any](r huma.Registry) *huma.Schema {
	return &huma.Schema{
		Type: huma.TypeObject, AdditionalProperties: true,
		Extensions: map[string]any{documentedAs: r.Schema(reflect.TypeFor[T](), true, "").Ref},
	}
}

// Schema is how the document refers to the type T.
func Schema[T any](r *Router) *huma.Schema { return r.schemaOf(reflect.TypeFor[T]()) }

func (s *server) schemaOf(t reflect.Type) *huma.Schema {
	return s.OpenAPI().Components.Schemas.Schema(t, true, "")
}

// Content says that a body or an answer is a T in JSON.
func Content[T any](r *Router) map[string]*huma.MediaType {
	media := &huma.MediaType{Schema: Schema[T](r)}
	var zero T
	if body, ok := any(zero).(Exampled); ok {
		media.Example = body.Example()
	}
	return map[string]*huma.MediaType{JSONType: media}
}

// Document describes a route that was mounted with Serve: responses are those of success, and more are the statuses
// of errors beyond those that every route has.
func (r *Router) Document(rt Route, op huma.Operation, more ...int) {
	op.OperationID, op.Method, op.Path, op.Summary = rt.operationID(), rt.Method, rt.Path, rt.Summary
	op.Description = rt.description()
	op.Tags, op.Security = []string{r.tag}, security(rt.Mode)
	for _, status := range append(rt.errorStatuses(), more...) {
		op.Responses[strconv.Itoa(status)] = r.errorResponse(rt.Path, status)
	}
	op.Responses[otherStatus] = r.otherErrors(rt.Path)
	r.OpenAPI().AddOperation(&op)
}

func documentRaw[I, O any](r *Router, rt Route) {
	status := max(rt.Status, http.StatusOK)
	r.Document(rt, huma.Operation{
		RequestBody: &huma.RequestBody{Required: true, Content: Content[I](r)},
		Responses: map[string]*huma.Response{
			strconv.Itoa(status): {Description: http.StatusText(status), Content: Content[O](r)},
		},
	}, http.StatusRequestEntityTooLarge, http.StatusInternalServerError)
}

func (s *server) errorResponse(path string, status int) *huma.Response {
	schema := s.schemaOf(reflect.TypeFor[ErrorBody]())
	if shape := s.shapeOf(path); shape != nil {
		schema = s.schemaOf(reflect.TypeOf(shape.Documented))
	}
	return &huma.Response{
		Description: http.StatusText(status), Content: map[string]*huma.MediaType{JSONType: {Schema: schema}},
	}
}

// otherStatus is how a document names every status that it does not list.
const otherStatus = "default"

// otherErrors describes the errors whose statuses a route does not list.
func (s *server) otherErrors(path string) *huma.Response {
	response := s.errorResponse(path, 0)
	response.Description = "Any other error"
	return response
}

// shapeDocumentedErrors corrects what huma documents of errors by itself: a status that is never sent, and the one
// shape where the path has another.
func (r *Router) shapeDocumentedErrors(rt Route) {
	responses := r.operation(rt).Responses
	delete(responses, strconv.Itoa(http.StatusUnprocessableEntity))
	responses[otherStatus] = r.otherErrors(rt.Path)
	if r.shapeOf(rt.Path) == nil {
		return
	}
	for code := range responses {
		if status, err := strconv.Atoi(code); err == nil && status >= http.StatusBadRequest {
			responses[code] = r.errorResponse(rt.Path, status)
		}
	}
}

func (s *server) operation(rt Route) *huma.Operation {
	item := s.OpenAPI().Paths[rt.Path]
	return map[string]*huma.Operation{
		http.MethodGet: item.Get, http.MethodPost: item.Post, http.MethodPut: item.Put,
		http.MethodPatch: item.Patch, http.MethodDelete: item.Delete,
	}[rt.Method]
}

// DocumentAlso says that a POST may succeed with another status than the one that it declares, and the same body.
func (r *Router) DocumentAlso(path string, status int, description string) {
	responses := r.OpenAPI().Paths[path].Post.Responses
	for code, response := range responses {
		if code[0] == '2' {
			also := *response
			also.Description = description
			responses[strconv.Itoa(status)] = &also
			return
		}
	}
}

// DocumentEither says that the answer of a POST with a status may also be a T.
func DocumentEither[T any](r *Router, path string, status int) {
	for _, media := range r.OpenAPI().Paths[path].Post.Responses[strconv.Itoa(status)].Content {
		media.Schema = &huma.Schema{OneOf: []*huma.Schema{media.Schema, Schema[T](r)}}
	}
}

// DocumentNull says that the answer of a GET may be null, which the type of a body cannot say.
func (r *Router) DocumentNull(path string) {
	for _, media := range r.OpenAPI().Paths[path].Get.Responses[strconv.Itoa(http.StatusOK)].Content {
		media.Schema = &huma.Schema{OneOf: []*huma.Schema{media.Schema, {Type: "null"}}}
	}
}

// errorStatuses are the statuses of errors that a route documents.
func (r Route) errorStatuses() []int {
	codes := []int{http.StatusBadRequest}
	if r.Mode != Public {
		codes = append(codes, http.StatusUnauthorized, http.StatusForbidden)
	}
	if r.Paid {
		codes = append(codes, http.StatusPaymentRequired)
	}
	if !r.Throttle.IsZero() || !r.OpenThrottle.IsZero() {
		codes = append(codes, http.StatusTooManyRequests)
	}
	return append(codes, http.StatusServiceUnavailable)
}

func securitySchemes() map[string]*huma.SecurityScheme {
	return map[string]*huma.SecurityScheme{
		"accessToken": {
			Type:         "http",
			Scheme:       "bearer",
			BearerFormat: "JWT",
			Description:  "Access token of a signed-in person, from POST /auth/login.",
		},
		"apiKey": {
			Type: "apiKey", In: "header", Name: "x-api-key", Description: "API key of an agent, SDK or plugin.",
		},
		"clientToken": {
			Type: "http", Scheme: "bearer", Description: "Access token of an OAuth client, for the address of the proxy.",
		},
		"proxyToken": {Type: "http", Scheme: "bearer", Description: "The enforcement proxy's own token."},
	}
}

func security(mode Mode) []map[string][]string {
	token, key := map[string][]string{"accessToken": {}}, map[string][]string{"apiKey": {}}
	switch mode {
	case Session:
		return []map[string][]string{token, {}}
	case Person:
		return []map[string][]string{token}
	case Key:
		return []map[string][]string{key}
	case PersonOrKey:
		return []map[string][]string{token, key}
	case PlanToken:
		return []map[string][]string{key, {}}
	case Agent:
		return []map[string][]string{key, {"clientToken": {}}}
	case Proxy:
		return []map[string][]string{{"proxyToken": {}}}
	case Public:
	}
	return []map[string][]string{{}} // none: without this, readers ask whether it was forgotten
}
