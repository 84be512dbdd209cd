package decode

import (
	"reflect"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

const plainTrace = `"trace":{"id":"i","sessionId":null,"name":"n","startTime":"s","endTime":"e","durationMs":1e3,"status":"ok",` +
	`"userId":7,"agentId":null,"attributes":{"a":[1,{"b":"\"\\"},[]],"c":-0.5e-3},"tags":["t",null]}`

const plainSpan = `{"id":"i","parentSpanId":null,"sessionId":"x","kind":"k","name":"é","startTime":"s","endTime":null,"durationMs":true,"status":"",` +
	`"attributes":{"text":"\u001b\n","nested":{"text":""}},"more":[{"id":"j"}]}`

// FuzzReadPlain: what is read as plain, the decoder takes too, and reads the same.
func FuzzReadPlain(f *testing.F) {
	for _, seed := range []string{
		`{` + plainTrace + `}`, `{` + plainTrace + `,"spans":[]}`,
		`{"spans":[` + plainSpan + `, ` + plainSpan + `],"more":{},` + plainTrace + `}`,
		"{ \"spans\" : [ " + plainSpan + "\n]\t, " + plainTrace + "\r}",
		`{` + plainTrace + `,"spans":[` + plainSpan + `,` + plainSpan + `,null]}`, `{` + plainTrace + `,"spans":null}`,
		`{` + plainTrace + `,"spans":{}}`,
		`{"trace":{"id":"\u0069"}}`, `{"trace":{"id":"i","\u0069d":"j"}}`, `{"trace":{"id":"i","id":"i"}}`,
		`{"trace":{"id":"i","attributes":{"a":{"b":1,"b":1}}}}`,
		`{"trace":{"id":"i","name":"\ud800"}}`, `{"trace":{"id":"i","name":"\ud83d\ude00"}}`,
		"{\"trace\":{\"id\":\"i\",\"name\":\"\xff\"}}",
		`{"trace":{"id":"i","tags":"t"}}`, `{"trace":{"id":"i","tags":[1]}}`, `{"trace":{"id":1}}`, `{"trace":null}`,
		`{}`, `null`, `[]`, `"trace"`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		r, err := ParseRequest([]byte(`{"product":"p","batches":[` + string(text) + `]}`))
		if err != nil {
			return
		}
		for _, batch := range r.Batches {
			got, isPlain := readPlain(batch)
			if !isPlain {
				continue
			}
			want, bad := decodeBatch(batch)
			if bad != nil {
				t.Fatalf("%s is read, but the decoder says %v", batch, bad)
			}
			if !reflect.DeepEqual(got, want) {
				t.Fatalf("%s is read as\n%+v, but the decoder reads\n%+v", batch, got, want)
			}
		}
	})
}

// What clients usually send must not take the slow way, and what is odd must.
func TestReadPlainKnowsWhatIsPlain(t *testing.T) {
	nested := func(depth int) string {
		return `{"trace":{"id":"i","attributes":` + strings.Repeat(`[`, depth) + strings.Repeat(`]`, depth) + `}}`
	}
	for _, c := range []struct {
		name, batch string
		isPlain     bool
	}{
		{"a trace with spans", `{` + plainTrace + `,"spans":[` + plainSpan + `,` + plainSpan + `]}`, true},
		{"a trace alone", `{` + plainTrace + `}`, true},
		{"escapes in attributes", `{"trace":{"id":"i","attributes":{"text":"\"\\\n\u00e9\u001b"}}}`, true},
		{"values in each other, as deep as allowed", nested(plainDepth), true},
		{"values in each other, deeper", nested(plainDepth + 1), false},
		{"a name twice", `{"trace":{"id":"i","name":"a","name":"b"}}`, false},
		{"a name twice in attributes", `{"trace":{"id":"i","attributes":{"a":[{"b":1,"c":2,"b":3}]}}}`, false},
		{"a name twice in what nobody reads", `{"trace":{"id":"i"},"more":{"a":1,"a":2}}`, false},
		{"an escape in a name", `{"trace":{"id":"i"},"\u0061":1}`, false},
		{"half a character", `{"trace":{"id":"i","attributes":{"text":"\uD800"}}}`, false},
		{"a character that is none", "{\"trace\":{\"id\":\"i\",\"attributes\":{\"text\":\"\xc3\"}}}", false},
		{"no trace", `{"spans":[]}`, false},
		{"no object", `[]`, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, isPlain := readPlain(jsontext.Value(c.batch)); isPlain != c.isPlain {
				t.Errorf("plain is %t", isPlain)
			}
		})
	}
}
