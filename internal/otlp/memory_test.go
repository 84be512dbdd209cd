package otlp_test

import (
	"bytes"
	"runtime"
	"strings"
	"testing"

	"writ/internal/otlp"
)

// TestHostileBodiesTakeLittleMemory reads bodies of a megabyte that are made to become
// much more when they are read. It does not run beside others, whose memory would count.
func TestHostileBodiesTakeLittleMemory(t *testing.T) {
	const size, most = 1 << 20, 128 << 20
	fill := func(part message) message { return bytes.Repeat(part, size/len(part)) }
	inSpan := func(fields message) []byte {
		one := message(nil).bytes(1, unhex(traceA)).bytes(2, unhex(spanA)).fixed(7, begin)
		return message(nil).bytes(1, message(nil).bytes(2, message(nil).bytes(2, append(one, fields...))))
	}
	nested := message(nil).text(1, "x")
	for range 20_000 {
		nested = message(nil).bytes(5, message(nil).bytes(1, nested))
	}
	for name, c := range map[string]struct {
		encoding otlp.Encoding
		body     []byte
	}{
		"empty resources": {otlp.Protobuf, fill(message(nil).bytes(1, nil))},
		"empty scopes":    {otlp.Protobuf, message(nil).bytes(1, fill(message(nil).bytes(2, nil)))},
		"empty spans": {
			otlp.Protobuf, message(nil).bytes(1, message(nil).bytes(2, fill(message(nil).bytes(2, nil)))),
		},
		"empty attributes":         {otlp.Protobuf, inSpan(fill(message(nil).bytes(9, nil)))},
		"empty events":             {otlp.Protobuf, inSpan(fill(message(nil).bytes(11, nil)))},
		"empty links":              {otlp.Protobuf, inSpan(fill(message(nil).bytes(13, nil)))},
		"events with an attribute": {otlp.Protobuf, inSpan(fill(message(nil).bytes(11, message(nil).bytes(3, nil))))},
		"empty maps in an array": {
			otlp.Protobuf,
			inSpan(message(nil).bytes(9, message(nil).bytes(2, message(nil).bytes(5,
				fill(message(nil).bytes(1, message(nil).bytes(6, nil))))))),
		},
		"values in values":      {otlp.Protobuf, inSpan(message(nil).bytes(9, message(nil).bytes(2, nested)))},
		"empty resources, JSON": {otlp.JSON, []byte(`{"resourceSpans":[{}` + strings.Repeat(",{}", size/3) + `]}`)},
		"empty attributes, JSON": {
			otlp.JSON,
			[]byte(`{"resourceSpans":[{"scopeSpans":[{"spans":[{"attributes":[{}` + strings.Repeat(",{}", size/3) +
				`]}]}]}]}`),
		},
		"empty elements, JSON": {
			otlp.JSON,
			[]byte(`{"resourceSpans":[{"resource":{"attributes":[{"value":{"arrayValue":{"values":[{}` +
				strings.Repeat(",{}", size/3) + `]}}}]}}]}`),
		},
		"arrays of JSON": {otlp.JSON, []byte(strings.Repeat("[", size))},
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			reading, err := otlp.Read(t.Context(), c.body, c.encoding, options())
			runtime.ReadMemStats(&after)
			if took := after.TotalAlloc - before.TotalAlloc; took > most {
				t.Errorf("took %d MB altogether for %d bytes", took>>20, len(c.body))
			}
			if err == nil {
				check(t, reading)
			}
		})
	}
}
