package aftertool

import (
	"strings"
	"testing"
)

func TestReadResult(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ response, output, problem string }{
		"text":     {`{"llmContent":"hello","returnDisplay":"x"}`, "hello", ""},
		"parts":    {`{"llmContent":[{"text":"a"},"b",{"text":""},{"text":"c"}]}`, "abc", ""},
		"one part": {`{"llmContent":{"text":"a"}}`, "a", ""},
		"a picture": {
			`{"llmContent":[{"inlineData":{"mimeType":"image/png","data":"AAAAAAAA"}}]}`, "[image/png, 6 bytes]", "",
		},
		"another part": {
			`{"llmContent":[{"functionResponse":{"name":"x"}}]}`, `{"functionResponse":{"name":"x"}}`, "",
		},
		"a failure": {
			`{"llmContent":"no","error":{"message":"not found","type":"file_not_found"}}`, "no",
			"file_not_found not found",
		},
		"an empty failure": {`{"llmContent":"no","error":{}}`, "no", "the tool failed"},
		"nothing":          {`{}`, "", ""},
		"no object":        {`[]`, "", "the host gave no result that can be read"},
		"a secret": {
			`{"llmContent":"token: ghp_0123456789abcdefghijABCDEFGHIJ012345"}`, "token: [redacted]", "",
		},
		"a secret by name": {
			`{"llmContent":"{\"user\":\"u\",\"password\":\"hunter2\"}"}`, `{"user":"u","password":"[redacted]"}`, "",
		},
	} {
		got := readResult([]byte(c.response))
		if got.output != c.output || got.problem != c.problem {
			t.Errorf("%s: %q, %q; want %q, %q", name, got.output, got.problem, c.output, c.problem)
		}
	}
}

// TestLongResults: what is cut says so, and a secret at the cut does not stay in part.
func TestLongResults(t *testing.T) {
	t.Parallel()
	secret := "ghp_0123456789abcdefghijABCDEFGHIJ012345"
	text := strings.Repeat("x", 2*maxReported-20-10) + " " + secret + strings.Repeat(" y", maxReported)
	got := readResult([]byte(`{"llmContent":"` + text + `"}`))
	if len(got.output) > maxReported+20 || !strings.HasSuffix(got.output, "[truncated]") {
		t.Errorf("%d bytes that end with %q", len(got.output), got.output[len(got.output)-20:])
	}
	if strings.Contains(got.output, "ghp_") {
		t.Error("a part of the secret is in the report")
	}
}
