package model_test

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"writ/internal/fault"
	"writ/internal/outbound"
	"writ/internal/policy/drafting"
	"writ/internal/policy/drafting/model"
	"writ/internal/secret"
)

// asked is a question as it came.
type asked struct {
	path, key string
	body      map[string]any
}

// endpoint answers with what handle writes, and keeps what it was asked.
func endpoint(t *testing.T, handle func(n int, w http.ResponseWriter)) (*model.Client, *[]asked) {
	t.Helper()
	var got []asked
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a := asked{path: r.URL.Path, key: r.Header.Get("Authorization")}
		text, err := io.ReadAll(r.Body)
		if err != nil || json.Unmarshal(text, &a.body) != nil {
			t.Errorf("asked with %q, %v", text, err)
		}
		got = append(got, a)
		handle(len(got), w)
	}))
	t.Cleanup(server.Close)
	client, err := model.New(options(t, server.URL+"/v1/", "127.0.0.1"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return client, &got
}

func options(t *testing.T, url string, permits ...string) model.Options {
	t.Helper()
	o := model.Options{
		URL:       url,
		Name:      "small",
		Key:       secret.NewText("the-key"),
		Timeout:   10 * time.Second,
		MaxTokens: 77,
	}
	for _, text := range permits {
		if !strings.Contains(text, ":") {
			text += url[strings.LastIndex(url, ":"):][:strings.Index(url[strings.LastIndex(url, ":"):], "/")]
		}
		permit, err := outbound.ParsePermit(text)
		if err != nil {
			t.Fatal(err)
		}
		o.Permits = append(o.Permits, permit)
	}
	return o
}

func write(text string) func(int, http.ResponseWriter) {
	return func(_ int, w http.ResponseWriter) { _, _ = io.WriteString(w, text) }
}

const hello = `{"id":"x","choices":[{"index":0,"message":{"role":"assistant","content":"hello"},"finish_reason":"stop"}],"usage":{"total_tokens":9}}`

var question = []drafting.Message{{Role: "system", Text: "s"}, {Role: "user", Text: "u"}}

func TestComplete(t *testing.T) {
	t.Parallel()
	client, got := endpoint(t, write(hello))
	text, err := client.Complete(t.Context(), question)
	if err != nil || text != "hello" {
		t.Fatalf("answered %q, %v", text, err)
	}
	a := (*got)[0]
	if a.path != "/v1/chat/completions" || a.key != "Bearer the-key" || a.body["model"] != "small" ||
		a.body["max_tokens"] != 77.0 {
		t.Errorf("asked %+v", a)
	}
	if messages, ok := a.body["messages"].([]any); !ok || len(messages) != 2 ||
		messages[1].(map[string]any)["content"] != "u" {
		t.Errorf("messages: %v", a.body["messages"])
	}
}

// TestNewerName: a server that wants the limit under its newer name gets it so.
func TestNewerName(t *testing.T) {
	t.Parallel()
	client, got := endpoint(t, func(n int, w http.ResponseWriter) {
		if n == 1 {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, `{"error":{"message":"Use 'max_completion_tokens' instead."}}`)
			return
		}
		_, _ = io.WriteString(w, hello)
	})
	if _, err := client.Complete(t.Context(), question); err != nil {
		t.Fatal(err)
	}
	last := (*got)[1].body
	if _, old := last["max_tokens"]; old || last["max_completion_tokens"] != 77.0 || len(*got) != 2 {
		t.Errorf("asked %v after %d", last, len(*got))
	}
}

