package model_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"writ/internal/fault"
	"writ/internal/policy/drafting/model"
)

// TestAModelThatNeverAnswers: nor one that begins to, and never ends. The servers
// here wait for the client to go, so only its own limit of time ends the question.
func TestAModelThatNeverAnswers(t *testing.T) {
	t.Parallel()
	for name, begin := range map[string]func(w http.ResponseWriter){
		"nothing": func(http.ResponseWriter) {},
		"a beginning": func(w http.ResponseWriter) {
			_, _ = io.WriteString(w, hello[:20])
			_ = http.NewResponseController(w).Flush()
		},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			begin(w)
			<-r.Context().Done()
		}))
		t.Cleanup(server.Close)
		o := options(t, server.URL+"/", "127.0.0.1")
		o.Timeout = 50 * time.Millisecond
		client, err := model.New(o)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(client.Close)
		_, err = client.Complete(t.Context(), question)
		if !fault.Is(err, fault.Unavailable) || strings.Contains(err.Error(), "the-key") {
			t.Errorf("%s: %v, want that it is unavailable", name, err)
		}
	}
}
