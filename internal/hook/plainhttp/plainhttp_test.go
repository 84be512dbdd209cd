package plainhttp_test

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"writ/internal/hook/plainhttp"
)

func TestCall(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 100_000)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if r.Header.Get("X-Api-Key") != "ak_test_x" || r.Header.Get("Content-Type") != "application/json" {
			t.Errorf("headers %v", r.Header)
		}
		w.WriteHeader(http.StatusEarlyHints)
		if r.URL.Path == "/base/chunks" {
			w.(http.Flusher).Flush()
			_, _ = io.WriteString(w, long[:50_000])
			w.(http.Flusher).Flush()
			_, _ = io.WriteString(w, long[50_000:])
			return
		}
		w.WriteHeader(http.StatusCreated)
		_, _ = io.WriteString(w, r.Method+" "+r.URL.Path+"?"+r.URL.RawQuery+" "+string(body))
	}))
	defer server.Close()
	caller, err := plainhttp.New(server.URL+"/base/", "ak_test_x")
	if err != nil {
		t.Fatal(err)
	}
	status, body, err := caller.Call(t.Context(), "POST", "/a?b=c", []byte(`{"d":1}`))
	if err != nil || status != 201 || string(body) != `POST /base/a?b=c {"d":1}` {
		t.Errorf("%d %s, %v", status, body, err)
	}
	status, body, err = caller.Call(t.Context(), "POST", "/chunks", []byte("{}"))
	if err != nil || status != 200 || string(body) != long {
		t.Errorf("%d, %d bytes, %v", status, len(body), err)
	}
}

// TestCallRefuses: what a server sends that lies, is cut, or is none.
func TestCallRefuses(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]string{
		"nothing":                "",
		"no HTTP":                "hello\r\n\r\n",
		"other protocol":         "SSH-2.0-OpenSSH\r\n",
		"HTTP/2":                 "HTTP/2 200 OK\r\nContent-Length: 2\r\n\r\n{}",
		"status is a word":       "HTTP/1.1 OK\r\nContent-Length: 2\r\n\r\n{}",
		"status of two digits":   "HTTP/1.1 99 OK\r\nContent-Length: 2\r\n\r\n{}",
		"cut in the head":        "HTTP/1.1 200 OK\r\nContent-Len",
		"cut in the body":        "HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n{}",
		"no length":              "HTTP/1.1 200 OK\r\n\r\n{\"allowed\":true}",
		"length twice":           "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\n{}",
		"negative length":        "HTTP/1.1 200 OK\r\nContent-Length: -2\r\n\r\n{}",
		"huge length":            "HTTP/1.1 200 OK\r\nContent-Length: 2000000000\r\n\r\n{}",
		"length and chunks":      "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
		"unknown encoding":       "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
		"compressed":             "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 2\r\n\r\n{}",
		"chunk without length":   "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n{}\r\n0\r\n\r\n",
		"chunk longer than said": "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{}\r\n0\r\n\r\n",
		"no last chunk":          "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n",
		"huge chunk":             "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n7fffffff\r\n{}\r\n",
		"endless head":           "HTTP/1.1 200 OK\r\n" + strings.Repeat("A: b\r\n", 20_000),
		"endless line":           "HTTP/1.1 200 OK\r\nA: " + strings.Repeat("b", 100_000),
		"header without colon":   "HTTP/1.1 200 OK\r\nnonsense\r\nContent-Length: 2\r\n\r\n{}",
		"folded header":          "HTTP/1.1 200 OK\r\nA: b\r\n Content-Length: 9\r\nContent-Length: 2\r\n\r\n{}",
		"hints for ever":         strings.Repeat("HTTP/1.1 103 Early Hints\r\n\r\n", 100),
	} {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			_, _ = http.ReadRequest(bufio.NewReader(connection))
			_, _ = io.WriteString(connection, answer)
			_ = connection.Close()
		}()
		caller, err := plainhttp.New("http://"+listener.Addr().String(), "k")
		if err != nil {
			t.Fatal(err)
		}
		if status, body, err := caller.Call(t.Context(), "GET", "/", nil); err == nil {
			t.Errorf("%s: %d %s", name, status, body)
		}
		_ = listener.Close()
	}
}

// TestCallEndsInTime: a server that accepts and says nothing.
func TestCallEndsInTime(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	caller, err := plainhttp.New("http://"+listener.Addr().String(), "k")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, _, err := caller.Call(ctx, "GET", "/", nil); err == nil {
		t.Error("a silent server has answered")
	}
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	for _, address := range []string{
		"", "https://writ.test", "http://", "http://u@writ.test", "http://a b", "writ.test",
	} {
		if _, err := plainhttp.New(address, "k"); err == nil {
			t.Errorf("%q is taken", address)
		}
	}
	if _, err := plainhttp.New("http://writ.test", "k\r\nX: y"); err == nil {
		t.Error("a key of two lines is taken")
	}
}
