package accounts

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"net/http"
	"strings"

	"writ/internal/api/route"
)

var (
	//go:embed pages/device.html
	deviceHTML string
	//go:embed pages/device.js
	deviceScript string
	//go:embed pages/device.css
	deviceStyle string
)

// devicePath is the page where a person answers a terminal.
const devicePath = "/auth/device"

// mountDevicePage serves that page. It is the same for everybody: its script reads the request as the person who has
// signed in. Its content security policy allows only its own script and style, by their hashes, and calls of this
// server, so that no other text can run as a script. The dashboard has a screen of its own for this.
func (h *Handlers) mountDevicePage(r *route.Router) {
	if h.HasDashboard {
		r.Page("GET "+devicePath, func(w http.ResponseWriter, request *http.Request) {
			w.Header().Set("Location", "/ui/device?"+request.URL.RawQuery)
			w.WriteHeader(http.StatusFound)
		})
		return
	}
	google := "hidden"
	if h.Federation.Google.ClientID != "" {
		google = ""
	}
	page := []byte(strings.NewReplacer("{{style}}", deviceStyle, "{{script}}", deviceScript, "{{google}}",
		google).Replace(deviceHTML))
	policy := "default-src 'none'; script-src " + sourceHash(deviceScript) + "; style-src " + sourceHash(deviceStyle) +
		"; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
	r.Page("GET "+devicePath, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Security-Policy", policy)
		route.WriteFile(w, "text/html; charset=utf-8", page)
	})
}

// returnCookie is set by the page before it sends a person to an identity provider.
const returnCookie = "writ_return"

// landing is where a browser goes after it signed in at an identity provider: back to the device page if it came from
// there, else to the dashboard.
func landing(r *http.Request) string {
	if kept, err := r.Cookie(returnCookie); err == nil && kept.Value == "device" {
		return devicePath
	}
	return "/ui/"
}

// sourceHash names a text in a content security policy.
func sourceHash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}
