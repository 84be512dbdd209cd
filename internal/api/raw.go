package api

import (
	"net/http"
	"reflect"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"writ/internal/principal"
)

// raw declares a route whose handler reads the body and writes the answer by
// hand, because it is hot or large. Guard, errors and documentation are those of
// every other route; I and O are what the document says of body and answer.
func raw[I, O any](
	a *API, r Route, handler func(w http.ResponseWriter, request *http.Request, caller principal.Principal) error,
) {
	if err := r.check(); err != nil {
		panic(err) // a mistake in this package, found by any test
	}
	if r.Status == 0 {
		r.Status = http.StatusOK
	}
	a.routes = append(a.routes, r)
	a.mux.HandleFunc(r.Method+" "+r.Path, func(w http.ResponseWriter, request *http.Request) {
		caller, err := a.admit(request, r)
		if err == nil {
			err = a.throttle(request.Context(), r, nil)
		}
		if err == nil {
			err = handler(w, request, caller)
		}
		switch {
		case err != nil && r.writeError != nil:
			r.writeError(w, request, a.render(request.Context(), err))
		case err != nil:
			a.writeError(w, request, err)
		}
	})
	a.documentRaw(r, reflect.TypeFor[I](), reflect.TypeFor[O]())
}

func (a *API) documentRaw(r Route, input, output reflect.Type) {
	schemas := a.huma.OpenAPI().Components.Schemas
	content := func(t reflect.Type) map[string]*huma.MediaType {
		media := &huma.MediaType{Schema: schemas.Schema(t, true, "")}
		if body, ok := reflect.Zero(t).Interface().(exampled); ok {
			media.Example = body.example()
		}
		return map[string]*huma.MediaType{"application/json": media}
	}
	responses := map[string]*huma.Response{
		strconv.Itoa(r.Status): {Description: http.StatusText(r.Status), Content: content(output)},
	}
	for _, status := range append(errorsOf(r), http.StatusRequestEntityTooLarge, http.StatusInternalServerError) {
		responses[strconv.Itoa(status)] = &huma.Response{
			Description: http.StatusText(status), Content: content(reflect.TypeFor[ErrorBody]()),
		}
	}
	a.huma.OpenAPI().AddOperation(&huma.Operation{
		OperationID: operationID(r),
		Method:      r.Method,
		Path:        r.Path,
		Summary:     r.Summary,
		Tags:        []string{r.Tag},
		Security:    security(r.Mode),
		RequestBody: &huma.RequestBody{Required: true, Content: content(input)},
		Responses:   responses,
	})
}

// documentNull says that the answer of a GET may be null, which the type of a
// body cannot say.
func (a *API) documentNull(path string) {
	for _, media := range a.huma.OpenAPI().Paths[path].Get.Responses[strconv.Itoa(http.StatusOK)].Content {
		media.Schema = &huma.Schema{OneOf: []*huma.Schema{media.Schema, {Type: "null"}}}
	}
}
