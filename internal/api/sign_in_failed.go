package api

import (
	_ "embed"
	"html/template"
	"net/http"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"
)

//go:embed signinpage/failed.html
var failedHTML string

var (
	failedPage = template.Must(template.New("failed").Parse(strings.Replace(failedHTML, "STYLE", deviceStyle, 1)))

	// failedPolicy lets the page's own style apply, and nothing run.
	failedPolicy = "default-src 'none'; style-src " + sourceHash(deviceStyle) +
		"; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)

// failure is what a person is told whose sign-in elsewhere came to nothing. All of
// it is text to the template, whoever wrote it.
type failure struct {
	Message   string
	Again     string // where the same sign-in begins; empty: nowhere
	Back      string
	BackText  string
	RequestID string
}

// writeVisitError answers an error where a browser is: in plain words, with a way
// back. Programs get the one shape of errors.
func (a *API) writeVisitError(w http.ResponseWriter, r *http.Request, err error) {
	if !readsPages(r) {
		a.writeError(w, r, err)
		return
	}
	body := a.render(r.Context(), err)
	for name, values := range body.GetHeaders() {
		w.Header()[name] = values
	}
	w.Header().Set("Content-Security-Policy", failedPolicy)
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(body.StatusCode)
	// Whoever is gone cannot be told.
	_ = failedPage.Execute(w, failureOf(r, body))
}

// readsPages reports whether a person is likely to read the answer: browsers ask
// for HTML where they open a page, and programs that want tokens ask for JSON.
func readsPages(r *http.Request) bool {
	accepted := strings.Join(r.Header.Values("Accept"), ",")
	return strings.Contains(accepted, "text/html") && !wantsTokens(r)
}

// wantsTokens reports whether a program came back, and not a page.
func wantsTokens(r *http.Request) bool {
	return strings.Contains(strings.Join(r.Header.Values("Accept"), ","), "application/json")
}

func failureOf(r *http.Request, body *ErrorBody) failure {
	f := failure{
		Message: sentence(body.Message.text), Back: landing(r), BackText: "Back to Writ", RequestID: body.RequestID,
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

// sentence writes a message as one that stands alone.
func sentence(message string) string {
	first, size := utf8.DecodeRuneInString(message)
	if size == 0 {
		return ""
	}
	return string(unicode.ToUpper(first)) + strings.TrimSuffix(message[size:], ".") + "."
}
