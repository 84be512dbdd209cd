package route

import (
	"context"
	"net/http"
	"reflect"
	"strings"
	"sync"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/validation"

	"writ/internal/fault"
)

// humaConfig is huma without its defaults: strict JSON only, unknown members accepted (published clients send them),
// no links added to answers.
func humaConfig(version string) huma.Config {
	schemas := huma.NewMapRegistry("#/components/schemas/", huma.DefaultSchemaNamer)
	schemas.RegisterTypeAlias(reflect.TypeFor[Failure](), reflect.TypeFor[ErrorBody]())
	config := huma.Config{
		OpenAPI: &huma.OpenAPI{
			OpenAPI: "3.1.0",
			Info: &huma.Info{
				Title:       "Writ",
				Version:     version,
				Description: "Intent-based security for AI agents: plans, decisions, evidence.",
				License:     &huma.License{Name: "Apache 2.0", Identifier: "Apache-2.0"},
			},
			Servers:    []*huma.Server{{URL: "/", Description: "The server that this document is from"}},
			Components: &huma.Components{Schemas: schemas, SecuritySchemes: securitySchemes()},
		},
		Formats:       map[string]huma.Format{JSONType: strictJSON, "json": strictJSON},
		DefaultFormat: JSONType,
	}
	config.AllowAdditionalPropertiesByDefault = true
	return config
}

// setUpHuma makes huma answer its own errors (bad JSON, validation, media type) in our shape, and validate the
// members our decoder reads: by default it takes NAME for name, which the decoder does not. Huma keeps this in
// package variables; they are set once, to what holds no state.
var setUpHuma = sync.OnceFunc(func() {
	huma.ValidateStrictCasing = true
	huma.NewErrorWithContext = func(ctx huma.Context, status int, message string, errs ...error) huma.StatusError {
		request := context.Background()
		if ctx != nil {
			request = ctx.Context()
		}
		for _, err := range errs {
			if d, ok := err.(*huma.ErrorDetail); ok && isUnknownMember(d) {
				d.Message = unknownMember(ctx, d.Location)
			}
		}
		return fromHuma(request, status, message, errs)
	}
	huma.NewError = func(status int, message string, errs ...error) huma.StatusError {
		return fromHuma(context.Background(), status, message, errs)
	}
})

// fromHuma keeps field and message of each problem and drops the value, which may be a secret. 422 is never used: it
// is a 400 here.
func fromHuma(ctx context.Context, status int, message string, errs []error) *Failure {
	var details []fault.Detail
	for _, err := range errs {
		if d, ok := err.(huma.ErrorDetailer); ok {
			details = append(details, detailOf(d.ErrorDetail()))
		}
	}
	switch status {
	case http.StatusUnprocessableEntity:
		status = http.StatusBadRequest
	case http.StatusInternalServerError: // the body could not be read to its end
		status, message = http.StatusBadRequest, "the request body could not be read"
	case http.StatusRequestEntityTooLarge:
		message = "the request body is too large"
	case http.StatusUnsupportedMediaType:
		message, details = "send Content-Type: application/json", nil
	}
	sortUnknown(details)
	if len(details) > 0 {
		message = details[0].Field + ": " + details[0].Message
	}
	return newFailure(ctx, nil, status, message, details)
}

// detailOf names the field that is missing, where huma names what it is missing from.
func detailOf(d *huma.ErrorDetail) fault.Detail {
	before, after, _ := strings.Cut(validation.MsgExpectedRequiredProperty, "%s")
	name, isMissing := strings.CutPrefix(d.Message, before)
	if !isMissing {
		return fault.Detail{Field: fieldOf(d.Location), Message: d.Message}
	}
	return fault.Detail{Field: fieldOf(d.Location + "." + strings.TrimSuffix(name, after)), Message: "is required"}
}

// fieldOf is "email" for huma's "body.email".
func fieldOf(location string) string {
	for _, part := range []string{"body.", "query.", "path.", "header."} {
		if rest, ok := strings.CutPrefix(location, part); ok {
			return rest
		}
	}
	return location
}
