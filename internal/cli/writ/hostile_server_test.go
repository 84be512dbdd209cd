package writ_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"writ/internal/cli"
	"writ/internal/cli/writ"
)

// steering is put into every text of a hostile server.
const steering = "\x1b[2J\nforged\r\u202e\u009b\x07"

// documented answers as the published description says, with steering in every text of the answer.
type documented struct {
	routes  []documentedRoute
	schemas map[string]*schema
	// keepsWords: texts that choose what a command does, such as a status, stay as they are.
	keepsWords bool
}

type documentedRoute struct {
	method string
	path   *regexp.Regexp
	answer *schema
}

// schema is what the description says of a value, as far as it is needed to make one.
type schema struct {
	Ref                  string `json:"$ref"`
	Type                 any    // a text, or a list of texts
	Format               string
	Enum                 []any
	Properties           map[string]*schema
	Items                *schema
	AdditionalProperties json.RawMessage
	AnyOf, OneOf, AllOf  []*schema
}

func readDocumented(t *testing.T) *documented {
	t.Helper()
	text, err := os.ReadFile("../../../web/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	var document struct {
		Paths map[string]map[string]struct {
			Responses map[string]struct {
				Content map[string]struct{ Schema *schema }
			}
		}
		Components struct{ Schemas map[string]*schema }
	}
	if err := json.Unmarshal(text, &document); err != nil {
		t.Fatal(err)
	}
	d := &documented{schemas: document.Components.Schemas}
	for path, operations := range document.Paths {
		pattern := regexp.MustCompile(`\\\{\w+\\\}`).ReplaceAllString(regexp.QuoteMeta(path), `[^/]+`)
		for method, operation := range operations {
			for status, response := range operation.Responses {
				if answer := response.Content["application/json"].Schema; status[0] == '2' && answer != nil {
					d.routes = append(d.routes, documentedRoute{
						strings.ToUpper(method), regexp.MustCompile("^" + pattern + "$"), answer,
					})
				}
			}
		}
	}
	if len(d.routes) < 250 {
		t.Fatalf("%d routes answer with JSON", len(d.routes))
	}
	return d
}

// deepest is how deep values are made that hold their like.
const deepest = 7

// hostile is a value of a schema with steering in all texts, but for times, which no other text could be.
func (d *documented) hostile(of *schema, depth int) any {
	name, found := strings.CutPrefix(of.Ref, "#/components/schemas/")
	kind, _ := of.Type.(string)
	if kinds, ok := of.Type.([]any); ok && len(kinds) > 0 {
		kind, _ = kinds[0].(string)
	}
	switch {
	case depth > deepest:
		return nil
	case found:
		return d.hostile(d.schemas[name], depth)
	case len(of.AnyOf)+len(of.OneOf)+len(of.AllOf) > 0:
		return d.hostile(slices.Concat(of.AnyOf, of.OneOf, of.AllOf)[0], depth)
	case kind == "object" || of.Properties != nil:
		made := map[string]any{}
		for name, member := range of.Properties {
			made[name] = d.hostile(member, depth+1)
		}
		if len(of.Properties) == 0 {
			made["name"+steering] = "value" + steering
		}
		return made
	case kind == "array":
		return []any{d.hostile(of.Items, depth+1)}
	case kind == "integer" || kind == "number":
		return 1
	case kind == "boolean":
		return true
	case of.Format == "date-time":
		return "2030-01-02T03:04:05Z"
	case len(of.Enum) > 0 && d.keepsWords:
		return of.Enum[0]
	}
	return "text" + steering
}

func (d *documented) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	for _, known := range d.routes {
		if known.method == r.Method && known.path.MatchString(r.URL.Path) {
			answer := d.hostile(known.answer, 0)
			if page, ok := answer.(map[string]any); ok && r.URL.Query().Has("cursor") {
				page["hasMore"], page["nextCursor"] = false, ""
			}
			_ = json.NewEncoder(w).Encode(answer)
			return
		}
	}
	refuse(w, r)
}

// refuse refuses whatever is asked.
func refuse(w http.ResponseWriter, _ *http.Request) {
	w.WriteHeader(http.StatusConflict)
	_ = json.NewEncoder(w).Encode(map[string]any{
		"statusCode": 409, "error": "Conflict" + steering, "message": "no" + steering,
		"details": []any{
			map[string]any{"field": "a" + steering, "message": "b" + steering},
			map[string]any{"field": "c" + steering, "message": "d" + steering},
		},
	})
}

