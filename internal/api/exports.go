package api

import (
	"context"
	"net/http"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"writ/internal/fault"
	"writ/internal/principal"
	"writ/internal/telemetry"
)

// The formats of an export.
const (
	formatNDJSON = "ndjson"
	formatCSV    = "csv"
)

// mountExports serves telemetry to take away, of any size: written as it is read.
func (a *API) mountExports() {
	get := func(path, summary string) Route {
		return Route{
			Method: http.MethodGet, Path: "/organization/{orgId}/observability" + path, Tag: "observability",
			Summary: summary,
			Mode:    JWT, Action: principal.ReadTelemetry,
		}
	}
	export(a, get("/traces/export", "All traces that a filter chooses, or their spans, as NDJSON or CSV"),
		[]string{ndjson, "text/csv"}, a.exportTraces)
	export(a, get("/traces/{id}/export", "One trace with all its spans, as JSON"), []string{jsonType}, a.exportTrace)
	export(a, get("/sessions/export", "All sessions that a filter chooses, as NDJSON or CSV"),
		[]string{ndjson, "text/csv"}, a.exportSessions)
	export(a, get("/sessions/{id}/export", "One session with all its traces and their spans, as JSON"),
		[]string{jsonType}, a.exportSession)
}

// exportOutput writes an answer in parts.
type exportOutput struct{ Body func(huma.Context) }

// written is what the handler of an export gives: how to write it.
type written struct {
	kind     string // of the content
	filename string
	write    func(ctx context.Context, out *exportStream) error
}

// export declares a route whose answer is written in parts. Its handler finds out
// what there is to refuse; what it returns is called when nothing is any more.
func export[I any](
	a *API, r Route, kinds []string, handler func(ctx context.Context, caller principal.Principal, in *I) (*written, error),
) {
	handle(a, r, func(ctx context.Context, caller principal.Principal, in *I) (*exportOutput, error) {
		w, err := handler(ctx, caller, in)
		if err != nil {
			return nil, err
		}
		leave, err := a.exports.enter(caller.OrgID)
		if err != nil {
			return nil, err
		}
		return &exportOutput{func(c huma.Context) {
			defer leave()
			a.writeExport(c, r, w)
		}}, nil
	})
	text := &huma.Schema{Type: huma.TypeString}
	ok := a.router.OpenAPI().Paths[r.Path].Get.Responses[strconv.Itoa(http.StatusOK)]
	ok.Content = map[string]*huma.MediaType{}
	for _, kind := range kinds {
		ok.Content[kind] = &huma.MediaType{Schema: text}
	}
	a.documentError(r.Path, http.StatusTooManyRequests)
}

// documentError says that a GET answers with an error that its kind of route does
// not have by itself.
func (a *API) documentError(path string, status int) {
	responses := a.router.OpenAPI().Paths[path].Get.Responses
	copied := *responses[strconv.Itoa(http.StatusBadRequest)]
	copied.Description = http.StatusText(status)
	responses[strconv.Itoa(status)] = &copied
}

// FormatInput is how an export is written.
type FormatInput struct {
	Format string `query:"format" enum:"ndjson,csv" default:"ndjson" doc:"ndjson: a line of JSON each. csv: a table; texts that a spreadsheet would run begin with an apostrophe. The last line says whether the export is complete."`
	Cursor string `query:"cursor" doc:"Continues an export that was cut: what its last line says."`
}

func (in *FormatInput) kind() string {
	if in.Format == formatCSV {
		return csvType
	}
	return ndjson
}

type exportTracesInput struct {
	OrgInput
	DaysInput
	TraceFilterInput
	FormatInput
	Rows string `query:"rows" enum:"traces,spans" default:"traces" doc:"What a line is: a trace (in NDJSON with its spans), or a span."`
}

func (a *API) exportTraces(_ context.Context, caller principal.Principal, in *exportTracesInput) (*written, error) {
	f := in.filter()
	f.Days, f.Cursor = in.Days, in.Cursor
	withSpans := in.Rows == "spans" || in.Format == formatNDJSON
	traces, err := a.Telemetry.ExportTraces(caller.OrgID, f, withSpans)
	if err != nil {
		return nil, err
	}
	return &written{kind: in.kind(), filename: in.Rows + "." + in.Format,
		write: func(ctx context.Context, out *exportStream) error {
			lines := &lines{out: out, csv: in.Format == formatCSV, cursor: traces.Cursor}
			switch {
			case in.Rows == "spans":
				return writeSpanRows(ctx, lines, caller, traces)
			case in.Format == formatCSV:
				return writeTraceRows(ctx, lines, caller, traces)
			}
			return writeTraceLines(ctx, lines, caller, traces)
		}}, nil
}

// noSuch is the answer where there is nothing to export: a file that says null
// would be taken for one.
func noSuch(what string) error { return fault.New(fault.NotFound, "no such %s", what) }

func (a *API) exportTrace(ctx context.Context, caller principal.Principal, in *orgItemInput) (*written, error) {
	t, err := a.Telemetry.ExportTrace(ctx, caller.OrgID, in.ID)
	if err != nil {
		return nil, err
	}
	if t == nil {
		return nil, noSuch("trace")
	}
	return &written{kind: jsonType, filename: "trace-" + t.ID + ".json",
		write: func(ctx context.Context, out *exportStream) error {
			return writeTrace(ctx, out, caller, t)
		}}, nil
}

type exportSessionsInput struct {
	OrgInput
	DaysInput
	SessionFilterInput
	FormatInput
}

func (a *API) exportSessions(_ context.Context, caller principal.Principal, in *exportSessionsInput) (*written, error) {
	f := in.filter()
	f.Days, f.Cursor = in.Days, in.Cursor
	sessions, err := a.Telemetry.ExportSessions(caller.OrgID, f)
	if err != nil {
		return nil, err
	}
	return &written{kind: in.kind(), filename: "sessions." + in.Format,
		write: func(ctx context.Context, out *exportStream) error {
			return writeSessionRows(ctx, &lines{out: out, csv: in.Format == formatCSV, cursor: sessions.Cursor},
				sessions)
		}}, nil
}

func (a *API) exportSession(ctx context.Context, caller principal.Principal, in *orgItemInput) (*written, error) {
	session, err := a.Telemetry.FindSession(ctx, caller.OrgID, in.ID)
	if err != nil {
		return nil, err
	}
	if session == nil {
		return nil, noSuch("session")
	}
	traces, err := a.Telemetry.ExportTraces(caller.OrgID, telemetry.TraceFilter{SessionID: session.ID}, true)
	if err != nil {
		return nil, err
	}
	return &written{kind: jsonType, filename: "session-" + session.ID + ".json",
		write: func(ctx context.Context, out *exportStream) error {
			return writeSession(ctx, out, caller, *session, traces)
		}}, nil
}
