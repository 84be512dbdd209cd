package testserver

import "net/http"

// ProblemOf is problemOf.
func ProblemOf(s *Server, request *http.Request, status int, body string) error {
	return s.problemOf(request, status, []byte(body))
}

// IsChecked reports whether a transport holds answers against the document.
func IsChecked(t http.RoundTripper) bool {
	_, ok := t.(*contract)
	return ok
}
