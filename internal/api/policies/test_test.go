package policies_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"writ/client"
	"writ/internal/testserver"
)

const testedPolicy = `version: v1
name: refunds
default: deny
rules:
  - id: small
    effect: allow
    tools: [shop.refund]
    when: amount(args) <= 50
`

func aTest(name, want string, amount int) string {
	return fmt.Sprintf("  - name: %s\n    call: {server: shop, tool: refund, arguments: {amount: %d}}\n    want: {decision: %s}\n",
		name, amount, want)
}

// TestTestsOfADocument: they run against what is sent, stored or not, and say where they fail.
func TestTestsOfADocument(t *testing.T) {
	t.Parallel()
	testserver.EachOrg(t, func(t *testing.T, o *testserver.Org) {
		ctx := t.Context()
		run := func(tests string) (client.PolicyTestResults, error) {
			return o.Owner.TestPolicy(ctx, o.ID, client.PolicyTests{YAML: testedPolicy, Tests: tests})
		}
		got, err := run("policy: any.yaml\ntests:\n" + aTest("small ones run", "allow", 20) +
			aTest("large ones wait", "hold", 90))
		if err != nil || got.Passed || len(got.Results) != 2 {
			t.Fatalf("%+v, %v", got, err)
		}
		if r := got.Results[0]; !r.Passed || r.Decision != "allow" || r.Rule != "small" || r.Line != 3 {
			t.Errorf("the first: %+v", r)
		}
		r := got.Results[1]
		if r.Passed || r.Want != "hold" || r.Decision != "deny" || r.Rule != "default" || r.Line != 6 ||
			len(r.Failures) != 1 || !strings.Contains(r.Failures[0], `decision is "deny", want "hold"`) {
			t.Errorf("the second: %+v", r)
		}
		for name, tests := range map[string]string{
			"which stands for the document": "policies: [a.yaml, b.yaml]\ntests:\n" + aTest("a", "allow", 1),
			"must be the name of a file":    "policy: {version: v1, name: x, default: allow, rules: []}\ntests:\n" + aTest("a", "allow", 1),
			"policy must be the name":       "policies: [a.yaml, b.yaml]\ntests:\n" + aTest("a", "allow", 1),
			"must be at most 500 tests":     "policy: a.yaml\ntests:\n" + manyTests(501),
			"must hold at least one test":   "policy: a.yaml\ntests: []\n",
			"3:5: tests[0].wnt":             "policy: a.yaml\ntests:\n  - wnt: {}\n    name: x\n",
			"must be a path relative":       "policy: /etc/passwd\ntests:\n" + aTest("a", "allow", 1),
			"expected length <= 262144":     strings.Repeat("#", 262145),
		} {
			_, err := run(tests)
			if client.StatusOf(err) != http.StatusBadRequest || !strings.Contains(err.Error(), name) {
				t.Errorf("want %q: %v", name, err)
			}
		}
		if _, err := o.Owner.TestPolicy(ctx, o.ID, client.PolicyTests{YAML: "version: v2", Tests: "x"}); client.
			StatusOf(err) != http.StatusBadRequest || !strings.Contains(err.Error(), "name: line 1") {
			t.Errorf("a document that is not valid: %v", err)
		}
	})
}

func manyTests(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(aTest(fmt.Sprintf("t%d", i), "allow", 1))
	}
	return b.String()
}

// TestADocumentIsExplained: what people read before they activate it is made from its rules.
func TestADocumentIsExplained(t *testing.T) {
	t.Parallel()
	testserver.EachOrg(t, func(t *testing.T, o *testserver.Org) {
		want := "small: allow for shop.refund, when amount(args) \\u003c= 50."
		id := o.Draft(o.Owner, o.ID, "other")
		owner := append(testserver.Credentials(o.Owner.Client), "Content-Type", "application/yaml")
		valid := o.Request(t, "POST", "/policies/validate?organizationId="+o.ID, testedPolicy, owner...)
		written := o.Request(t, "PUT", "/policies/"+id, testedPolicy, owner...)
		read := o.Request(t, "GET", "/policies/"+id, "", owner...)
		for name, got := range map[string][]byte{"valid": valid.Body, "written": written.Body, "read": read.Body} {
			if !strings.Contains(strings.ReplaceAll(string(got), "<", "\\u003c"), want) {
				t.Errorf("%s: %s", name, got)
			}
		}
		broad := o.Request(t, "POST", "/policies/validate?organizationId="+o.ID,
			strings.Replace(testedPolicy, "deny", "allow", 1), owner...)
		if found := string(broad.Body); !strings.Contains(found, `"kind":"over_broad"`) ||
			!strings.Contains(found, `"fix":"`) {
			t.Errorf("a default that allows is not found: %s", broad.Body)
		}
	})
}

