package writ_test

import (
	"strings"
	"testing"
)

// TestAStatementThatDoesNotHoldIsNotGood: whoever checks the certificate of an MCP server goes by the exit code.
func TestAStatementThatDoesNotHoldIsNotGood(t *testing.T) {
	t.Setenv("WRIT_ACCESS_TOKEN", "token")
	for statement, want := range map[string]string{
		`,"statement":{"definitions":"sha256:a","holds":true}`:  "",
		`,"statement":{"definitions":"sha256:a","holds":false}`: "does not hold",
		``: "", // of an agent
	} {
		server := newAsked(t, map[string]string{
			"POST /certificate/check": `{"status":"good","certificate":{"status":"good"` + statement + `}}`,
		})
		said, err := command(t, "cert", "check", askedID, "--organization", askedID, "--url", server.URL)
		if !strings.Contains(said, "good") || (err == nil) != (want == "") ||
			err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %s, %v", statement, said, err)
		}
	}
}
