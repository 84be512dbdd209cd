package traces

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"writ/internal/api/route"
	"writ/internal/database"
	"writ/internal/database/dbtest"
	"writ/internal/fault"
	"writ/internal/otlp"
	"writ/internal/principal"
	"writ/internal/telemetry"
)

// TestALongTraceIsNotWrittenToItsEnd by a server that stops, or for a reader who may not read any more: one trace may
// have more spans than an hour writes.
func TestALongTraceIsNotWrittenToItsEnd(t *testing.T) {
	t.Parallel()
	dbtest.EachOptions(t, func(t *testing.T, o database.Options) {
		o.Store = database.Telemetry
		service, err := telemetry.New(t.Context(), telemetry.Config{
			Database:    dbtest.Open(t, o),
			Prices:      telemetry.BuiltInPrices(),
			Logger:      slog.New(slog.DiscardHandler),
			SessionIdle: time.Hour,
			Retention:   30 * 24 * time.Hour,
		})
		if err != nil {
			t.Fatal(err)
		}
		var spans []string
		for i := range checkSpans + 100 {
			spans = append(spans,
				fmt.Sprintf(`{"traceId":"0102030405060708090a0b0c0d0e0f10","spanId":"%016x","name":"one","startTimeUnixNano":"%d"}`, i+1, time.Now().UnixNano()))
		}
		body := `{"resourceSpans":[{"scopeSpans":[{"spans":[` + strings.Join(spans, ",") + `]}]}]}`
		reading, err := otlp.Read(t.Context(), []byte(body), otlp.JSON, otlp.Options{
			Product: "p", Prices: service.Prices(), MaxBytes: 1 << 26,
		})
		if err != nil {
			t.Fatal(err)
		}
		org := database.NewID()
		if added, err := service.AddFragments(t.Context(), org, reading.Fragments); err != nil ||
			added.Stored != len(spans) {
			t.Fatalf("%+v, %v", added, err)
		}
		one, err := service.ExportTrace(t.Context(), org, "01020304-0506-0708-090a-0b0c0d0e0f10")
		if err != nil || one == nil {
			t.Fatalf("%v, %v", one, err)
		}
		stopping := make(chan struct{})
		close(stopping)
		if err := writeTrace(t.Context(), streamTo(t, &slowReader{}, stopping, nil), principal.Principal{},
			one); !fault.Is(err, fault.Unavailable) {
			t.Errorf("while the server stops: %v", err)
		}
		out := streamTo(t, &slowReader{}, nil, func() error {
			return fault.New(fault.Forbidden, "not a member any more")
		})
		out.checked = out.checked.Add(-route.RightsCheck)
		if err := writeTrace(t.Context(), out, principal.Principal{}, one); !fault.Is(err, fault.Forbidden) {
			t.Errorf("a member who left: %v", err)
		}
		all, err := service.ExportTraces(org, telemetry.TraceFilter{Days: 1}, true)
		if err != nil {
			t.Fatal(err)
		}
		rows := &lines{out: streamTo(t, &slowReader{}, stopping, nil), cursor: all.Cursor}
		if err := writeSpanRows(t.Context(), rows, principal.Principal{}, all); !fault.Is(err, fault.Unavailable) ||
			!rows.midway {
			t.Errorf("a table while the server stops: %v", err)
		}
	})
}
