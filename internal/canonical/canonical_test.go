package canonical_test

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"writ/internal/canonical"
)

func TestTransform(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, give, want string }{
		{"null", ` null `, `null`},
		{"booleans", `[ true , false ]`, `[true,false]`},
		{"empty containers", "{ \"b\" : { } ,\n\"a\" : [ ] }", `{"a":[],"b":{}}`},
		{"sorted input stays", `{"a":1,"b":2}`, `{"a":1,"b":2}`},
		{"every level is sorted", `{"b":[{"d":1,"c":{"y":1,"x":2}}],"a":0}`, `{"a":0,"b":[{"c":{"x":2,"y":1},"d":1}]}`},
		{"array order is meaning", `[3,1,2]`, `[3,1,2]`},
		{"prefix first", `{"ab":1,"a":2,"":3}`, `{"":3,"a":2,"ab":1}`},
		{"upper before lower", `{"a":1,"B":2,"_":3}`, `{"B":2,"_":3,"a":1}`},
		{"digits sort as text", `{"10":1,"9":2}`, `{"10":1,"9":2}`},
		{"keys compare decoded", `{"b":1,"\u0061":2}`, `{"a":2,"b":1}`},
		{"escaped key in the middle", `{"z":1,"\n":{"é":1,"e":2},"a":3}`, `{"\n":{"e":2,"\u00e9":1},"a":3,"z":1}`},
		{"code points, not UTF-16 units", `{"😀":1,"\ue000":2}`, `{"\ue000":2,"\ud83d\ude00":1}`},
		{"short escapes", `"\u0008\u0009\u000a\u000c\u000d\u0022\u005c"`, `"\b\t\n\f\r\"\\"`},
		{"other controls", `"\u0000\u001F\u000b` + "\x7f" + `"`, `"\u0000\u001f\u000b\u007f"`},
		{"not escaped", `"\/<>&'~ \u003c\u0026"`, `"/<>&'~ <&"`},
		{"not ASCII", `"réad\u20AC"`, `"r\u00e9ad\u20ac"`},
		{"surrogate pairs", `"😀\ud83d\ude00\uDBFF\uDFFF"`, `"\ud83d\ude00\ud83d\ude00\udbff\udfff"`},
		{"replacement character is a character", `"�\ufffd"`, `"\ufffd\ufffd"`},
		{"line separators", "\"\u2028\u2029\"", `"\u2028\u2029"`},
		{"long strings", `"` + strings.Repeat("é", 500) + `"`, `"` + strings.Repeat(`\u00e9`, 500) + `"`},
		{
			"deepest", strings.Repeat("[", 256) + strings.Repeat("]", 256),
			strings.Repeat("[", 256) + strings.Repeat("]", 256),
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			give := []byte(tt.give)
			got, err := canonical.Transform(give)
			if err != nil {
				t.Fatalf("Transform: %v", err)
			}
			if diff := cmp.Diff(tt.want, string(got)); diff != "" {
				t.Errorf("Transform (-want +got):\n%s", diff)
			}
			if string(give) != tt.give {
				t.Errorf("the input became %q", give)
			}
		})
	}
}

