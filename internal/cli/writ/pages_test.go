package writ_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestPagesEnd: a server that always says that there is more is not followed for ever, whether it gives one page again
// and again or ever another.
func TestPagesEnd(t *testing.T) {
	t.Setenv("WRIT_ACCESS_TOKEN", "token")
	for what, next := range map[string]func(asked int) string{
		"one page again":   func(int) string { return "same" },
		"ever another one": func(asked int) string { return fmt.Sprint(asked) },
	} {
		asked := 0
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			asked++
			_, _ = io.WriteString(w, `{"items":[],"data":[],"hasMore":true,"nextCursor":"`+next(asked)+`"}`)
		}))
		for _, words := range []string{"members remove ada@example.org", "policy shadow list"} {
			args := append(strings.Fields(words), "--organization", askedID, "--url", server.URL)
			if said, err := command(t, args...); err == nil || !strings.Contains(err.Error(), "there is more") {
				t.Errorf("%s: %s: %q, %v", what, words, said, err)
			}
		}
		server.Close()
	}
}
