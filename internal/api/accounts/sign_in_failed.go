package accounts

import (
	_ "embed"
	"html/template"
	"net/http"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"

	"writ/internal/api/route"
)

//go:embed pages/failed.html
var failedHTML string

var (
	failedPage = template.Must(template.New("failed").Parse(strings.Replace(failedHTML, "STYLE", deviceStyle, 1)))

	// failedPolicy allows the page's own style and no scripts.
	failedPolicy = "default-src 'none'; style-src " + sourceHash(deviceStyle) +
		"; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)

// failure is what a person sees after a failed sign-in. The template escapes all of it.
type failure struct {
	Message   string
	Again     string // where the same sign-in begins; empty: unknown
	Back      string
	BackText  string
	RequestID string
}

// writeVisitError answers a browser with an error page that links back. Programs get the usual body.
func writeVisitError(w http.ResponseWriter, r *http.Request, failed *route.Failure) {
	if !readsPages(r) {
		failed.Write(w)
		return
	}
	w.Header().Set("Content-Security-Policy", failedPolicy)
	failed.WriteHead(w, "text/html; charset=utf-8")
	_ = failedPage.Execute(w, failureOf(r, failed)) // the client may have disconnected
}

// readsPages reports whether a person is likely to read the answer: browsers accept HTML when they open a page, and
// programs that want tokens accept JSON.
func readsPages(r *http.Request) bool {
	accepted := strings.Join(r.Header.Values("Accept"), ",")
	return strings.Contains(accepted, "text/html") && !wantsTokens(r)
}

// wantsTokens reports whether the caller is a program rather than a browser.
func wantsTokens(r *http.Request) bool {
	return strings.Contains(strings.Join(r.Header.Values("Accept"), ","), "application/json")
}

func failureOf(r *http.Request, failed *route.Failure) failure {
	f := failure{
		Message: sentence(failed.Message), Back: landing(r), BackText: "Back to Writ", RequestID: failed.RequestID,
	}
	if f.Back == devicePath {
		f.BackText = "Back to the request of your terminal"
	}
	if begin, ok := strings.CutSuffix(r.Pattern, "/callback"); ok {
		_, path, _ := strings.Cut(begin, " ")
		f.Again = strings.Replace(path, "{organization}", url.PathEscape(r.PathValue("organization")), 1)
	}
	return f
}

// sentence writes a message with a capital letter and a full stop.
func sentence(message string) string {
	first, size := utf8.DecodeRuneInString(message)
	if size == 0 {
		return ""
	}
	return string(unicode.ToUpper(first)) + strings.TrimSuffix(message[size:], ".") + "."
}
