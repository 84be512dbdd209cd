package webhook_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"writ/internal/notification/webhook"
	"writ/internal/secret"
)

const documentation = "../../../docs/notifications.md"

// snippet is the page's code in a language.
func snippet(t *testing.T, language string) string {
	t.Helper()
	text, err := os.ReadFile(documentation)
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```"+language+"\n(.*?)```").FindAllSubmatch(text, -1)
	if len(blocks) != 1 {
		t.Fatalf("the page has %d blocks of %s, want one", len(blocks), language)
	}
	return string(blocks[0][1])
}

// shown is a delivery that somebody shows to a verifier.
type displayURL struct{ Secret, Timestamp, Signature, Body string }

// TestPageVerifies runs the lines that the documentation tells receivers to use.
func TestPageVerifies(t *testing.T) {
	t.Parallel()
	key, body := secret.NewText("whsec_test"), `{"title":"é and \n"}`
	now, old := strconv.FormatInt(time.Now().Unix(), 10), strconv.FormatInt(time.Now().Add(-time.Hour).Unix(), 10)
	good := webhook.Sign(key, now, []byte(body))
	cases := []displayURL{
		{"whsec_test", now, good, body},
		{"whsec_test", now, good, body + " "},
		{"whsec_other", now, good, body},
		{"whsec_test", old, webhook.Sign(key, old, []byte(body)), body}, // recorded, and sent again
		{"whsec_test", old, good, body},
		{"whsec_test", now, strings.TrimPrefix(good, "v1="), body},
		{"whsec_test", now, "", body},
		{"whsec_test", "", webhook.Sign(key, "", []byte(body)), body},
		{"whsec_test", "soon", webhook.Sign(key, "soon", []byte(body)), body},
	}
	want := fmt.Sprint(append([]bool{true}, slices.Repeat([]bool{false}, len(cases)-1)...))
	input, err := json.Marshal(cases)
	if err != nil {
		t.Fatal(err)
	}
	for language, run := range map[string]func(t *testing.T) *exec.Cmd{"js": nodeVerifier, "go": goVerifier} {
		t.Run(language, func(t *testing.T) {
			t.Parallel()
			command := run(t)
			var problems bytes.Buffer
			command.Stdin, command.Stderr = bytes.NewReader(input), &problems
			output, err := command.Output()
			if err != nil {
				t.Fatalf("%v: %s", err, problems.String())
			}
			if diff := cmp.Diff(want, strings.TrimSpace(string(output))); diff != "" {
				t.Errorf("verified (-want +got):\n%s", diff)
			}
		})
	}
}

func nodeVerifier(t *testing.T) *exec.Cmd {
	t.Helper()
	program := snippet(t, "js") + `
const cases = JSON.parse(require("node:fs").readFileSync(0, "utf8"));
const verified = cases.map((c) => isFromWrit(c.Secret, {
  ...(c.Timestamp && { "writ-timestamp": c.Timestamp }), ...(c.Signature && { "writ-signature": c.Signature }),
}, Buffer.from(c.Body)));
console.log("[" + verified.join(" ") + "]");
`
	return exec.CommandContext(t.Context(), "node", write(t, "verify.cjs", program))
}

func goVerifier(t *testing.T) *exec.Cmd {
	t.Helper()
	program := `package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"time"
)

` + snippet(t, "go") + `
func main() {
	var cases []struct{ Secret, Timestamp, Signature, Body string }
	if err := json.NewDecoder(os.Stdin).Decode(&cases); err != nil {
		panic(err)
	}
	verified := []bool{}
	for _, c := range cases {
		header := http.Header{"Writ-Timestamp": {c.Timestamp}, "Writ-Signature": {c.Signature}}
		verified = append(verified, isFromWrit(c.Secret, header, []byte(c.Body)))
	}
	fmt.Println(verified)
}
`
	return exec.CommandContext(t.Context(), "go", "run", write(t, "verify.go", program))
}

func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestPageHasTheRoutes: every one of notifications and webhooks, and no other.
func TestPageHasTheRoutes(t *testing.T) {
	t.Parallel()
	routes := map[string]bool{}
	golden, err := os.ReadFile("../../api/testdata/routes.golden")
	if err != nil {
		t.Fatal(err)
	}
	for _, match := range regexp.MustCompile(`(?m)^(\w+) +(/notifications\S*|/organization/\{orgId\}/webhooks\S*) `).FindAllSubmatch(golden, -1) {
		routes[string(match[1])+" "+string(match[2])] = true
	}
	text, err := os.ReadFile(documentation)
	if err != nil {
		t.Fatal(err)
	}
	told := map[string]bool{}
	rows := regexp.MustCompile("(?m)^\\| `((?:GET|POST|PUT|PATCH|DELETE) [^`]+)` \\|")
	for _, match := range rows.FindAllSubmatch(text, -1) {
		told[string(match[1])] = true
	}
	if diff := cmp.Diff(routes, told); diff != "" || len(routes) < 16 {
		t.Errorf("the page tells of other routes than there are (-routes +page):\n%s", diff)
	}
}
