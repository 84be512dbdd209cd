package api_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"writ/internal/database/dbtest"
	"writ/internal/testserver"
)

// TestDashboardHasTheDocument: the dashboard's client is generated from a copy of the
// document, which must be that of these routes.
func TestDashboardHasTheDocument(t *testing.T) {
	t.Parallel()
	const golden = "../../web/openapi.json"
	s := testserver.Start(t, dbtest.SQLite(t))
	var text bytes.Buffer
	if err := json.Indent(&text, s.Request(t, "GET", "/openapi.json", "").Body, "", " "); err != nil {
		t.Fatal(err)
	}
	text.WriteByte('\n')
	if *update {
		if err := os.WriteFile(golden, text.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(want, text.Bytes()) {
		t.Errorf("%s is not the document of these routes; run this test with -update, then `npm run generate` in web",
			golden)
	}
}

// built is a dashboard as scripts/web builds it.
func built(t *testing.T, script string) fstest.MapFS {
	t.Helper()
	var compressed bytes.Buffer
	writer := gzip.NewWriter(&compressed)
	if _, err := writer.Write([]byte(script)); err != nil {
		t.Fatal(err)
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	return fstest.MapFS{
		"index.html":          {Data: []byte(`<script nonce="WRIT_NONCE" src="/ui/assets/app-1.js"></script>`)},
		"assets/app-1.js.gz":  {Data: compressed.Bytes()},
		"assets/secret.pem":   {Data: []byte("not for anyone")},
		"assets/page.html.gz": {Data: compressed.Bytes()},
	}
}

// TestDashboardPage: the same page at every address, never stored, with a nonce of its own each time.
func TestDashboardPage(t *testing.T) {
	t.Parallel()
	s := testserver.StartWith(t, dbtest.SQLite(t), built(t, "let x"))
	nonces := map[string]bool{}
	for _, path := range []string{"/ui/", "/ui/traces/abc?span=1", "/ui/approvals/7", "/ui/index.html", "/ui/assetsx"} {
		page := s.Request(t, "GET", path, "")
		found := regexp.MustCompile(`<script nonce="([\w-]{20,})" src`).FindSubmatch(page.Body)
		if page.Status != http.StatusOK || page.Header.Get("Cache-Control") != "no-store" || found == nil {
			t.Fatalf("GET %s: %d %q %s", path, page.Status, page.Header.Get("Cache-Control"), page.Body)
		}
		nonce := string(found[1])
		want := "default-src 'none'; script-src 'nonce-" + nonce + "' 'strict-dynamic'; style-src 'self' 'nonce-" +
			nonce +
			"'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; " +
			"require-trusted-types-for 'script'; trusted-types 'none'"
		if got := page.Header.Get("Content-Security-Policy"); got != want || nonces[nonce] {
			t.Errorf("GET %s: policy %q, want %q with a new nonce", path, got, want)
		}
		nonces[nonce] = true
		if got := page.Header.Get("Cross-Origin-Opener-Policy"); got != "same-origin" {
			t.Errorf("GET %s: a page that opened it keeps a handle on it: %q", path, got)
		}
	}
	if device := s.Request(t, "GET", "/auth/device?user_code=AB-CD", ""); device.Status != http.StatusFound ||
		device.Header.Get("Location") != "/ui/device?user_code=AB-CD" {
		t.Errorf("/auth/device: %d, leads to %q", device.Status, device.Header.Get("Location"))
	}
}

// TestDashboardFiles: what a build names by its content is kept for good; what it
// does not have is never answered with the page.
func TestDashboardFiles(t *testing.T) {
	t.Parallel()
	s := testserver.StartWith(t, dbtest.SQLite(t), built(t, "let x"))
	for _, encoding := range []string{"gzip, deflate, br", "GZIP;q=0.5", "identity", "gzip;q=0", ""} {
		file := s.Request(t, "GET", "/ui/assets/app-1.js", "", "Accept-Encoding", encoding)
		wantGzip := strings.HasPrefix(strings.ToLower(encoding), "gzip") && !strings.HasSuffix(encoding, "q=0")
		if file.Status != http.StatusOK || file.Header.Get("Content-Type") != "text/javascript; charset=utf-8" ||
			file.Header.Get("Cache-Control") != "public, max-age=31536000, immutable" ||
			!slices.Contains(file.Header.Values("Vary"), "Accept-Encoding") {
			t.Errorf("%q: %d %v", encoding, file.Status, file.Header)
		}
		if got := file.Header.Get("Content-Encoding") == "gzip"; got != wantGzip ||
			!got && string(file.Body) != "let x" {
			t.Errorf("%q: Content-Encoding %q, body %q", encoding, file.Header.Get("Content-Encoding"), file.Body)
		}
	}
	for _, path := range []string{
		"/ui/assets/app-2.js", "/ui/assets/", "/ui/assets/app-1.js.gz", "/ui/assets/secret.pem", "/ui/assets/page.html",
		"/ui/assets/../index.html.js", "/ui/assets/%2e%2e/app-1.js",
	} {
		if file := s.Request(t, "GET", path, ""); strings.HasPrefix(path, "/ui/assets/..") {
			continue // the path is cleaned to one of the page
		} else if file.Status != http.StatusNotFound {
			t.Errorf("GET %s: %d %s", path, file.Status, file.Body)
		}
	}
}
