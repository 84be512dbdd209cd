package document_test

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"writ/internal/node"
	"writ/internal/policy/document"
)

var update = flag.Bool("update", false, "write the problems that are found as those wanted")

// corpus is the documents of a folder of testdata, by path.
func corpus(t testing.TB, folder string) map[string][]byte {
	t.Helper()
	texts := map[string][]byte{}
	for _, form := range []string{"*.yaml", "*.json"} {
		paths, err := filepath.Glob(filepath.Join("testdata", folder, form))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			if texts[path], err = os.ReadFile(path); err != nil {
				t.Fatal(err)
			}
		}
	}
	if len(texts) < 4 {
		t.Fatalf("testdata/%s has %d documents", folder, len(texts))
	}
	return texts
}

func TestGoodDocuments(t *testing.T) {
	t.Parallel()
	for path, text := range corpus(t, "good") {
		doc, err := document.Parse(text, document.FormatOf(path))
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		checkRoundTrip(t, doc)
	}
}

// Beside each bad document is what must be said of it, in order.
func TestBadDocuments(t *testing.T) {
	t.Parallel()
	for path, text := range corpus(t, "bad") {
		_, err := document.Parse(text, document.FormatOf(path))
		invalid, ok := errors.AsType[*document.Invalid](err)
		if !ok {
			t.Errorf("%s: err = %v, want problems", path, err)
			continue
		}
		var got strings.Builder
		for _, p := range invalid.Problems {
			got.WriteString(p.String() + "\n")
		}
		wanted := path + ".problems"
		if *update {
			if err := os.WriteFile(wanted, []byte(got.String()), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(wanted)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), got.String()); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", path, diff)
		}
	}
}

