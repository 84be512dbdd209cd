package api

import (
	"io/fs"
	"net/http"
	"strings"

	"writ/web"
)

// mountWeb serves the dashboard under /ui/, because the API owns every other
// path, and sends a browser that opens the bare address there.
func (a *API) mountWeb(dashboard fs.FS) {
	a.router.Page("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/ui/", http.StatusFound)
	})
	if dashboard == nil {
		a.router.Page("GET /ui/", servePlaceholder)
		return
	}
	files, err := newDashboard(dashboard)
	if err != nil {
		panic(err) // the build is broken: any start finds it
	}
	a.router.Page("GET /ui/", files.servePage)
	a.router.Page("GET /ui/assets/", func(w http.ResponseWriter, r *http.Request) {
		if err := files.serveAsset(w, r); err != nil {
			a.router.WriteError(w, r, err)
		}
	})
}

// placeholderPolicy: everything from this server, nothing inline.
const placeholderPolicy = "default-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'"

// servePlaceholder serves the pages of a build without the dashboard.
func servePlaceholder(w http.ResponseWriter, r *http.Request) {
	files := web.Placeholder()
	w.Header().Set("Content-Security-Policy", placeholderPolicy)
	name := strings.TrimPrefix(r.URL.Path, "/ui/")
	if info, err := fs.Stat(files, name); err != nil || info.IsDir() {
		name = "index.html" // the page explains itself at every address
	}
	http.ServeFileFS(w, r, files, name)
}
