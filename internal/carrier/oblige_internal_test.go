package carrier

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"writ/internal/enforcement"
	"writ/internal/mcp/upstream"
	"writ/internal/obligation"
)

func TestRedactJSON(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, members, text, want string }{
		{"a name anywhere", "ssn", `{"a":{"ssn":1},"b":[{"ssn":{"x":2}}],"ssn":"3"}`,
			`{"a":{"ssn":"[redacted]"},"b":[{"ssn":"[redacted]"}],"ssn":"[redacted]"}`},
		{"within another", "customer.email", `{"email":1,"customer":{"email":2},"x":{"customer":[{"email":3}]}}`,
			`{"email":1,"customer":{"email":"[redacted]"},"x":{"customer":[{"email":"[redacted]"}]}}`},
		{"a name with a dot", "customer.email", `{"customer.email":1,"x.customer":{"email":2},"customer.mail":3}`,
			`{"customer.email":"[redacted]","x.customer":{"email":"[redacted]"},"customer.mail":3}`},
		{"a star", "card.*", `{"card":{"n":1,"m":2},"cards":{"n":3}}`,
			`{"card":{"n":"[redacted]","m":"[redacted]"},"cards":{"n":3}}`},
		{"numbers stay as they are", "x", `{"n":12345678901234567890.10}`, `{"n":12345678901234567890.10}`},
		{"given twice", "ssn", `{"ssn":1,"ssn":2}`, `{"ssn":"[redacted]","ssn":"[redacted]"}`},
		{"an escaped name", "ssn", `{"\u0073sn":1}`, `{"ssn":"[redacted]"}`},
		{"in a text that is JSON", "ssn", `{"result":"{\"ssn\": 1, \"a\":[\"{\\\"ssn\\\":2}\"]}"}`,
			`{"result":"{\"ssn\":\"[redacted]\",\"a\":[\"{\\\"ssn\\\":\\\"[redacted]\\\"}\"]}"}`},
		{"within another, in a text", "customer.email", `{"customer":"{\"email\":1}","x":"{\"email\":2}"}`,
			`{"customer":"{\"email\":\"[redacted]\"}","x":"{\"email\":2}"}`},
		{"in a text that is almost JSON", "ssn", `["{\"ssn\":1}\n{\"ssn\":2}","{\"ssn\":1","[draft] of it"]`,
			`["` + withheld + `","` + withheld + `","[draft] of it"]`},
		{"in a text as Python writes it", "ssn", `{"a":"{'ssn': '071'}","b":"[{'ssn': 1}]","c":"{ ssn: 071 }"}`,
			`{"a":"` + withheld + `","b":"` + withheld + `","c":"` + withheld + `"}`},
		{"in a text of a text", "ssn", `{"a":"\"{\\\"ssn\\\":1}\"","b":"\"so\" they say"}`,
			`{"a":"\"{\\\"ssn\\\":\\\"[redacted]\\\"}\"","b":"\"so\" they say"}`},
		{"behind a mark of the byte order", "ssn", `["\ufeff{\"ssn\":1}"]`, `["{\"ssn\":\"[redacted]\"}"]`},
		{"none of them", "ssn", `[1,"ssn",{"a":null}]`, `[1,"ssn",{"a":null}]`},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got, err := redactJSON(t.Context(), []byte(test.text), strings.Split(test.members, ","), nil)
			if err != nil || string(got) != test.want {
				t.Errorf("%s, %v; want %s", got, err, test.want)
			}
		})
	}
	deep := strings.Repeat(`[`, 300) + strings.Repeat(`]`, 300)
	for _, text := range []string{`{"ssn":1`, `{"a":1}{"ssn":2}`, ``, deep} {
		if got, err := redactJSON(t.Context(), []byte(text), []string{"ssn"}, nil); err == nil {
			t.Errorf("%.20s: %s", text, got)
		}
	}
}

// outcome is what came of an allowed call with obligations.
func outcome(t *testing.T, result any, set obligation.Set) (Outcome, string) {
	t.Helper()
	o := Outcome{Answer: enforcement.Answer{Oblige: &set}, Result: result}
	o.write("bank")
	if err := o.oblige(t.Context(), "bank", false); err != nil {
		t.Error(err)
	}
	return o, string(o.Output)
}

