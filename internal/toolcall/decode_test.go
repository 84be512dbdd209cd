package toolcall_test

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"writ/internal/toolcall"
)

func TestDecode(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, text string
		want       map[string]any
	}{
		{"nothing", "", map[string]any{}},
		{"spaces", " \r\n\t", map[string]any{}},
		{"null", "null", map[string]any{}},
		{"empty", "{}", map[string]any{}},
		{"kinds", `{"a":null,"b":true,"c":"é\u00e9","d":[1,[]],"e":{"f":false}}`, map[string]any{
			"a": nil, "b": true, "c": "éé", "d": []any{int64(1), []any{}}, "e": map[string]any{"f": false},
		}},
		{"whole numbers", `{"a":0,"b":-0,"c":9223372036854775807,"d":-9223372036854775808}`, map[string]any{
			"a": int64(0), "b": int64(0), "c": int64(math.MaxInt64), "d": int64(math.MinInt64),
		}},
		{"other numbers", `{"a":1.0,"b":1e3,"c":9223372036854775808,"d":-1.5}`, map[string]any{
			"a": 1.0, "b": 1000.0, "c": 9223372036854775808.0, "d": -1.5,
		}},
		{"a name with a dot", `{"a.b":1,"":2}`, map[string]any{"a.b": int64(1), "": int64(2)}},
	} {
		got, err := toolcall.Decode([]byte(c.text))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", c.name, diff)
		}
	}
}

func TestDecodeRefuses(t *testing.T) {
	t.Parallel()
	nested := func(depth int) string {
		return `{"a":` + strings.Repeat("[", depth-1) + strings.Repeat("]", depth-1) + "}"
	}
	if _, err := toolcall.Decode([]byte(nested(toolcall.MaxDepth))); err != nil {
		t.Errorf("nesting at its limit: %v", err)
	}
	for _, c := range []struct{ name, text, message string }{
		{"a list", "[]", "must be a JSON object"},
		{"text", `"secret"`, "must be a JSON object"},
		{"half", `{"secret":`, "ends too early"},
		{"a name twice", `{"secret":1,"secret":2}`, "given twice"},
		{"a name twice, escaped", `{"secret":1,"\u0073ecret":2}`, "given twice"},
		{"a name twice, deep", `{"a":[{"secret":1,"secret":2}]}`, "given twice"},
		{"bad UTF-8", "{\"secret\":\"\xff\"}", "not JSON"},
		{"half a character", `{"secret":"\ud83d"}`, "not JSON"},
		{"two objects", `{} {"secret":1}`, "follows"},
		{"rest", `{}secret`, "follows"},
		{"comment", `{/*secret*/}`, "not JSON"},
		{"NaN", `{"secret":NaN}`, "not JSON"},
		{"huge number", `{"secret":1e999}`, "too large"},
		{"byte order mark", "\uFEFF{}", "not JSON"},
		{"deep", nested(toolcall.MaxDepth + 1), "deeper than 64"},
		{"deeper", strings.Repeat("[", 1<<19), "deeper than 64"},
		{"long", `{"a":"` + strings.Repeat("x", toolcall.MaxArguments) + `"}`, "at most"},
	} {
		got, err := toolcall.Decode([]byte(c.text))
		if err == nil {
			t.Errorf("%s was decoded to %v", c.name, got)
			continue
		}
		if !strings.Contains(err.Error(), c.message) {
			t.Errorf("%s: %v, want %q", c.name, err, c.message)
		}
		if strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: the error shows what was sent: %v", c.name, err)
		}
	}
}

// FuzzDecode checks that what was decoded means what was written: encoded again
// and decoded again it is the same, and the standard decoder sees the same.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		"", "null", "{}", `{"a":1}`, `{"a":[1,2.5,-3e10,"x",null,true,{"b":{}}]}`, `{"a":9223372036854775808}`,
		`{"a":1,"a":2}`,
		`{"é":"\ud83d\ude00"}`, `{"a":-0}`, `[`, `{"a":1e400}`, "{\"a\":\"\xff\"}",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		got, err := toolcall.Decode(text)
		if err != nil {
			if got != nil {
				t.Fatalf("refused and decoded to %v", got)
			}
			return
		}
		encoded, err := json.Marshal(got)
		if err != nil {
			t.Fatalf("encode %v: %v", got, err)
		}
		if len(encoded) > toolcall.MaxArguments {
			return
		}
		again, err := toolcall.Decode(encoded)
		if err != nil || !cmp.Equal(asFloats(got), asFloats(again)) {
			t.Fatalf("%s is decoded to %v, %v, want %v", encoded, again, err, got)
		}
		var standard map[string]any
		if len(bytes.TrimSpace(text)) > 0 {
			if err := json.Unmarshal(text, &standard); err != nil {
				t.Fatalf("the standard decoder refuses it: %v", err)
			}
		}
		if standard == nil {
			standard = map[string]any{}
		}
		if diff := cmp.Diff(asFloats(standard), asFloats(got)); diff != "" {
			t.Fatalf("the standard decoder differs: (-standard +ours)\n%s", diff)
		}
	})
}

// asFloats is a value with all numbers as floats, which is how the standard
// decoder sees them, and without a sign of zero.
func asFloats(value any) any {
	switch value := value.(type) {
	case int64:
		return float64(value)
	case float64:
		return value + 0
	case []any:
		out := make([]any, len(value))
		for i, item := range value {
			out[i] = asFloats(item)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(value))
		for name, member := range value {
			out[name] = asFloats(member)
		}
		return out
	}
	return value
}
