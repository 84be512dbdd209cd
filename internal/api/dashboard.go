package api

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"path"
	"strings"

	"writ/internal/api/route"
	"writ/internal/fault"
	"writ/internal/secret"
	"writ/web"
)

// dashboard serves the built files. Its page is the same at every address; what it
// loads is under assets, in names that change with the content.
type dashboard struct {
	page  []byte
	files fs.FS
}

func newDashboard(files fs.FS) (*dashboard, error) {
	page, err := fs.ReadFile(files, "index.html")
	if err != nil {
		return nil, fmt.Errorf("read the dashboard: %w", err)
	}
	if !bytes.Contains(page, []byte(web.Nonce)) {
		return nil, fmt.Errorf("the dashboard's page does not say where its nonce belongs")
	}
	return &dashboard{page, files}, nil
}

// pagePolicy permits the scripts that the page names, and those that they load. No
// text becomes a script or markup: trusted types refuse it.
func pagePolicy(nonce string) string {
	return "default-src 'none'; script-src 'nonce-" + nonce + "' 'strict-dynamic'; style-src 'self' 'nonce-" + nonce +
		"'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; " +
		"require-trusted-types-for 'script'; trusted-types 'none'"
}

func (d *dashboard) servePage(w http.ResponseWriter, _ *http.Request) {
	nonce := secret.Token("").Reveal()
	w.Header().Set("Content-Security-Policy", pagePolicy(nonce))
	// A page that opened this one keeps no handle on it: it could move it while a person answers a terminal.
	w.Header().Set("Cross-Origin-Opener-Policy", "same-origin")
	// The page stays no-store, like every answer: it names the files of this build.
	route.WriteFile(w, "text/html; charset=utf-8", bytes.ReplaceAll(d.page, []byte(web.Nonce), []byte(nonce)))
}

// assetTypes are the kinds of files that a build makes.
var assetTypes = map[string]string{
	".js":   "text/javascript; charset=utf-8",
	".css":  "text/css; charset=utf-8",
	".svg":  "image/svg+xml",
	".json": "application/json",
}

func (d *dashboard) serveAsset(w http.ResponseWriter, r *http.Request) error {
	name := strings.TrimPrefix(r.URL.Path, "/ui/")
	kind := assetTypes[path.Ext(name)]
	compressed, err := fs.ReadFile(d.files, name+".gz")
	if err != nil || kind == "" {
		// Never the page: a browser of an older build must learn that the file is gone.
		return fault.New(fault.NotFound, "there is nothing at this path")
	}
	content := compressed
	if takesGzip(r) {
		w.Header().Set("Content-Encoding", "gzip")
	} else if content, err = unzipped(compressed); err != nil {
		return err
	}
	w.Header().Add("Vary", "Accept-Encoding")
	w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	route.WriteFile(w, kind, content)
	return nil
}

func takesGzip(r *http.Request) bool {
	for part := range strings.SplitSeq(r.Header.Get("Accept-Encoding"), ",") {
		name, quality, _ := strings.Cut(strings.TrimSpace(part), ";")
		if strings.EqualFold(name, "gzip") && strings.ReplaceAll(quality, " ", "") != "q=0" {
			return true
		}
	}
	return false
}

func unzipped(compressed []byte) ([]byte, error) {
	reader, err := gzip.NewReader(bytes.NewReader(compressed))
	if err != nil {
		return nil, fmt.Errorf("unzip a file of the dashboard: %w", err)
	}
	return io.ReadAll(reader)
}