func TestResultsAreObliged(t *testing.T) {
	t.Parallel()
	redact := obligation.Set{Redact: []string{"ssn"}}
	result := &mcp.CallToolResult{
		Meta:              mcp.Meta{"io.example/about": map[string]any{"ssn": "070"}},
		StructuredContent: json.RawMessage(`{"name":"Ann","ssn":"071"}`),
		Content: []mcp.Content{
			&mcp.TextContent{Text: `{"name":"Ann","ssn":"072"}`},
			&mcp.TextContent{Text: "her ssn is 073"},
			&mcp.ImageContent{MIMEType: "image/png", Data: []byte("074")},
			&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "a:b", Text: `[{"ssn":"075"}]`}},
			&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "a:b", Blob: []byte("076")}},
		},
	}
	o, text := outcome(t, result, redact)
	for _, secret := range []string{"070", "071", "072", "073", "MDc0", "075", "MDc2"} {
		if strings.Contains(text, secret) {
			t.Errorf("%s is in %s", secret, text)
		}
	}
	if o.Failure != nil || strings.Count(text, "Ann") != 2 || strings.Count(text, "[redacted]") != 4 ||
		strings.Count(text, "[withheld") != 3 {
		t.Errorf("%+v %s", o.Failure, text)
	}
	own := string(result.StructuredContent.(json.RawMessage))
	if _, ok := o.Result.(*mcp.CallToolResult); !ok || !strings.Contains(own, "071") {
		t.Errorf("a %T, and the server's own is changed", o.Result)
	}
	_, text = outcome(t, result, obligation.Set{Labels: []string{"confidential"}})
	if !strings.Contains(text, `"writ/labels":["confidential"]`) || !strings.Contains(text, "073") {
		t.Errorf("labelled: %s", text)
	}
	o, text = outcome(t, result, obligation.Set{MaxBytes: 20})
	if made := o.Result.(*mcp.CallToolResult); !made.IsError || strings.Contains(text, "Ann") ||
		!strings.Contains(text, "The tool has run") {
		t.Errorf("too long: %s", text)
	}
	if _, text = outcome(t, result, obligation.Set{MaxBytes: 1 << 20}); !strings.Contains(text, "073") {
		t.Errorf("not too long: %s", text)
	}
	read := &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: "a:b", Text: `{"ssn":"077"}`}}}
	if _, text = outcome(t, read, redact); strings.Contains(text, "077") || !strings.Contains(text, "[redacted]") {
		t.Errorf("a resource: %s", text)
	}
	if o, _ = outcome(t, read, obligation.Set{MaxBytes: 5}); o.Failure == nil || o.Failure.Kind != upstream.TooLong ||
		o.Result != nil || !o.Failure.Sent {
		t.Errorf("a resource that is too long: %+v", o)
	}
	said := &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{{Role: "user", Content: &mcp.TextContent{Text: "078"}}}}
	if _, text = outcome(t, said, redact); strings.Contains(text, "078") {
		t.Errorf("a prompt: %s", text)
	}
	if o, text = outcome(t, map[string]any{"ssn": "079"}, redact); o.Failure == nil || strings.Contains(text, "079") {
		t.Errorf("something else: %+v %s", o, text)
	}
}

// TestWhatHasNoMembersIsWithheld: of it nothing can be left out.
func TestWhatHasNoMembersIsWithheld(t *testing.T) {
	t.Parallel()
	redact := obligation.Set{Redact: []string{"ssn"}}
	for _, bare := range []string{`"Ann, 071"`, `71`, `null`} {
		_, text := outcome(t, &mcp.CallToolResult{StructuredContent: json.RawMessage(bare)}, redact)
		if strings.Contains(text, "71") || strings.Contains(text, "structuredContent") {
			t.Errorf("%s: %s", bare, text)
		}
	}
	_, text := outcome(t, &mcp.GetPromptResult{Description: "of Ann, 071"}, redact)
	if strings.Contains(text, "Ann") || !strings.Contains(text, "withheld") {
		t.Errorf("a prompt: %s", text)
	}
	_, text = outcome(t, &mcp.GetPromptResult{Description: "of Ann"}, obligation.Set{Labels: []string{"x"}})
	if !strings.Contains(text, "of Ann") {
		t.Errorf("a prompt that is only labelled: %s", text)
	}
	o, text := outcome(t, Done{}, redact)
	if o.Failure != nil || text != "{}" {
		t.Errorf("what gives nothing: %s, %v", text, o.Failure)
	}
}

// TestATextIsWithheldWhereverItIs: servers give what a tool returns as text, and the same as a member of structured
// content.
func TestATextIsWithheldWhereverItIs(t *testing.T) {
	t.Parallel()
	for _, returned := range []string{
		"her ssn is 071", `{"name":"Ann","ssn":"071"}`, "[{\"ssn\":\"071\"}]\nof 071", "{'ssn': '071'}", "[ssn 071]",
	} {
		structured, err := json.Marshal(map[string]any{"result": returned})
		if err != nil {
			t.Fatal(err)
		}
		for _, content := range []mcp.Content{
			&mcp.TextContent{Text: returned},
			&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "file:///person", Text: returned}},
		} {
			_, text := outcome(t, &mcp.CallToolResult{
				Content:           []mcp.Content{content},
				StructuredContent: json.RawMessage(structured),
			}, obligation.Set{Redact: []string{"ssn"}})
			if strings.Contains(text, "071") {
				t.Errorf("%T %s: %s", content, returned, text)
			}
		}
	}
}

