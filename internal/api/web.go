package api

import (
	"io/fs"
	"net/http"
	"strings"

	"writ/web"
)

// pagePolicy is the dashboard's own: everything from this server, nothing inline.
const pagePolicy = "default-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'"

// mountWeb serves the dashboard under /ui/, because the API owns every other
// path, and sends a browser that opens the bare address there.
func (a *API) mountWeb() {
	a.router.Page("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/ui/", http.StatusFound)
	})
	files := web.Files()
	a.router.Page("GET /ui/", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", pagePolicy)
		name := strings.TrimPrefix(r.URL.Path, "/ui/")
		if info, err := fs.Stat(files, name); err != nil || info.IsDir() {
			name = "index.html" // the page finds its own way from the address
		}
		http.ServeFileFS(w, r, files, name)
	})
}
