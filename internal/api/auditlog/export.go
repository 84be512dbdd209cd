package auditlog

import (
	"net/http"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"writ/internal/api/route"
	"writ/internal/audit"
	"writ/internal/fault"
	"writ/internal/principal"
)

// mountExport serves a log of any size: it is written as it is read.
func (h *Handlers) mountExport(r *route.Router) {
	export := read(route.Get("/audit-log/export", "The whole log, to be verified offline by writ audit verify"))
	r.Serve(export, h.exportLog)
	text := &huma.Schema{Type: huma.TypeString}
	r.Document(export, huma.Operation{
		Parameters: []*huma.Param{
			{
				Name:        route.OrganizationParameter,
				In:          "query",
				Description: "The organization. Absent: the only one of the caller.",
				Schema:      text,
			},
			{
				Name:        "since",
				In:          "query",
				Description: "The first entry; hashes stand for what is before.",
				Schema:      &huma.Schema{Type: huma.TypeInteger},
			},
		},
		Responses: map[string]*huma.Response{
			"200": {Description: "OK", Content: map[string]*huma.MediaType{route.NDJSONType: {Schema: text}}},
		},
	})
}

func (h *Handlers) exportLog(w http.ResponseWriter, r *http.Request, caller principal.Principal) error {
	o := audit.ExportOptions{WithoutPayloads: !caller.May(principal.ReadPayloads)}
	if since := r.URL.Query().Get("since"); since != "" {
		n, err := strconv.ParseInt(since, 10, 64)
		if err != nil {
			return fault.Field("since", "must be a whole number")
		}
		o.Since = n
	}
	parts, err := route.NewParts(w)
	if err != nil {
		return err
	}
	out := &exportWriter{Parts: parts, header: w.Header()}
	err = h.Audit.Export(r.Context(), out, caller.OrgID, o)
	if err != nil && out.begun {
		// The answer has begun: it ends short, which a verifier notices.
		h.Logger.WarnContext(r.Context(), "an export ended early",
			"requestId", route.RequestOf(r.Context()).ID, "error", err)
		return nil
	}
	return err
}

// exportWriter writes an export. Until its first part it may still be answered with an error.
type exportWriter struct {
	*route.Parts
	header http.Header
	begun  bool
}

func (e *exportWriter) Write(part []byte) (int, error) {
	if !e.begun {
		e.begun = true
		e.header.Set("Content-Type", route.NDJSONType)
		e.header.Set("Content-Disposition", `attachment; filename="audit.ndjson"`)
	}
	n, err := e.Parts.Write(part)
	if err != nil {
		return n, err
	}
	return n, e.Flush()
}
