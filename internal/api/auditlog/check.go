package auditlog

import (
	"encoding/json"
	"errors"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"writ/internal/api/route"
	"writ/internal/audit"
	"writ/internal/principal"
	"writ/internal/throttle"
)

// mountCheck serves the comparison of a log with what is stored beside it, which an export does not hold.
func (h *Handlers) mountCheck(r *route.Router) {
	check := read(route.Get("/audit-log/check",
		"Compare the whole log with what is stored beside it: search, payloads, policies")).Throttled(throttle.CheckLog)
	r.Serve(check, h.checkLog)
	text := &huma.Schema{Type: huma.TypeString}
	r.Document(check, huma.Operation{
		Parameters: []*huma.Param{{
			Name:        route.OrganizationParameter,
			In:          "query",
			Description: "The organization. Absent: the only one of the caller.",
			Schema:      text,
		}},
		Responses: map[string]*huma.Response{"200": {
			Description: "OK. A line for each problem (log, kind, entries, message), and a last one: entries, problems.",
			Content:     map[string]*huma.MediaType{route.NDJSONType: {Schema: text}},
		}},
	})
}

// CheckedBody is the last line of a check: without it, the check did not end.
type CheckedBody struct {
	Entries  int64 `json:"entries"`
	Problems int   `json:"problems"`
}

func (h *Handlers) checkLog(w http.ResponseWriter, r *http.Request, caller principal.Principal) error {
	parts, err := route.NewParts(w)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", route.NDJSONType)
	lines, problems := json.NewEncoder(parts), 0
	var broken error
	entries, err := h.CheckLog(r.Context(), audit.LogOf(caller.OrgID), func(p audit.Problem) {
		if problems++; broken == nil {
			broken = lines.Encode(p)
		}
	})
	if err == nil && broken == nil {
		broken = lines.Encode(CheckedBody{Entries: entries, Problems: problems})
	}
	if err == nil {
		err = broken
	}
	if err != nil && problems > 0 {
		// The answer has begun: it ends without its last line.
		h.Logger.WarnContext(r.Context(), "a check of the audit log ended early",
			"requestId", route.RequestOf(r.Context()).ID, "error", err)
		return nil
	}
	return errors.Join(err, parts.Flush())
}