// TestWhatWasSeenIsChanged: of two people who change what is active at once, the second is told so.
func TestWhatWasSeenIsChanged(t *testing.T) {
	t.Parallel()
	testserver.EachOrg(t, func(t *testing.T, o *testserver.Org) {
		id := o.ActivePolicy(o.Owner, o.ID, testserver.PolicyText("pay", "deny"))
		for _, effect := range []string{"allow", "hold"} {
			if _, err := o.Owner.UpdatePolicy(t.Context(), id, client.YAMLDocument,
				testserver.PolicyText("pay", effect), 0); err != nil {
				t.Fatal(err)
			}
		}
		owner := testserver.Credentials(o.Owner.Client)
		for _, c := range []struct {
			act, body string
			status    int
			says      string
		}{
			{"activate", `{"version":2,"ifActive":0}`, 409, "version 1 is active by now"},
			{"activate", `{"version":2,"ifActive":1}`, 200, `"activeVersion":2`},
			{"activate", `{"version":3,"ifActive":1}`, 409, "version 2 is active by now"},
			{"rollback", `{"version":1,"ifActive":1}`, 409, "version 2 is active by now"},
			{"deactivate", `{"ifActive":1}`, 409, "version 2 is active by now"},
			{"rollback", `{"version":1,"ifActive":2}`, 200, `"activeVersion":4`},
			{"deactivate", `{"ifActive":4}`, 200, `"activeVersion":null`},
			{"deactivate", `{"ifActive":4}`, 409, "not active any more"},
			{"activate", `{"version":3,"ifActive":-1}`, 400, "ifActive"},
			{"deactivate", ``, 200, `"activeVersion":null`},
		} {
			got := o.Request(t, "POST", "/policies/"+id+"/"+c.act, c.body, owner...)
			if got.Status != c.status || !strings.Contains(string(got.Body), c.says) {
				t.Errorf("%s %s: %d %s, want %d with %q", c.act, c.body, got.Status, got.Body, c.status, c.says)
			}
		}
	})
}

// TestBindingsThatWereSeenAreReplaced: what somebody else has bound meanwhile stays.
func TestBindingsThatWereSeenAreReplaced(t *testing.T) {
	t.Parallel()
	testserver.EachOrg(t, func(t *testing.T, o *testserver.Org) {
		id := o.Draft(o.Owner, o.ID, "pay")
		owner := testserver.Credentials(o.Owner.Client)
		for _, c := range []struct {
			body   string
			status int
			says   string
		}{
			{`{"roles":["admin"],"replaces":{}}`, 200, `"roles":["admin"]`},
			{`{"roles":["viewer"],"replaces":{}}`, 409, "other bindings by now"},
			{`{"roles":["viewer"],"replaces":{"roles":["admin","viewer"]}}`, 409, "other bindings by now"},
			{`{"clients":["b","a"],"roles":["viewer"],"replaces":{"roles":["admin"]}}`, 200, `"clients":["a","b"]`},
			{`{"everybody":true,"replaces":{"clients":["b","a","a"],"roles":["viewer"]}}`, 200, `"roles":[]`},
			{`{"roles":["owner"]}`, 200, `"roles":["owner"]`},
		} {
			got := o.Request(t, "PUT", "/policies/"+id+"/bindings", c.body, owner...)
			if got.Status != c.status || !strings.Contains(string(got.Body), c.says) {
				t.Errorf("%s: %d %s, want %d with %q", c.body, got.Status, got.Body, c.status, c.says)
			}
		}
	})
}
