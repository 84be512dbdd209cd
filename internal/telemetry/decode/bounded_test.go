package decode_test

import (
	"runtime"
	"strings"
	"testing"

	"writ/internal/telemetry/decode"
)

// Bodies of four megabytes that are made to become much more when they are read. It does not run beside other tests,
// whose memory would count.
func TestHostileBatchesTakeLittleMemory(t *testing.T) {
	const size, most = 4 << 20, 64 << 20
	const head = `{"trace":{"id":"0190a0a0-0000-7000-8000-00000000000a","name":"n","startTime":"2030-05-15T12:30:00Z","status":"ok"`
	many := func(part string) string { return part + strings.Repeat(","+part, size/(len(part)+1)) }
	for name, c := range map[string]struct{ batch, field string }{
		"empty spans":            {head + `},"spans":[` + many(`{}`) + `]}`, "spans"},
		"empty spans, not plain": {head + `,"name":"\ud800"},"spans":[` + many(`{}`) + `]}`, ""},
		"null spans":             {head + `},"spans":[` + many(`null`) + `]}`, "spans"},
		"escaped spans":          {head + `,"agentId":"\ud83d\ude00"},"spans":[` + many(`{}`) + `]}`, "spans"},
		"empty tags":             {head + `,"tags":[` + many(`""`) + `]},"spans":[]}`, ""},
		"null tags":              {head + `,"tags":[` + many(`null`) + `]},"spans":[]}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, bad := decode.ParseBatch([]byte(c.batch), nil, "p", decode.BuiltInPrices())
			runtime.ReadMemStats(&after)
			if took := after.TotalAlloc - before.TotalAlloc; took > most {
				t.Errorf("took %d MB altogether for %d MB", took>>20, len(c.batch)>>20)
			}
			if c.field != "" && (bad == nil || bad.Field != c.field) {
				t.Errorf("rejected for %+v, want %s", bad, c.field)
			}
		})
	}
}
