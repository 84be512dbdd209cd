package traces

import (
	"context"
	"iter"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"writ/internal/api/route"
	"writ/internal/csvsafe"
	"writ/internal/principal"
	"writ/internal/telemetry"
)

// lines is an export of lines: NDJSON, or a table. The last line says how many there were and whether that is all.
type lines struct {
	out    *exportStream
	csv    bool
	cursor func() string // continues behind the last line
	count  int64
	midway bool // a trace is written in part
	width  int  // cells of a line of the table
}

// writeLines writes the lines of every item, and the last line.
func writeLines[T any](l *lines, items iter.Seq2[T, error], write func(T) error) error {
	l.out.ending = l.cut
	if err := each(items, write, l.out.check); err != nil {
		return err
	}
	return l.end(EndBody{Complete: true, Lines: l.count})
}

// each writes every item, with a check behind it.
func each[T any](items iter.Seq2[T, error], write func(T) error, check func() error) error {
	for item, err := range items {
		if err == nil {
			err = write(item)
		}
		if err == nil {
			err = check()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// EndBody is the last line of an export.
type EndBody struct {
	Complete bool   `json:"complete"`
	Lines    int64  `json:"lines"`
	Message  string `json:"message,omitempty"`
	Cursor   string `json:"cursor,omitempty"`
}

// cut writes the last line of an export that cannot be finished. The export can be continued if the cut is between two
// traces or sessions.
func (l *lines) cut(message string) {
	e := EndBody{Lines: l.count, Message: message}
	if !l.midway {
		e.Cursor = l.cursor()
	}
	_ = l.end(e) // it is cut already
}

func (l *lines) end(e EndBody) error {
	if !l.csv {
		text, err := json.Marshal(map[string]EndBody{"end": e})
		if err != nil {
			return err
		}
		_, err = l.out.Write(append(text, '\n'))
		return err
	}
	var row csvsafe.Row
	if e.Complete {
		row.Text("# complete")
	} else {
		row.Text("# cut")
	}
	row.Number(e.Lines)
	row.Text(e.Message)
	row.Text(e.Cursor)
	for row.Cells() < l.width {
		row.Empty()
	}
	_, err := l.out.Write(row.End())
	return err
}

// writeTraceLines writes a line of JSON for each trace, with its spans.
func writeTraceLines(
	ctx context.Context, l *lines, caller principal.Principal, traces *telemetry.TraceExport,
) error {
	return writeLines(l, traces.All(ctx), func(t *telemetry.ExportedTrace) error {
		l.midway = true
		if err := writeTrace(ctx, l.out, caller, t); err != nil {
			_ = l.out.WriteByte('\n') // the last line stands alone, also where this one is cut
			return err
		}
		l.midway = false
		l.count++
		return l.out.WriteByte('\n')
	})
}

// ExportedTraceBody is a trace as it is exported. Its members have the names that ingest takes, so that a trace can be
// sent to another server.
type ExportedTraceBody struct {
	TraceBody
	Product string `json:"product"`
	Source  string `json:"source"`
	UsageTotalsBody
	SpanCount  int64      `json:"spanCount"`
	ErrorCount int64      `json:"errorCount"`
	Spans      []SpanBody `json:"spans"`
}

// writeTrace writes a trace with its spans as JSON without line breaks.
func writeTrace(ctx context.Context, out *exportStream, caller principal.Principal, t *telemetry.ExportedTrace) error {
	item := visible(caller, t.TraceItem)
	err := beginList(out.Writer, ExportedTraceBody{
		TraceBody:       traceBody(&item),
		Product:         t.Product,
		Source:          t.Source,
		UsageTotalsBody: usageTotals(t.Usage),
		SpanCount:       t.SpanCount,
		ErrorCount:      t.ErrorCount,
	})
	if err != nil {
		return err
	}
	out.spans = 0
	err = each(t.Spans(ctx), func(s *telemetry.SpanRecord) error {
		body := spanBody(&s.StoredSpan)
		body.Attributes = route.StoredObject(attributesFor(caller, s.Attributes))
		return body.write(out.Writer, out.spans == 0)
	}, out.checkSpan)
	if err != nil {
		return err
	}
	return endList(out.Writer)
}

// attributesFor is attributes in one line, as far as the caller may read them.
func attributesFor(caller principal.Principal, attributes string) string {
	if !caller.May(principal.ReadPayloads) {
		return noAttributes
	}
	if !strings.ContainsAny(attributes, "\r\n") {
		return attributes
	}
	value := jsontext.Value(attributes)
	if value.Compact() != nil {
		return noAttributes // cannot happen: ingest checked it
	}
	return string(value)
}

// writeSession writes a session as JSON, with its traces and their spans.
func writeSession(
	ctx context.Context, out *exportStream, caller principal.Principal, session telemetry.Session,
	traces *telemetry.TraceExport,
) error {
	body := TelemetrySessionDetailBody{TelemetrySessionBody: sessionBody(session)}
	if err := beginList(out.Writer, body); err != nil {
		return err
	}
	isFirst := true
	err := each(traces.All(ctx), func(t *telemetry.ExportedTrace) error {
		if !isFirst {
			_ = out.WriteByte(',') // the writer keeps an error
		}
		isFirst = false
		return writeTrace(ctx, out, caller, t)
	}, out.check)
	if err != nil {
		return err
	}
	return endList(out.Writer)
}