// TestAnswersThatAreNone: each is a fault that says what happened, and nothing of
// what the server said or of the key.
func TestAnswersThatAreNone(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		handle func(int, http.ResponseWriter)
		want   string
	}{
		"refused": {func(_ int, w http.ResponseWriter) {
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = io.WriteString(w, "the-key is STRANGE")
		}, "status 401: the operator must correct WRIT_DRAFT_KEY"},
		"a redirect": {func(_ int, w http.ResponseWriter) {
			w.Header().Set("Location", "http://169.254.169.254/")
			w.WriteHeader(http.StatusTemporaryRedirect)
		}, "status 307"},
		"not JSON":  {write("<html>STRANGE"), "not answer in the format of chat completions"},
		"no choice": {write(`{"choices":[]}`), "not answer in the format of chat completions"},
		"cut off":   {write(strings.Replace(hello, `"stop"`, `"length"`, 1)), "WRIT_DRAFT_MAX_TOKENS"},
		"filtered":  {write(strings.Replace(hello, `"stop"`, `"content_filter"`, 1)), "refused to answer"},
		"long":      {write(strings.Repeat("STRANGE ", 70_000)), "too long"},
		"broken off": {
			func(_ int, w http.ResponseWriter) { w.Header().Set("Content-Length", "100"); write("{")(1, w) },
			"broke off",
		},
		"hanging up": {func(int, http.ResponseWriter) { panic(http.ErrAbortHandler) }, "cannot be asked"},
		"nested": {
			write(`{"choices":` + strings.Repeat("[", 400_000)), "not answer in the format of chat completions",
		},
		"packed": {func(_ int, w http.ResponseWriter) { // small on the way, and large once it is unpacked
			w.Header().Set("Content-Encoding", "gzip")
			packed := gzip.NewWriter(w)
			_, _ = io.WriteString(packed, hello+strings.Repeat(" ", 8<<20))
			_ = packed.Close()
		}, "not answer in the format of chat completions"},
		"other words": {
			write(`{"choices":[{"message":{"content":["STRANGE"]}}]}`), "not answer in the format of chat completions",
		},
	} {
		client, _ := endpoint(t, c.handle)
		_, err := client.Complete(t.Context(), question)
		if !fault.Is(err, fault.Unavailable) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
		if err != nil && (strings.Contains(err.Error(), "STRANGE") || strings.Contains(err.Error(), "the-key")) {
			t.Errorf("%s: the error repeats what it should not: %v", name, err)
		}
	}
}

// TestTooSlow: who waited in vain is told which setting bounds it.
func TestTooSlow(t *testing.T) {
	t.Parallel()
	released := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-released }))
	t.Cleanup(server.Close)
	t.Cleanup(func() { close(released) })
	client, err := model.New(options(t, server.URL+"/", "127.0.0.1"))
	if err != nil {
		t.Fatal(err)
	}
	over, cancel := context.WithDeadline(t.Context(), time.Unix(0, 0))
	defer cancel()
	if _, err := client.Complete(over, question); !fault.Is(err, fault.Unavailable) ||
		!strings.Contains(err.Error(), "WRIT_DRAFT_SECONDS") {
		t.Errorf("%v, want the setting", err)
	}
}

// TestTooManyAtOnce: who finds all places taken is told at once.
func TestTooManyAtOnce(t *testing.T) {
	t.Parallel()
	arrived, release := make(chan struct{}), make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		arrived <- struct{}{}
		<-release
		_, _ = io.WriteString(w, hello)
	}))
	t.Cleanup(server.Close)
	client, err := model.New(options(t, server.URL+"/", "127.0.0.1"))
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	for range 4 {
		go func() {
			_, err := client.Complete(context.Background(), question)
			done <- err
		}()
		<-arrived
	}
	if _, err := client.Complete(t.Context(), question); !fault.Is(err, fault.Unavailable) ||
		!strings.Contains(err.Error(), "busy") {
		t.Errorf("the fifth: %v, want that it is busy", err)
	}
	close(release)
	for range 4 {
		if err := <-done; err != nil {
			t.Errorf("one of four: %v", err)
		}
	}
}

// TestAddresses: the key goes nowhere that the operator has not said.
func TestAddresses(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{
		"http://127.0.0.1:11434/v1":  "WRIT_OUTBOUND_ALLOW",
		"http://models.example.com":  "must be https",
		"http://169.254.169.254/v1":  "not a public one",
		"ftp://models.example.com/":  "scheme",
		"https://models.example.com": "",
	} {
		_, err := model.New(options(t, url))
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", url, err, want)
		}
	}
}
