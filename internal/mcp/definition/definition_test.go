package definition_test

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"

	"writ/internal/mcp/definition"
)

const tool = `{"name":"read","description":"Reads.","inputSchema":{"type":"object","properties":{"path":{"type":"string"}}}}`

// TestForms reads a definition in every form in which it is written.
func TestForms(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"a definition":     `{"name":"files","instructions":"i","tools":[` + tool + `],"icons":[]}`,
		"an answer":        `{"tools":[` + tool + `],"nextCursor":"x"}`,
		"a message":        `{"jsonrpc":"2.0","id":1,"result":{"tools":[` + tool + `]}}`,
		"another spelling": `{"tools":[` + strings.ReplaceAll(tool, `"type":"object",`, ` "type" : "object" , `) + `]}`,
	} {
		found, err := definition.Parse([]byte(text))
		if err != nil || len(found.Tools) != 1 || found.Check() != nil {
			t.Errorf("%s: %+v, %v", name, found, err)
			continue
		}
		first, _ := definition.Parse([]byte(`{"tools":[` + tool + `]}`))
		want, _ := first.Tools[0].Hash()
		if got, err := found.Tools[0].Hash(); err != nil || got != want || !strings.HasPrefix(got, "sha256:") {
			t.Errorf("%s: hash %s, want %s, %v", name, got, want, err)
		}
	}
}

// TestWrongDefinitions say what is wrong and where.
func TestWrongDefinitions(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`[]`:                                  "must be an object",
		`{"tools":{}}`:                        "tools: must be a list",
		`{"tools":[{"name":5}]}`:              "tools/0/name: must be a text",
		`{"tools":[{"name":"a","name":"b"}]}`: "duplicate",
		"{\"tools\":[{\"name\":\"\xff\"}]}":   "invalid UTF-8",
		`{"tools":[`:                          "unexpected EOF",
		`{"tools":` + strings.Repeat("[", 80) + strings.Repeat("]", 80) + `}`: "nested 81 levels deep",
		`{"name":"` + strings.Repeat("a", definition.MaxBytes) + `"}`:         "bytes",
	} {
		if _, err := definition.Parse([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60s: %v, want %q", text, err, want)
		}
	}
}

// TestEveryPartIsPinned: a change of any part changes the hash, and the diff names its place.
func TestEveryPartIsPinned(t *testing.T) {
	t.Parallel()
	base := definition.Tool{
		Name: "a", Title: "A", Description: "does",
		InputSchema:  jsontext.Value(`{"properties":{"p":{"enum":["x"],"default":1}}}`),
		OutputSchema: jsontext.Value(`{"type":"object"}`),
		Annotations:  jsontext.Value(`{"readOnlyHint":true}`),
	}
	before, err := base.Hash()
	if err != nil {
		t.Fatal(err)
	}
	for path, change := range map[string]func(*definition.Tool){
		"name":        func(t *definition.Tool) { t.Name = "b" },
		"title":       func(t *definition.Tool) { t.Title = "" },
		"description": func(t *definition.Tool) { t.Description = "does\u200b" },
		"inputSchema.properties.p.enum[1]": func(t *definition.Tool) {
			t.InputSchema = jsontext.Value(`{"properties":{"p":{"enum":["x","y"],"default":1}}}`)
		},
		"inputSchema.properties.p.default": func(t *definition.Tool) {
			t.InputSchema = jsontext.Value(`{"properties":{"p":{"enum":["x"],"default":2}}}`)
		},
		"outputSchema": func(t *definition.Tool) { t.OutputSchema = nil },
		"annotations.odd": func(t *definition.Tool) {
			t.Annotations = jsontext.Value(`{"readOnlyHint":true,"odd":1}`)
		},
		"annotations.readOnlyHint": func(t *definition.Tool) {
			t.Annotations = jsontext.Value(`{"readOnlyHint":false}`)
		},
	} {
		changed := base
		change(&changed)
		after, err := changed.Hash()
		if err != nil || after == before {
			t.Errorf("%s: the hash stays, %v", path, err)
		}
		diff := definition.Diff(base, changed)
		if len(diff) != 1 || diff[0].Path != path || diff[0].String() == path {
			t.Errorf("%s: %v", path, diff)
		}
	}
	if diff := definition.Diff(base, base); diff != nil {
		t.Errorf("no change: %v", diff)
	}
}

// TestDiffsAreBounded: whatever the texts are.
func TestDiffsAreBounded(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		a := definition.Tool{Description: rapid.StringN(0, 3000, 9000).Draw(rt, "before")}
		b := definition.Tool{Description: rapid.StringN(0, 3000, 9000).Draw(rt, "after")}
		for _, c := range definition.Diff(a, b) {
			if len(c.Before)+len(c.After) > 2*12*500 || strings.ContainsAny(c.Before+c.After, "\n\r\x1b\u200b\u202e") {
				rt.Fatalf("%+v", c)
			}
		}
		if (a.Description != b.Description) != (len(definition.Diff(a, b)) == 1) {
			rt.Fatal("the diff does not tell whether the texts differ")
		}
	})
}