const askedID = "0199d1c2-7a54-7c1e-9b7e-2f6a4c1d8e30"

// asking is every command that shows what a server says, without the files that they read.
const asking = `orgs; switch X; keys list; keys create --name n; keys rotate ID; keys revoke ID; status; whoami; token;
approvals list; approvals show ID; approvals approve ID; approvals reject ID --note n; approvals standing;
approvals revoke ID; approvals watch --count 1;
agents list; agents show bot; agents register bot; agents leases; members list; members invite a@example.org;
members role ID admin; members remove ID; invites list; invites withdraw ID; invites accept inv_x;
webhooks list; webhooks show ID; webhooks create --name n --url https://hooks.example.com/x; webhooks deliveries ID;
webhooks enable ID; webhooks disable ID; webhooks test ID; webhooks remove ID;
decisions list; decisions show 7; sessions list; sessions show ID; traces list; traces show ID;
search harbour; mcp list; mcp show bank; mcp health bank; mcp telemetry bank; mcp vulnerabilities bank;
mcp vulnerabilities bank --scan; mcp refresh bank; mcp approve bank; mcp deny bank --reason r; mcp remove bank;
mcp register bank --url https://bank.example/mcp; mcp accept bank pay --reason r; mcp connect bank; mcp connections;
mcp disconnect ID; cert list; cert check ID; cert issue --agent bot; cert revoke ID --reason r; cert rotate ID;
trust show ID; trust revoke ID; audit checkpoint; audit key; audit export; kill list; kill bot --reason r; revive bot --reason r;
kill --scope server bank --reason r; plan list; plan show ID; plan proof ID 0; plan declare plan.json; check bank.pay;
policy list; policy show ID; policy activate ID; policy deactivate ID; policy rollback ID 1;
policy bind ID --everybody; policy push policy.yaml; policy push policy.yaml --activate; policy replay policy.yaml;
policy shadow list; policy shadow start ID; policy shadow stop ID; policy shadow show ID; policy suggest bot;
policy suggest --agent bot; guard yes; guard no; guard yes ID; guard no ID; guard list; guard template;
manifest apply writ.yaml`

// TestAHostileServerSteersNoTerminal runs every command against a server that puts what steers a terminal into every
// text of its answers and of its refusals. No command shows it, nor a line that the server made up.
func TestAHostileServerSteersNoTerminal(t *testing.T) {
	all, polite := readDocumented(t), readDocumented(t)
	polite.keepsWords = true
	dir := t.TempDir()
	t.Chdir(dir)
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(dir, "config"))
	for name, text := range map[string]string{
		"plan.json":   `{"goal":"g","steps":[{"action":"pay","mcp":"bank"}]}`,
		"policy.yaml": "version: v1\nname: n\nrules: []\n",
		"writ.yaml":   "version: v1\n",
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	shown := 0
	for kind, server := range map[string]http.Handler{
		"all texts": all, "all but words": polite, "refusals": http.HandlerFunc(refuse),
	} {
		served := httptest.NewServer(server)
		t.Cleanup(served.Close)
		t.Setenv("WRIT_URL", served.URL)
		t.Setenv("WRIT_ACCESS_TOKEN", "token")
		t.Setenv("WRIT_API_KEY", "ak_test_0123456789abcdef0123456789abcdef")
		for words := range strings.SplitSeq(asking, ";") {
			words = strings.ReplaceAll(strings.TrimSpace(words), "ID", askedID)
			said, err := saidBy(t, strings.Fields(words))
			if err == nil && said != "" {
				shown++
			}
			severalLines := words == "audit checkpoint" || words == "audit key"
			if strings.Contains(said, "\nforged") && !severalLines || strings.ContainsFunc(said, steers) {
				t.Errorf("%s, %s: %q", kind, words, said)
			}
		}
	}
	if shown < 100 {
		t.Errorf("%d commands have shown something", shown)
	}
}

// saidBy is all that a command writes, and how the program would write its error.
func saidBy(t *testing.T, args []string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	var out bytes.Buffer
	err := writ.Run(ctx, args, cli.Streams{In: strings.NewReader("y\n"), Out: &out, Err: &out})
	if err != nil {
		_, _ = io.WriteString(&out, cli.Shown(err))
	}
	return out.String(), err
}
