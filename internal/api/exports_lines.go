package api

import (
	"context"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"writ/internal/csvsafe"
	"writ/internal/principal"
	"writ/internal/telemetry"
)

// lines is an export of lines: of JSON, or of a table. Its last one says how many
// there were and whether that is all.
type lines struct {
	out    *exportStream
	csv    bool
	cursor func() string // continues behind the last line
	count  int64
	midway bool // a part of a trace is written

	row    csvsafe.Row
	width  int    // cells of a line of the table
	object []byte // memory of a line of JSON
}

// EndBody is the last line of an export.
type EndBody struct {
	Complete bool   `json:"complete"`
	Lines    int64  `json:"lines"`
	Message  string `json:"message,omitempty"`
	Cursor   string `json:"cursor,omitempty"`
}

// begin has a cut export end with a line that says so. It can be continued where it
// was cut between two traces or sessions.
func (l *lines) begin() {
	l.out.ending = func(message string) {
		e := EndBody{Lines: l.count, Message: message}
		if !l.midway {
			e.Cursor = l.cursor()
		}
		_ = l.end(e) // it is cut already
	}
}

// complete writes the last line of an export that is whole.
func (l *lines) complete() error { return l.end(EndBody{Complete: true, Lines: l.count}) }

// The first cell of the last line of a table.
const (
	endComplete = "# complete"
	endCut      = "# cut"
)

func (l *lines) end(e EndBody) error {
	if !l.csv {
		text, err := json.Marshal(struct {
			End EndBody `json:"end"`
		}{e})
		if err != nil {
			return err
		}
		_, err = l.out.Write(append(text, '\n'))
		return err
	}
	first := endComplete
	if !e.Complete {
		first = endCut
	}
	l.row.Text(first)
	l.row.Number(e.Lines)
	l.row.Text(e.Message)
	l.row.Text(e.Cursor)
	for l.row.Cells() < l.width {
		l.row.Empty()
	}
	_, err := l.out.Write(l.row.End())
	return err
}

// writeTraceLines writes a line of JSON for each trace, with its spans.
func writeTraceLines(
	ctx context.Context, l *lines, caller principal.Principal, traces *telemetry.TraceExport,
) error {
	l.begin()
	for t, err := range traces.All(ctx) {
		if err != nil {
			return err
		}
		l.midway = true
		err := writeTrace(ctx, l.out, caller, t)
		if lineErr := l.out.WriteByte('\n'); err == nil { // also where the line is cut: the next one is its own
			err = lineErr
		}
		if err != nil {
			return err
		}
		l.midway = false
		l.count++
		if err := l.out.check(); err != nil {
			return err
		}
	}
	return l.complete()
}

// ExportedTraceBody is a trace as it is exported. What ingest takes has the same
// names here, so that a trace can be sent to another server.
type ExportedTraceBody struct {
	TraceBody
	Product               string     `json:"product"`
	Source                string     `json:"source"`
	TotalInputTokens      int64      `json:"totalInputTokens"`
	TotalOutputTokens     int64      `json:"totalOutputTokens"`
	TotalCacheReadTokens  int64      `json:"totalCacheReadTokens"`
	TotalCacheWriteTokens int64      `json:"totalCacheWriteTokens"`
	TotalCostUSD          float64    `json:"totalCostUsd"`
	SpanCount             int64      `json:"spanCount"`
	ErrorCount            int64      `json:"errorCount"`
	Spans                 []SpanBody `json:"spans"`
}

// writeTrace writes a trace with its spans as JSON without line breaks.
func writeTrace(
	ctx context.Context, out *exportStream, caller principal.Principal, t *telemetry.ExportedTrace,
) error {
	item := visible(caller, t.TraceItem)
	head, err := json.Marshal(ExportedTraceBody{
		TraceBody: traceBody(item), Product: t.Product, Source: t.Source,
		TotalInputTokens: t.Usage.Input, TotalOutputTokens: t.Usage.Output, TotalCacheReadTokens: t.Usage.CacheRead,
		TotalCacheWriteTokens: t.Usage.CacheWrite, TotalCostUSD: t.Usage.Dollars(), SpanCount: t.SpanCount,
		ErrorCount: t.ErrorCount,
	})
	if err != nil {
		return err
	}
	const end = "]}" // of the spans, which are the last member, and of the trace
	if _, err := out.Write(head[:len(head)-len(end)]); err != nil {
		return err
	}
	first := true
	out.within = 0
	for s, err := range t.Spans(ctx) {
		if err != nil {
			return err
		}
		text := out.AvailableBuffer()
		if !first {
			text = append(text, ',')
		}
		first = false
		body := spanBody(&s.StoredSpan)
		body.Attributes = storedObject(attributesFor(caller, s.Attributes))
		if text, err = body.appendJSON(text); err != nil {
			return err
		}
		if _, err := out.Write(text); err != nil {
			return err
		}
		if err := out.checkWithin(); err != nil {
			return err
		}
	}
	_, err = out.WriteString(end)
	return err
}

// attributesFor are attributes in one line, as far as the caller may read them.
func attributesFor(caller principal.Principal, attributes string) string {
	if !caller.May(principal.ReadPayloads) {
		return noAttributes
	}
	if !strings.ContainsAny(attributes, "\r\n") {
		return attributes
	}
	value := jsontext.Value(attributes)
	if value.Compact() != nil {
		return noAttributes // which cannot be: what is stored was checked
	}
	return string(value)
}

// writeSession writes a session as JSON, with its traces and their spans.
func writeSession(
	ctx context.Context, out *exportStream, caller principal.Principal, session telemetry.Session,
	traces *telemetry.TraceExport,
) error {
	head, err := json.Marshal(TelemetrySessionDetailBody{
		TelemetrySessionBody: telemetrySessionBody(session), Traces: []TraceItemBody{},
	})
	if err != nil {
		return err
	}
	const end = "]}" // of the traces, which are the last member, and of the session
	if _, err := out.Write(head[:len(head)-len(end)]); err != nil {
		return err
	}
	first := true
	for t, err := range traces.All(ctx) {
		if err != nil {
			return err
		}
		if !first {
			if err := out.WriteByte(','); err != nil {
				return err
			}
		}
		first = false
		if err := writeTrace(ctx, out, caller, t); err != nil {
			return err
		}
		if err := out.check(); err != nil {
			return err
		}
	}
	_, err = out.WriteString(end)
	return err
}
