package manifest_test

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"writ/internal/manifest"
	"writ/internal/node"
)

var update = flag.Bool("update", false, "write what is found as what is wanted")

// variables is the environment of the corpus.
func variables(name string) (string, bool) {
	value, ok := map[string]string{
		"KEY":   "ak_test_0123456789abcdef",
		"LIVE":  "ak_live_0123456789abcdef",
		"TOKEN": "t0ken",
		"HOST":  "proxy.example.com",
		"URL":   "https://a.example.com/mcp",
		"AGENT": "billing",
		"WORDS": "not an id or a URL",
		"EMPTY": "",
	}[name]
	return value, ok
}

// document is one manifest of the corpus, and what is said of it.
type document struct {
	name, text, said string
}

// eachDocument runs check for every document of a file of the corpus. With -update,
// what check returns is written beside the document.
func eachDocument(t *testing.T, file string, least int, check func(d document) (said string)) {
	t.Helper()
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	said := map[string]string{}
	for _, f := range archive.Files {
		if name, ok := strings.CutSuffix(f.Name, ".said"); ok {
			said[name] = string(f.Data)
		}
	}
	count := 0
	updated := &txtar.Archive{Comment: archive.Comment}
	for _, f := range archive.Files {
		if strings.HasSuffix(f.Name, ".said") {
			continue
		}
		count++
		got := check(document{name: f.Name, text: string(f.Data), said: said[f.Name]})
		updated.Files = append(updated.Files, f)
		if got != "" {
			updated.Files = append(updated.Files, txtar.File{Name: f.Name + ".said", Data: []byte(got)})
		}
		if diff := cmp.Diff(said[f.Name], got); diff != "" && !*update {
			t.Errorf("%s: (-want +got)\n%s", f.Name, diff)
		}
	}
	if count < least {
		t.Errorf("%s has %d documents, want at least %d", file, count, least)
	}
	if *update {
		if err := os.WriteFile(file, txtar.Format(updated), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func lines(problems []manifest.Problem) string {
	var b strings.Builder
	for _, p := range problems {
		b.WriteString(p.String() + "\n")
	}
	return b.String()
}

func TestManifestsThatAreTaken(t *testing.T) {
	t.Parallel()
	schema := compileSchema(t)
	eachDocument(t, "testdata/good.txtar", 45, func(d document) string {
		format := manifest.FormatOf(d.name, []byte(d.text))
		_, warnings, err := manifest.Read([]byte(d.text), format, variables)
		if err != nil {
			t.Errorf("%s: %v", d.name, err)
		}
		if err := schema.Validate(instance(t, []byte(d.text), format)); err != nil {
			t.Errorf("%s: the schema refuses it: %v", d.name, err)
		}
		return lines(warnings)
	})
}

func TestManifestsThatAreRefused(t *testing.T) {
	t.Parallel()
	schema := compileSchema(t)
	eachDocument(t, "testdata/bad.txtar", 100, func(d document) string {
		format := manifest.FormatOf(d.name, []byte(d.text))
		_, _, err := manifest.Read([]byte(d.text), format, variables)
		invalid, ok := errors.AsType[*manifest.Invalid](err)
		if !ok {
			t.Errorf("%s: err = %v, want problems", d.name, err)
			return ""
		}
		if value := instance(t, []byte(d.text), format); value != unreadable {
			silent := strings.HasPrefix(d.text, "# schema: silent\n")
			if err := schema.Validate(value); (err == nil) != silent {
				t.Errorf("%s: the schema says %v; silent is wanted: %v", d.name, err, silent)
			}
		}
		for _, secret := range []string{"t0ken", "ak_test_", "ak_live_", "not an id"} {
			if strings.Contains(lines(invalid.Problems), secret) {
				t.Errorf("%s: the problems tell the value of a variable", d.name)
			}
		}
		return lines(invalid.Problems)
	})
}

func compileSchema(t testing.TB) *jsonschema.Schema {
	t.Helper()
	source, err := jsonschema.UnmarshalJSON(bytes.NewReader(manifest.Schema()))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("manifest.json", source); err != nil {
		t.Fatal(err)
	}
	schema, err := compiler.Compile("manifest.json")
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

// unreadable is the instance of a text that is neither YAML nor JSON.
var unreadable any = struct{}{}

// instance is a document as a schema sees it.
func instance(t testing.TB, text []byte, format manifest.Format) any {
	t.Helper()
	parse := node.ReadYAML
	if format == manifest.JSON {
		parse = node.ReadJSON
	}
	root, problems := parse(text)
	if len(problems) > 0 {
		return unreadable
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(node.Read(root, nil).JSON()))
	if err != nil {
		t.Fatal(err)
	}
	return value
}

func TestDefaults(t *testing.T) {
	t.Parallel()
	m, _, err := manifest.Read([]byte(`
version: v1
identity: {api_key: $KEY, user_id: w, agent_id: $AGENT}
mcp_servers:
  - {id: a, url: "https://a.example.com", auth: {type: api_key, api_key: "${TOKEN}"}}
  - {id: b, url: "$URL"}
`), manifest.YAML, variables)
	if err != nil {
		t.Fatal(err)
	}
	if m.Identity.APIKey.Reveal() != "ak_test_0123456789abcdef" || m.Identity.AgentID != "billing" {
		t.Errorf("identity = %+v, want the values of the variables", m.Identity)
	}
	if m.Environment != "sandbox" || m.StatesEnvironment || !m.RequireProofs || m.PlanLife != 300*time.Second {
		t.Errorf("manifest = %+v, want the defaults of the specification", m)
	}
	if m.Proxy != (manifest.Proxy{Timeout: 30 * time.Second, MaxRetries: 3}) {
		t.Errorf("proxy = %+v, want a timeout of 30 s and 3 retries", m.Proxy)
	}
	if a := m.Servers[0].Auth; a.Header != "X-API-Key" || a.Secret.Reveal() != "t0ken" {
		t.Errorf("auth of a = %+v (header %q), want the default header", a, a.Header)
	}
	if b := m.Servers[1]; b.Auth.Type != manifest.NoAuth || b.URL != "https://a.example.com/mcp" {
		t.Errorf("b = %+v, want no credentials and the variable's URL", b)
	}
}

// What published clients send differs from the schema in three ways.
func TestReadSent(t *testing.T) {
	t.Parallel()
	m, _, err := manifest.ReadSent([]byte(`{
		"version": "v1",
		"identity": {"api_key": "$WRIT_API_KEY", "user_id": "w", "agent_id": "a"},
		"environment": null, "proxy": null, "policy": {"allow": null, "deny": ["s.drop"]},
		"mcp_servers": [
			{"id": "s", "url": "https://s.example.com", "description": null, "auth": "none"},
			{"id": "t", "url": "$URL", "auth": null}
		]
	}`))
	if err != nil {
		t.Fatal(err)
	}
	if m.Identity.APIKey.Reveal() != "$WRIT_API_KEY" || m.Servers[1].URL != "$URL" {
		t.Errorf("manifest = %+v, want its variables as they were sent", m)
	}
	if m.StatesEnvironment || len(m.Allow) != 0 || len(m.Deny) != 1 {
		t.Errorf("manifest = %+v, want null to mean absent", m)
	}
	for token, warned := range map[string]bool{"[redacted]": false, "tok-123": true} {
		_, warnings, err := manifest.ReadSent([]byte(`{
			"version": "v1", "identity": {"api_key": "$WRIT_API_KEY", "user_id": "w", "agent_id": "a"},
			"mcp_servers": [
				{"id": "s", "url": "https://s.example.com", "auth": {"type": "bearer", "token": "` + token + `"}}
			]}`))
		if err != nil || (len(warnings) > 0) != warned {
			t.Errorf("%s: %v, %v", token, warnings, err)
		}
	}
	_, _, err = manifest.ReadSent([]byte(`{"version": "v1", "identity": {"api_key": "k", "user_id": "w", "agent_id": "a"},
		"mcp_servers": [{"id": "s", "url": "https://s.example.com", "auth": "bearer"}]}`))
	if err == nil {
		t.Error("credentials of the word bearer were taken")
	}
}
