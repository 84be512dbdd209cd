package traces

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"writ/internal/api/route"
	"writ/internal/fault"
	"writ/internal/principal"
	"writ/internal/telemetry"
)

// How many exports may run at a time. Each holds in memory what it reads at once.
const (
	exportsPerOrganization = 3
	exportsInTotal         = 20
)

func (h *Handlers) mountExports(r *route.Router) {
	h.exports = route.Slots{Each: []int{exportsPerOrganization}, Total: exportsInTotal}
	export(h, r, read(route.Get("/organization/{orgId}/observability/traces/export",
		"All traces that a filter chooses, or their spans, as NDJSON or CSV")),
		h.exportTraces, route.NDJSONType, "text/csv")
	export(h, r, read(route.Get("/organization/{orgId}/observability/traces/{id}/export",
		"One trace with all its spans, as JSON")), h.exportTrace, route.JSONType)
	export(h, r, read(route.Get("/organization/{orgId}/observability/sessions/export",
		"All sessions that a filter chooses, as NDJSON or CSV")), h.exportSessions, route.NDJSONType, "text/csv")
	export(h, r, read(route.Get("/organization/{orgId}/observability/sessions/{id}/export",
		"One session with all its traces and their spans, as JSON")), h.exportSession, route.JSONType)
}

// file is an export that is ready to be written.
type file struct {
	kind  string // of its content
	name  string
	write func(ctx context.Context, out *exportStream) error
}

// export mounts a route that answers with a file of any size, written as it is read. The handler makes all checks that
// may refuse the request; the file is written after them.
func export[I any](
	h *Handlers, r *route.Router, rt route.Route,
	handler func(ctx context.Context, caller principal.Principal, in *I) (*file, error), kinds ...string,
) {
	route.HandleOutput(r, rt, func(
		ctx context.Context, caller principal.Principal, in *I,
	) (*huma.StreamResponse, error) {
		f, err := handler(ctx, caller, in)
		if err != nil {
			return nil, err
		}
		release, err := h.beginExport(caller.OrgID)
		if err != nil {
			return nil, err
		}
		return &huma.StreamResponse{Body: func(c huma.Context) {
			defer release()
			h.writeFile(c, rt, f)
		}}, nil
	})
	responses := r.OpenAPI().Paths[rt.Path].Get.Responses
	content := map[string]*huma.MediaType{}
	for _, kind := range kinds {
		content[kind] = &huma.MediaType{Schema: &huma.Schema{Type: huma.TypeString}}
		if kind == route.JSONType {
			content[kind].Schema = &huma.Schema{Type: huma.TypeObject, AdditionalProperties: true}
		}
	}
	responses[strconv.Itoa(http.StatusOK)].Content = content
	busy := *responses[strconv.Itoa(http.StatusBadRequest)]
	busy.Description = http.StatusText(http.StatusTooManyRequests)
	responses[strconv.Itoa(http.StatusTooManyRequests)] = &busy
}

// beginExport counts an export of an organization until release is called.
func (h *Handlers) beginExport(orgID string) (release func(), err error) {
	release, ok := h.exports.Take(orgID)
	if !ok {
		busy := fault.New(fault.TooMany, "too many exports are running: wait for one to end")
		busy.RetryAfter = 10 * time.Second
		return nil, busy
	}
	return release, nil
}

// FormatInput is how an export is written.
type FormatInput struct {
	Format string `query:"format" enum:"ndjson,csv" default:"ndjson" doc:"ndjson: a line of JSON each. csv: a table; a text that a spreadsheet would run gets an apostrophe before it. The last line says whether the export is complete."`
	Cursor string `query:"cursor" doc:"Continues an export that was cut; its last line has the cursor."`
}

func (in *FormatInput) isCSV() bool { return in.Format == "csv" }

// file is an export of lines in the format.
func (in *FormatInput) file(
	name string, cursor func() string, write func(ctx context.Context, l *lines) error,
) *file {
	kind := route.NDJSONType
	if in.isCSV() {
		kind = "text/csv; charset=utf-8"
	}
	return &file{kind, name + "." + in.Format, func(ctx context.Context, out *exportStream) error {
		return write(ctx, &lines{out: out, csv: in.isCSV(), cursor: cursor})
	}}
}

type exportTracesInput struct {
	route.OrgInput
	TraceFilterInput
	FormatInput
	Rows string `query:"rows" enum:"traces,spans" default:"traces" doc:"What a line is: a trace (in NDJSON with its spans), or a span."`
}

func (h *Handlers) exportTraces(_ context.Context, caller principal.Principal, in *exportTracesInput) (*file, error) {
	f, err := in.filter()
	if err != nil {
		return nil, err
	}
	f.Cursor = in.Cursor
	write, withSpans := writeTraceLines, true
	switch {
	case in.Rows == "spans":
		write = writeSpanRows
	case in.isCSV():
		write, withSpans = writeTraceRows, false
	}
	traces, err := h.Telemetry.ExportTraces(caller.OrgID, f, withSpans)
	if err != nil {
		return nil, err
	}
	return in.file(in.Rows, traces.Cursor, func(ctx context.Context, l *lines) error {
		return write(ctx, l, caller, traces)
	}), nil
}

// exportTrace refuses a trace that is not there: a file that says null would be taken for one.
func (h *Handlers) exportTrace(ctx context.Context, caller principal.Principal, in *itemInput) (*file, error) {
	t, err := h.Telemetry.ExportTrace(ctx, caller.OrgID, in.ID)
	if err != nil {
		return nil, err
	}
	if t == nil {
		return nil, fault.New(fault.NotFound, "no such trace")
	}
	return &file{route.JSONType, "trace-" + t.ID + ".json", func(ctx context.Context, out *exportStream) error {
		return writeTrace(ctx, out, caller, t)
	}}, nil
}

type exportSessionsInput struct {
	route.OrgInput
	SessionFilterInput
	FormatInput
}

func (h *Handlers) exportSessions(
	_ context.Context, caller principal.Principal, in *exportSessionsInput,
) (*file, error) {
	f, err := in.filter()
	if err != nil {
		return nil, err
	}
	f.Cursor = in.Cursor
	sessions, err := h.Telemetry.ExportSessions(caller.OrgID, f)
	if err != nil {
		return nil, err
	}
	return in.file("sessions", sessions.Cursor, func(ctx context.Context, l *lines) error {
		return writeLines(l, sessions.All(ctx), newRows(l, sessionColumns).add)
	}), nil
}

func (h *Handlers) exportSession(ctx context.Context, caller principal.Principal, in *itemInput) (*file, error) {
	session, err := h.Telemetry.FindSession(ctx, caller.OrgID, in.ID)
	if err != nil {
		return nil, err
	}
	if session == nil {
		return nil, fault.New(fault.NotFound, "no such session")
	}
	traces, err := h.Telemetry.ExportTraces(caller.OrgID, telemetry.TraceFilter{SessionID: session.ID}, true)
	if err != nil {
		return nil, err
	}
	name := "session-" + session.ID + ".json"
	return &file{route.JSONType, name, func(ctx context.Context, out *exportStream) error {
		return writeSession(ctx, out, caller, *session, traces)
	}}, nil
}