func TestTransformRefuses(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, give, want string }{
		{"nothing", ``, "unexpected end"},
		{"only space", "  \n", "unexpected end"},
		{"cut off array", `[1,`, "unexpected end"},
		{"cut off object", `{"a":`, "unexpected end"},
		{"cut off string", `"a`, "unexpected end"},
		{"duplicate keys", `{"a":1,"a":2}`, "duplicate key"},
		{"duplicate keys apart", `{"a":1,"c":2,"b":3,"a":4}`, "duplicate key"},
		{"duplicate keys by escape", `{"a":1,"\u0061":2}`, "duplicate key"},
		{"duplicate empty keys", `{"":1,"":1}`, "duplicate key"},
		{"duplicate keys below", `[{"x":{"a":1,"a":1}}]`, "duplicate key"},
		{"invalid UTF-8", "\"\xff\"", "invalid UTF-8"},
		{"invalid UTF-8 in a key", "{\"\xc3\":1}", "invalid UTF-8"},
		{"overlong UTF-8", "\"\xc0\xaf\"", "invalid UTF-8"},
		{"surrogate as UTF-8", "\"\xed\xa0\x80\"", "invalid UTF-8"},
		{"lone high surrogate", `"\ud83d"`, "invalid"},
		{"lone low surrogate", `"\ude00"`, "invalid"},
		{"swapped surrogates", `"\ude00\ud83d"`, "invalid"},
		{"lone surrogate in a key", `{"\ud83dx":1}`, "invalid"},
		{"raw control", "\"\n\"", "invalid character"},
		{"second value", `1 2`, "data after the value"},
		{"trailing comma after the value", `{},`, "data after the value"},
		{"trailing garbage", `[] x`, "data after the value"},
		{"trailing zero byte", "[]\x00", "data after the value"},
		{"byte order mark", "\ufeff{}", "invalid character"},
		{"too deep arrays", strings.Repeat("[", 257) + strings.Repeat("]", 257), "deeper than 256"},
		{"too deep objects", strings.Repeat(`{"":`, 257) + "1" + strings.Repeat("}", 257), "deeper than 256"},
		{"far too deep", strings.Repeat("[", 100_000), "deeper than 256"},
		{"NaN", `NaN`, "invalid character"},
		{"Infinity", `[-Infinity]`, "invalid character"},
		{"trailing comma", `[1,]`, "invalid character"},
		{"comment", `{}//`, "data after the value"},
		{"single quotes", `{'a':1}`, "invalid character"},
		{"key is no string", `{1:1}`, "string"},
		{"mismatched ends", `[}`, "invalid character"},
		{"exponents that fill the memory", `[` + strings.Repeat("1e999,", 1000) + `0]`, "too large"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := canonical.Transform([]byte(tt.give))
			if err == nil {
				t.Fatalf("Transform = %q, want an error", got)
			}
			if !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %q does not name %q", err, tt.want)
			}
			if got != nil {
				t.Errorf("output %q beside the error", got)
			}
		})
	}
}

func TestErrorsHoldNoContent(t *testing.T) {
	t.Parallel()
	for _, give := range []string{
		`{"hunter2":1,"hunter2":2}`,
		`{"hunter2":{"a":"hunter2","b":x}}`,
		`{"hunter2":["\ud800"]}`,
		"{\"hunter2\":\"hunter2\xff\"}",
		`{"hunter2":1} "hunter2"`,
	} {
		_, err := canonical.Transform([]byte(give))
		if err == nil {
			t.Errorf("Transform(%q) succeeds", give)
		} else if strings.Contains(err.Error(), "hunter2") {
			t.Errorf("error shows content: %v", err)
		}
	}
}

func TestMarshal(t *testing.T) {
	t.Parallel()
	type plan struct {
		Steps []string       `json:"steps"`
		Goal  string         `json:"goal"`
		Limit float64        `json:"limit"`
		ID    uint64         `json:"id"`
		Extra map[string]any `json:"extra"`
	}
	give := plan{
		Goal:  "naïve <b>",
		Limit: 100,
		ID:    math.MaxUint64,
		Extra: map[string]any{"b": 1e21, "a": math.Copysign(0, -1), "c": 1.5e-7},
	}
	got, err := canonical.Marshal(give)
	if err != nil {
		t.Fatalf("Marshal: %v", err)
	}
	want := `{"extra":{"a":0,"b":1000000000000000000000,"c":1.5e-7},"goal":"na\u00efve <b>",` +
		`"id":18446744073709551615,"limit":100,"steps":[]}`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("Marshal (-want +got):\n%s", diff)
	}
}

func TestMarshalRefuses(t *testing.T) {
	t.Parallel()
	for name, give := range map[string]any{
		"NaN":           math.NaN(),
		"infinity":      []float64{math.Inf(-1)},
		"invalid UTF-8": "\xff",
		"function":      func() {},
	} {
		if got, err := canonical.Marshal(give); err == nil {
			t.Errorf("Marshal(%s) = %q, want an error", name, got)
		}
	}
}
