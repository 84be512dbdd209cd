package app_test

import (
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"strings"
	"testing"
	"time"

	"writ/client"
	"writ/internal/app"
	"writ/internal/database"
)

// slowLogin is a sign-in whose body has not been sent yet.
type slowLogin struct {
	body   *io.PipeWriter
	answer chan *http.Response // nil when there was none
}

// beginLogin returns when the server has begun to read the body.
func beginLogin(t *testing.T, address string) *slowLogin {
	t.Helper()
	reader, writer := io.Pipe()
	reading := make(chan struct{})
	ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{Got100Continue: func() { close(reading) }})
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+address+"/auth/login", reader)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Expect", "100-continue") // which the server answers when it wants the body
	l := &slowLogin{body: writer, answer: make(chan *http.Response, 1)}
	slow := fleeting()
	slow.Transport.(*http.Transport).ExpectContinueTimeout = time.Minute
	go func() {
		response, err := slow.Do(request)
		if err != nil {
			response = nil
		}
		l.answer <- response
	}()
	select {
	case <-reading:
	case <-time.After(2 * time.Minute):
		t.Fatal("the server does not ask for the body")
	}
	return l
}

// refusedAt waits until nobody listens any more.
func refusedAt(address string) bool {
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		conn, err := net.DialTimeout("tcp", address, time.Second)
		if err != nil {
			return true
		}
		conn.Close()
	}
	return false
}

// TestStopLetsRequestsFinish has a request under way when the server is told to
// stop: new ones are refused, that one is answered, and what it wrote is kept.
func TestStopLetsRequestsFinish(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, o app.Options) {
		server := start(t, o)
		first := server.FirstRun
		login := beginLogin(t, server.Address)
		stopped := make(chan struct{})
		go func() {
			defer close(stopped)
			server.stop()
		}()
		if !refusedAt(server.Address) {
			t.Fatal("a server that stops takes new connections")
		}
		probe := httptest.NewRecorder()
		server.API.ServeHTTP(probe, httptest.NewRequest(http.MethodGet, "http://localhost/ready", nil))
		if probe.Code != http.StatusServiceUnavailable {
			t.Errorf("/ready of a server that stops: %d", probe.Code)
		}
		select {
		case <-stopped:
			t.Fatal("the server stopped before the request was finished")
		default:
		}

		if _, err := io.WriteString(login.body,
			`{"email":"`+first.Email+`","password":"`+first.Password+`"}`); err != nil {
			t.Errorf("send the rest of the body: %v", err)
		}
		login.body.Close()
		response := <-login.answer
		if response == nil {
			t.Fatal("the request that was under way has no answer")
		}
		defer response.Body.Close()
		var in client.SignIn
		if err := json.NewDecoder(response.Body).Decode(&in); err != nil || response.StatusCode != http.StatusOK ||
			in.AccessToken == "" {
			t.Fatalf("the request that was under way: status %d, %v", response.StatusCode, err)
		}
		<-stopped

		again := start(t, o)
		if _, err := again.public.As(in.AccessToken).Me(t.Context()); err != nil {
			t.Errorf("the session that began while the server stopped: %v", err)
		}
	})
}

// TestStopDoesNotWaitForever has a request that never ends.
func TestStopDoesNotWaitForever(t *testing.T) {
	t.Parallel()
	o := options(t, database.Options{}, "WRIT_SHUTDOWN_SECONDS", "1")
	server, err := app.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	login := beginLogin(t, server.Address)
	if err := server.Stop(); err == nil || !strings.Contains(err.Error(), "requests were still running after 1s") {
		t.Errorf("stop: %v, want it to say what was cut", err)
	}
	login.body.Close() // the client waits for its own body, too
	if response := <-login.answer; response != nil {
		response.Body.Close()
		t.Errorf("the request that was cut: status %d", response.StatusCode)
	}
	start(t, o) // the data folder is free again
}
