package api

import (
	"net/http"
	"strings"

	"writ/internal/api/route"
	"writ/internal/fault"
	"writ/web"
)

// docsPage loads the viewer from this server alone.
const docsPage = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>Writ API</title>
<link rel="stylesheet" href="/api-docs/swagger-ui.css">
</head>
<body>
<div id="docs"></div>
<script src="/api-docs/swagger-ui-bundle.js"></script>
<script src="/api-docs/start.js"></script>
</body>
</html>
`

const docsScript = `window.ui = SwaggerUIBundle({url: "/openapi.json", dom_id: "#docs", deepLinking: true, validatorUrl: null});
`

// docsPolicy is the page's own: the viewer styles itself inline and draws
// images from data.
const docsPolicy = "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"

// mountDocs serves the OpenAPI document and a page to read it.
func (a *API) mountDocs() {
	a.router.Page("GET /openapi.json", func(w http.ResponseWriter, r *http.Request) {
		document, err := a.router.WrittenDocument()
		if err != nil {
			a.router.WriteError(w, r, err)
			return
		}
		route.WriteFile(w, "application/json", document)
	})
	a.router.Page("GET /api-docs", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Security-Policy", docsPolicy)
		route.WriteFile(w, "text/html; charset=utf-8", []byte(docsPage))
	})
	a.router.Page("GET /api-docs/start.js", func(w http.ResponseWriter, _ *http.Request) {
		route.WriteFile(w, "text/javascript; charset=utf-8", []byte(docsScript))
	})
	for _, file := range []string{"swagger-ui.css", "swagger-ui-bundle.js"} {
		a.router.Page("GET /api-docs/"+file, func(w http.ResponseWriter, r *http.Request) {
			content, err := web.SwaggerUI(file)
			if err != nil {
				a.router.WriteError(w, r, fault.Wrap(err, fault.NotFound, "there is nothing at this path"))
				return
			}
			kind := "text/css; charset=utf-8"
			if strings.HasSuffix(file, ".js") {
				kind = "text/javascript; charset=utf-8"
			}
			w.Header().Set("Cache-Control", "public, max-age=3600")
			route.WriteFile(w, kind, content)
		})
	}
}
