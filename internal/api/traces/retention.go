package traces

import (
	"context"
	"time"

	"writ/internal/api/route"
	"writ/internal/principal"
)

// Kept says how long the operator keeps what agents did.
type Kept struct {
	Traces   time.Duration
	Payloads time.Duration // of the audit log; 0: forever
}

// RetentionBody says how long things are kept. The operator sets it for all organizations.
type RetentionBody struct {
	TraceDays   int  `json:"traceDays" example:"30" doc:"Days that traces and sessions are kept."`
	PayloadDays *int `json:"payloadDays" doc:"Days that payloads of the audit log are kept; null: forever. Entries and their proofs always stay."`
}

func (h *Handlers) mountRetention(r *route.Router) {
	route.Handle(r, read(route.Get("/organization/{orgId}/retention", "How long traces and payloads are kept")),
		func(context.Context, principal.Principal, *route.OrgInput) (RetentionBody, error) {
			body := RetentionBody{TraceDays: int(h.Kept.Traces / day)}
			if h.Kept.Payloads > 0 {
				days := int(h.Kept.Payloads / day)
				body.PayloadDays = &days
			}
			return body, nil
		})
}

const day = 24 * time.Hour
