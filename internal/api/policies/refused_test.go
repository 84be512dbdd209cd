package policies_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"writ/client"
	"writ/internal/testserver"
)

// TestDocumentsThatAreRefused sends what is no policy to every route that takes
// one, in both forms.
func TestDocumentsThatAreRefused(t *testing.T) {
	t.Parallel()
	testserver.EachOrg(t, func(t *testing.T, b *testserver.Org) {
		id := b.Draft(b.Owner, b.ID, "pay")
		me := testserver.Credentials(b.Owner.Client)
		const rule = `"rules":[{"id":"r","effect":"deny","tools":["*"]`
		cases := []struct {
			name, kind, text string
			status           int
			field, says      string
		}{
			{"nothing", "application/json", "", 400, "", ""},
			{"no JSON", "application/json", `{"version":`, 400, "document", "line 1"},
			{"a list", "application/json", `[]`, 400, "document", ""},
			{"null", "application/json", `null`, 400, "document", ""},
			{
				"a member twice", "application/json", `{"version":"v1","name":"a","name":"b","rules":[]}`, 400, "",
				"line 1, column 28",
			},
			{
				"an unknown member", "application/json", `{"version":"v1","name":"a","rules":[],"roles":[]}`, 400,
				"roles", "line 1",
			},
			{"a member in another case", "application/json", `{"version":"v1","Name":"a","rules":[]}`, 400, "", ""},
			{
				"what an answer adds", "application/json", `{"version":"v1","name":"a","rules":[],"policyVersion":1}`,
				400, "policyVersion", "",
			},
			{
				"an unknown effect", "application/json",
				`{"version":"v1","name":"a","rules":[{"id":"r","effect":"permit","tools":["*"]}]}`, 400,
				"rules[0].effect", "rule r",
			},
			{
				"a condition of another type", "application/json",
				`{"version":"v1","name":"a",` + rule + `,"when":"1 + 1"}]}`, 400, "rules[0].when", "rule r",
			},
			{
				"a condition that does not parse", "application/yaml",
				"version: v1\nname: a\nrules:\n  - id: r\n    effect: deny\n    tools: [\"*\"]\n    when: args.x ==\n",
				400, "rules[0].when", "line 7, column",
			},
			{
				"invalid UTF-8", "application/json", "{\"version\":\"v1\",\"name\":\"\xff\",\"rules\":[]}", 400,
				"document", "UTF-8",
			},
			{"NUL", "application/yaml", "version: v1\nname: a\x00\nrules: []\n", 400, "document", "NUL"},
			{"depth", "application/json", strings.Repeat(`{"rules":[`, 50_000), 400, "", ""},
			{"deep YAML", "application/yaml", strings.Repeat("[", 50_000), 400, "", ""},
			{
				"a bomb of aliases", "application/yaml",
				"a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nversion: *c\n",
				400, "", "",
			},
			{"a form", "application/x-www-form-urlencoded", "version=v1", 400, "", ""},
			{"a form of parts", "multipart/form-data; boundary=x", "--x--", 400, "", ""},
			{"plain text", "text/plain", paymentsYAML, 400, "", ""},
			{"YAML that says it is JSON", "application/json", paymentsYAML, 400, "document", "line 1"},
			{"too large", "application/yaml", strings.Repeat("#", 2<<20), 413, "", ""},
		}
		before := b.Dump()
		for _, route := range []string{
			"POST /policies", "POST /policies/validate", "POST /policies/yaml/import", "PUT /policies/" + id,
			"PATCH /policies/" + id,
		} {
			method, path, _ := strings.Cut(route, " ")
			for _, c := range cases {
				answer := b.Request(t, method, path+"?organizationId="+b.ID, c.text, append(me, "Content-Type",
					c.kind)...)
				if answer.Status != c.status {
					t.Errorf("%s, %s: status %d, want %d: %.300s", route, c.name, answer.Status, c.status, answer.Body)
					continue
				}
				fields := answer.ErrorFields(t, c.status)
				if c.field != "" && !slices.Contains(fields, c.field) {
					t.Errorf("%s, %s: complains of %q, want %q: %.300s", route, c.name, fields, c.field, answer.Body)
				}
				if !strings.Contains(string(answer.Body), c.says) {
					t.Errorf("%s, %s: does not say %q: %.300s", route, c.name, c.says, answer.Body)
				}
			}
		}
		if diff := cmp.Diff(before, b.Dump()); diff != "" {
			t.Errorf("something was stored (-before +after):\n%s", diff)
		}
	})
}

// TestEveryProblemAtOnce: the author of a policy is told all of it.
func TestEveryProblemAtOnce(t *testing.T) {
	t.Parallel()
	testserver.EachOrg(t, func(t *testing.T, b *testserver.Org) {
		text := "version: v1\nname: a\nrules:\n  - id: one\n    effect: permit\n    tools: [\"*\"]\n  - id: two\n    effect: deny\n    tools: [\"a b\"]\n    colour: red\n"
		answer := b.Request(t, "POST", "/policies/validate", text, append(testserver.Credentials(b.Owner.Client),
			"Content-Type",
			client.YAMLDocument)...)
		fields := answer.ErrorFields(t, http.StatusBadRequest)
		for _, want := range []string{"rules[0].effect", "rules[1].tools[0]", "rules[1].colour"} {
			if !slices.Contains(fields, want) {
				t.Errorf("complains of %q, want also %q: %s", fields, want, answer.Body)
			}
		}
		for _, want := range []string{"line 5, column", "rule one", "line 10, column", "rule two"} {
			if !strings.Contains(string(answer.Body), want) {
				t.Errorf("does not say %q: %s", want, answer.Body)
			}
		}
	})
}