// TestManyTextsAreWithheldAtOnce: an MCP server that fills its result with texts, within the limit of its bytes, must
// not keep a processor busy for minutes.
func TestManyTextsAreWithheldAtOnce(t *testing.T) {
	t.Parallel()
	const many = 150_000
	sent := &mcp.CallToolResult{Content: make([]mcp.Content, many)}
	shown := make([]string, many)
	for i := range many {
		sent.Content[i] = &mcp.TextContent{Text: fmt.Sprintf("a%06d", i)}
		shown[i] = fmt.Sprintf("b%06d", i)
	}
	sent.StructuredContent = shown
	done := make(chan error, 1)
	go func() {
		_, err := obliged(t.Context(), sent, &obligation.Set{Redact: []string{"ssn"}})
		done <- err
	}()
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(time.Minute):
		t.Error("every text is compared with every other one")
	}
}

// TestFailuresAreObliged: an error of the server is no way around what a policy demands of its results.
func TestFailuresAreObliged(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("071", 100)
	for name, c := range map[string]struct {
		set     obligation.Set
		message string
		data    string
		hides   bool
	}{
		"members are left out":    {obligation.Set{Redact: []string{"ssn"}}, "071", "", true},
		"a long message":          {obligation.Set{MaxBytes: 200}, long, "", true},
		"long data":               {obligation.Set{MaxBytes: 200}, "071", `"` + long + `"`, true},
		"within the bytes":        {obligation.Set{MaxBytes: 400}, long, `"071"`, false},
		"it is labelled, no more": {obligation.Set{Labels: []string{"x"}}, long, "", false},
	} {
		sent := &jsonrpc.Error{Code: 1, Message: c.message, Data: json.RawMessage(c.data)}
		o := Outcome{Answer: enforcement.Answer{Oblige: &c.set}, Failure: &upstream.Failure{
			Kind: upstream.Answered, Server: "bank", Reason: "it answered so",
			Message: c.message, Cause: sent,
		}}
		if err := o.oblige(t.Context(), "bank", false); err != nil {
			t.Error(err)
		}
		told, _ := errors.AsType[*jsonrpc.Error](o.Failure.Cause)
		if hidden := !strings.Contains(o.Failure.Message, "071") && told == nil; hidden != c.hides {
			t.Errorf("%s: %+v", name, o.Failure)
		}
	}
}

// TestPartsThatAreNothing: a server puts null where a part of its result must be. It is withheld, and the outcome can
// be recorded.
func TestPartsThatAreNothing(t *testing.T) {
	t.Parallel()
	for _, set := range []obligation.Set{{Redact: []string{"ssn"}}, {Labels: []string{"x"}}, {MaxBytes: 1000}} {
		for _, result := range []any{
			&mcp.GetPromptResult{Messages: []*mcp.PromptMessage{nil}},
			&mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{nil}},
		} {
			o, text := outcome(t, result, set)
			if o.Failure == nil || !o.Failure.Sent || o.Result != nil || text != "" {
				t.Errorf("%T, %+v: %+v", result, set, o)
			}
		}
	}
	redact := obligation.Set{Redact: []string{"ssn"}}
	for _, part := range []mcp.Content{nil, &mcp.EmbeddedResource{}} {
		_, text := outcome(t, &mcp.CallToolResult{Content: []mcp.Content{part}}, redact)
		if !strings.Contains(text, withheld) {
			t.Errorf("%T: %s", part, text)
		}
	}
	// What nobody has thought of.
	o := Outcome{Answer: enforcement.Answer{Oblige: &redact}, Result: &mcp.CallToolResult{
		Content: []mcp.Content{(*mcp.TextContent)(nil), &mcp.TextContent{Text: `{"ssn":"071"}`}},
	}}
	err := o.oblige(t.Context(), "bank", false)
	if err == nil || !strings.Contains(err.Error(), "panic: ") || strings.Contains(string(o.Output), "071") ||
		!strings.Contains(string(o.Output), "The tool has run, and its result is withheld") {
		t.Errorf("%v, %s", err, o.Output)
	}
	o = Outcome{Result: &mcp.CallToolResult{Content: []mcp.Content{(*mcp.TextContent)(nil)}}}
	if o.write("bank"); o.Failure == nil || !o.Failure.Sent || o.Result != nil {
		t.Errorf("what cannot be written: %+v", o)
	}
}
