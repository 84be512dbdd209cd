package writ_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"writ/internal/cli"
	"writ/internal/cli/writ"
)

// Without writd a server checks policies, with the key that counts; and the help says what there is.
func TestChecksWithoutWritd(t *testing.T) {
	asked := ""
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		asked += fmt.Sprintln(r.Method, r.URL.Path, r.Header.Get("x-api-key"), len(body) > 0)
		if r.URL.Path == "/policies/test" {
			fmt.Fprint(w, `{"passed": true, "results": [{"name": "pays", "line": 3, "passed": true}]}`)
			return
		}
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprint(w, `{"message": "bad", "details": [{"field": "rules[0].effect",
			"message": "line 5, column 13, rule pay\u001b: must be allow"}]}`)
	}))
	defer server.Close()
	folder := t.TempDir()
	t.Setenv("PATH", folder) // writd is not on it, nor beside the program of this test
	t.Setenv("XDG_CONFIG_HOME", folder)
	t.Setenv("WRIT_URL", server.URL)
	t.Setenv("WRIT_API_KEY", "ak_test_ci")
	t.Setenv("WRIT_ACCESS_TOKEN", "")
	policy, tests := filepath.Join(folder, "p.yaml"), filepath.Join(folder, "p.test.yaml")
	for file, text := range map[string]string{policy: "version: v1\n", tests: "policy: p.yaml\ntests: []\n"} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		args  []string
		fails bool
		want  string
	}{
		{[]string{"policy", "lint", policy}, true, policy + ":5:13: rule pay\uFFFD: effect: must be allow\n"},
		{[]string{"policy", "test", tests}, false, "1 passed, 0 failed\n"},
		{[]string{"policy"}, false, "  activate    Put a policy in force"},
		{[]string{"policy", "bind", "--help"}, false, "clients by the id of an API key"},
		{[]string{"policy", "bind", "--help"}, false, "a binding to an agent's name only restricts"},
		{[]string{"policy", "explain", policy}, true, ""},
	} {
		var out, said bytes.Buffer
		err := writ.Run(t.Context(), c.args, cli.Streams{In: strings.NewReader(""), Out: &out, Err: &said})
		if (err != nil) != c.fails || !strings.Contains(out.String(), c.want) {
			t.Errorf("%q prints %q, %v; want %q", c.args, out.String(), err, c.want)
		}
	}
	want := "POST /policies/validate ak_test_ci true\nPOST /policies/test ak_test_ci true\n"
	if asked != want {
		t.Errorf("asked %q, want %q", asked, want)
	}
}

// A key that the server does not accept is named by where it is.
func TestCheckWithABadKey(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusUnauthorized)
		fmt.Fprint(w, `{"message": "the API key is not valid"}`)
	}))
	defer server.Close()
	folder := t.TempDir()
	t.Setenv("PATH", folder)
	t.Setenv("XDG_CONFIG_HOME", folder)
	policy := filepath.Join(folder, "p.yaml")
	if err := os.WriteFile(policy, []byte("version: v1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for variable, want := range map[string]string{
		"WRIT_API_KEY": "sign in again with writ login, or mend the key in WRIT_API_KEY",
		"WRIT_ACCESS_TOKEN": "the access token of WRIT_ACCESS_TOKEN was refused: " +
			"give a new one there, or none and sign in with writ login",
	} {
		t.Setenv("WRIT_API_KEY", "")
		t.Setenv("WRIT_ACCESS_TOKEN", "")
		t.Setenv(variable, "ak_bad")
		err := writ.Run(t.Context(), []string{"policy", "lint", "--url", server.URL, policy},
			cli.Streams{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard})
		if err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("with %s: %v, want %q", variable, err, want)
		}
	}
}
