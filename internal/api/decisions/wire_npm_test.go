package decisions_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"writ/internal/testserver"
)

// TestPublishedClient drives the client that npm has, version 0.2.6, through
// health, token and verifyToken, unchanged. It needs Node; the client is installed
// by its lock file when it is absent.
func TestPublishedClient(t *testing.T) {
	t.Parallel()
	install := exec.CommandContext(t.Context(), "../../../scripts/published-client")
	var complaint bytes.Buffer
	install.Stderr = &complaint
	folder, err := install.Output()
	if err != nil {
		t.Fatalf("install the published client: %v\n%s", err, complaint.String())
	}
	testserver.EachPublished(t, func(t *testing.T, w *testserver.Published) {
		node := exec.CommandContext(t.Context(), "node", filepath.Join("testdata", "npm", "client.cjs"))
		node.Env = append(os.Environ(), "NODE_PATH="+filepath.Join(strings.TrimSpace(string(folder)), "node_modules"),
			"SERVER="+w.Public.BaseURL, "KEY="+w.Key, "NO_PROXY=*", "no_proxy=*")
		var errors bytes.Buffer
		node.Stderr = &errors
		output, err := node.Output()
		if err != nil {
			t.Fatalf("the client failed: %v\n%s%s", err, output, errors.String())
		}
		lines := strings.Split(strings.TrimSpace(string(output)), "\n")
		var got m
		if err := json.Unmarshal([]byte(lines[len(lines)-1]), &got); err != nil {
			t.Fatalf("the client said %q: %v", output, err)
		}
		if got["health"] != 200.0 || got["verified"] != true {
			t.Errorf("health %v, verified %v", got["health"], got["verified"])
		}
		testserver.WantTypes(t, "the client's token", got, map[string]string{
			"token.tokenId": "text", "token.planHash": "text", "token.signature": "text", "token.issuedAt": "number",
			"token.expiresAt":  "number",
			"token.stepProofs": "array", "token.rawToken.plan": "object", "token.rawToken.token": "object",
			"token.rawToken.merkle_root": "text",
		})
		// What it would send to be decided, which has no plan_id.
		body := testserver.JSON(t, m{
			"tool": "search", "arguments": m{"q": "x"}, "intent_token": got["token"].(map[string]any)["rawToken"],
		})
		if _, answer := w.Call("/iap/sdk/enforce", body, w.SDK()...); answer["allowed"] != true {
			t.Errorf("a call with the client's own token: %v", answer)
		}
	})
}
