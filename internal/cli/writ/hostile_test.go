package writ_test

import (
	"strings"
	"testing"
	"time"
)

// What a server says must not steer the terminal, nor look like a line of ours.
func TestNoCommandShowsControlCharacters(t *testing.T) {
	t.Setenv("WRIT_API_KEY", "ak_test_0123456789abcdef0123456789abcdef")
	answers := map[string]string{
		"/iap/sdk/orgs": `{"data":[{"name":"n\u001b[2J\n*  forged","orgId":"o\u202e","userRole":"r\t\u0007","memberCount":3}]}`,
		"/api-keys":     `{"data":[{"id":"i\r","name":"n\n*  forged","status":"s\u001b","prefix":"p\u009b","scopes":["a\n","b"]}]}`,
	}
	out, err := run(t, answers, "orgs")
	if want := "   ID  NAME           ROLE  MEMBERS\n   o\uFFFD  n\uFFFD[2J\uFFFD*  forged  r\uFFFD\uFFFD   3\n"; err != nil || squeezed(out) != squeezed(want) {
		t.Errorf("orgs: %q, %v, want %q", out, err, want)
	}
	out, err = run(t, answers, "keys", "list")
	if want := " ID NAME STATUS KEY USED SCOPES\n i\uFFFD n\uFFFD* forged s\uFFFD p\uFFFD… never a\uFFFD b\n"; err != nil || squeezed(out) != squeezed(want) {
		t.Errorf("keys list: %q, %v, want %q", out, err, want)
	}
}

// A key's id is what the server called it when it made the key.
func TestSwitchShowsNoControlCharacters(t *testing.T) {
	hostile := newAsked(t, map[string]string{
		"POST /iap/sdk/switch-org": `{"api_key":"ak_test_next","org_id":"o2","org_name":"Two"}`,
		"GET /api-keys/current":    `{"id":"k2","ownerId":"u2","organizationId":"o2"}`,
		"GET /iap/sdk/orgs":        `{"data":[]}`,
	})
	store := signedInTo(t, hostile.URL, time.Hour)
	before, err := store.Read()
	if err != nil {
		t.Fatal(err)
	}
	before.KeyID = "k\x1b[2J\nforged"
	if err := store.Save(before); err != nil {
		t.Fatal(err)
	}
	said, err := command(t, "switch", "Two")
	if err != nil || !strings.Contains(said, "stays valid") || strings.ContainsAny(said, "\x1b") ||
		strings.Contains(said, "\nforged") {
		t.Errorf("switch says %q, %v", said, err)
	}
}

// squeezed is text without the width of its columns.
func squeezed(text string) string {
	var lines []string
	for line := range strings.Lines(text) {
		lines = append(lines, strings.Join(strings.Fields(line), " "))
	}
	return strings.Join(lines, "\n")
}

// TestShortKeysAreNotShown: the first characters of a key that is no key could be
// all of a secret.
func TestShortKeysAreNotShown(t *testing.T) {
	for key, want := range map[string]string{
		"secret": "…", strings.Repeat("s", 32): "…",
		"ak_test_0123456789abcdef0123456789abcdef": "ak_test_01234567",
	} {
		t.Setenv("WRIT_API_KEY", key)
		out, err := run(t, nil, "whoami", "--json")
		if expected := `{"url":"URL","key":"` + want + `","keyFrom":"WRIT_API_KEY","person":false}` +
			"\n"; err != nil || out != expected {
			t.Errorf("%s: %q, %v, want %q", key, out, err, expected)
		}
	}
}