// Editors check documents by the schema: it must say what Parse says, as far as a
// schema can. Documents it cannot fault say so in their first line.
func TestSchemaAgrees(t *testing.T) {
	t.Parallel()
	schema := compileSchema(t)
	for path, text := range corpus(t, "good") {
		if err := validate(t, schema, path, text); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
	for path, text := range corpus(t, "bad") {
		silent := bytes.HasPrefix(text, []byte("# schema: silent\n")) || strings.HasSuffix(path, "syntax.json")
		if err := validate(t, schema, path, text); (err == nil) != silent {
			t.Errorf("%s: the schema says %v, silent is wanted: %v", path, err, silent)
		}
	}
}

func compileSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	source, err := jsonschema.UnmarshalJSON(bytes.NewReader(document.Schema()))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("policy.json", source); err != nil {
		t.Fatal(err)
	}
	schema, err := compiler.Compile("policy.json")
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

// validate checks a document by the schema. What cannot be read is beyond it.
func validate(t *testing.T, schema *jsonschema.Schema, path string, text []byte) error {
	t.Helper()
	read := node.ReadYAML
	if document.FormatOf(path) == document.JSON {
		read = node.ReadJSON
	}
	root, problems := read(text)
	if problems != nil {
		return nil
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(node.Read(root, nil).JSON()))
	if err != nil {
		t.Fatal(err)
	}
	return schema.Validate(value)
}

// Each rule of the schema is tried alone, so that one fault does not hide another
// on which schema and parser differ.
func TestSchemaAgreesOnEachMember(t *testing.T) {
	t.Parallel()
	schema := compileSchema(t)
	const good = `{"version":"v1","name":"x","rules":[{"id":"a","effect":"hold","tools":["a.b"],` +
		`"limit":{"calls":1,"per":"1h"},"approvers":{"role":"admin","count":1}}]}`
	for _, c := range []struct{ old, new string }{
		{`"version":"v1"`, `"version":"v1"`}, {`"version":"v1"`, `"version":"v2"`}, {`"version":"v1",`, ``},
		{`"name":"x"`, `"name":""`}, {`"name":"x"`, `"name":"x "`}, {`"name":"x"`, `"name":"a b"`},
		{`"name":"x"`, `"name":"a\u0007"`},
		{`"name":"x"`, `"name":"` + strings.Repeat("ü", 100) + `"`},
		{`"name":"x"`, `"name":"` + strings.Repeat("ü", 101) + `"`},
		{`"name":"x"`, `"name":"x","description":"` + strings.Repeat("ü", 1000) + `"`},
		{`"name":"x"`, `"name":"x","description":"` + strings.Repeat("ü", 1001) + `"`},
		{`"name":"x"`, `"name":"x","default":"ask"`}, {`"name":"x"`, `"name":"x","default":"Deny"`},
		{`"name":"x"`, `"name":"x","id":"y"`},
		{`"id":"a"`, `"id":"default"`}, {`"id":"a"`, `"id":"Default"`}, {`"id":"a"`, `"id":".a"`},
		{`"id":"a"`, `"id":"a b"`},
		{`"id":"a"`, `"id":"` + strings.Repeat("a", 101) + `"`}, {`"id":"a",`, ``}, {`"id":"a"`, `"id":"a\n"`},
		{`"hold"`, `"deny"`}, {`"hold"`, `"HOLD"`}, {`"effect":"hold",`, ``},
		{`["a.b"]`, `[]`}, {`["a.b"]`, `["*"]`}, {`["a.b"]`, `["a"]`}, {`["a.b"]`, `["a."]`}, {`["a.b"]`, `["a.b.c"]`},
		{`["a.b"]`, `["a.\u00a0"]`},
		{`["a.b"]`, `["a.b","a.b"]`}, {`["a.b"]`, `["a.b","a.c"]`}, {`["a.b"]`, `["é.b"]`}, {`["a.b"]`, `["a.é"]`},
		{`["a.b"]`, `["*a*.*b*"]`},
		{`"limit"`, `"when":"true","limit"`}, {`"limit"`, `"when":"","limit"`}, {`"limit"`, `"when":"a\tb\nc","limit"`},
		{`"limit"`, `"when":"a\u0000","limit"`},
		{`"calls":1`, `"calls":0`}, {`"calls":1`, `"calls":"1"`}, {`"calls":1`, `"calls":1000000000000`},
		{`"calls":1`, `"calls":1000000000001`},
		{`"calls":1`, `"cost":1.25`}, {`"calls":1`, `"cost":"1.25"`}, {`"calls":1`, `"cost":0`},
		{`"calls":1`, `"cost":"0.0"`}, {`"calls":1`, `"cost":"1e3"`},
		{`"calls":1`, `"cost":1000000000`}, {`"calls":1`, `"cost":1000000001`}, {`"calls":1`, `"cost":".5"`},
		{`"calls":1`, `"tokens":5`},
		{`"calls":1`, `"tokens":5,"calls":5`}, {`"calls":1,`, ``}, {`"per":"1h"`, `"per":"1h","by":"org"`},
		{`"per":"1h"`, `"per":"1h","by":"me"`},
		{`"per":"1h"`, `"per":"0h"`}, {`"per":"1h"`, `"per":"7d"`}, {`"per":"1h"`, `"per":3600`},
		{`"per":"1h"`, `"per":"1.5h"`},
		{`"role":"admin"`, `"role":"viewer"`}, {`"role":"admin",`, ``}, {`"count":1`, `"count":10`},
		{`"count":1`, `"count":11`}, {`"count":1`, `"count":1,"x":1`},
		{`"approvers":{"role":"admin","count":1}`, `"approvers":null`},
		{`"approvers":{"role":"admin","count":1}`, `"message":"x"`},
	} {
		text := strings.Replace(good, c.old, c.new, 1)
		_, parsed := document.Parse([]byte(text), document.JSON)
		if valid := validate(t, schema, "x.json", []byte(text)); (valid == nil) != (parsed == nil) {
			t.Errorf("%s for %s: the parser says %v, the schema %v", c.new, c.old, parsed, valid)
		}
	}
}
