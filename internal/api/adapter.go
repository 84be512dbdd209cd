package api

import (
	"context"
	"net/http"
	"time"

	"writ/internal/api/admission"
	"writ/internal/api/route"
	"writ/internal/api/traces"
	"writ/internal/principal"
)

// What areas that have no package of their own yet call the core by. Each goes with the last of them.
type (
	Route             = route.Route
	ErrorBody         = route.ErrorBody
	OrgInput          = route.OrgInput
	OrganizationQuery = route.OrganizationQuery
	IDInput           = route.IDInput
	PageInput         = route.PageInput
	Optional[T any]   = route.Optional[T]
	DaysInput         = traces.DaysInput

	none         = route.None
	storedObject = route.StoredObject
	sentObject   = route.SentObject
	errorText    = route.BodyError
	feed         = route.Feed
	feedEvent    = route.Event
)

const (
	Public    = route.Public
	JWT       = route.Person
	Key       = route.Key
	Either    = route.PersonOrKey
	PlanToken = route.PlanToken

	anyScope     = route.AnyScope
	notRecorded  = "-"
	errNoObject  = route.ErrNoObject
	jsonType     = route.JSONType
	ndjson       = route.NDJSONType
	eventsAtOnce = route.EventsAtOnce
	partTimeout  = route.PartTimeout
	streamCheck  = route.RightsCheck
	noAttributes = "{}"
)

var (
	requestOf      = route.RequestOf
	describe       = route.Describe
	readObject     = route.ReadObject
	noOrganization = route.NoOrganization
	writeFile      = route.WriteFile
	refuseEnforced = admission.RefuseEnforced
)

func handle[I, O any](
	a *API, r Route, handler func(ctx context.Context, caller principal.Principal, in *I) (*O, error),
) {
	route.Handle(a.router, r, handler)
}

func raw[I, O any](
	a *API, r Route, handler func(w http.ResponseWriter, request *http.Request, caller principal.Principal) error,
) {
	route.Raw[I, O](a.router.Tagged(r.Tag), r, handler)
}

func orNull(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// takeTime lifts the server's own limit on the time of a request, for an answer that is written in parts.
func takeTime(controller *http.ResponseController) error {
	return controller.SetReadDeadline(time.Time{})
}
