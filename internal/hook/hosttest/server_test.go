package hosttest_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// The honest answers of a server.
const (
	allowed = `{"allowed":true,"action":"allow","enforcementAction":"allow","decision":"allow","reason":"policy",` +
		`"message":"","decidedBy":"policy","rule":"r","matchedPolicy":null,"server":"","planId":"plan-1","step":0,` +
		`"decisionId":"decision-1","approvalId":"","confine":null,"receipt":null,` +
		`"session":{"turn":1,"monitorAllowed":false}}`
	denied = `{"allowed":false,"action":"deny","enforcementAction":"block","decision":"deny","reason":"policy says no",` +
		`"message":"","decidedBy":"policy","rule":"r","matchedPolicy":null,"server":"","planId":"plan-1","step":null,` +
		`"decisionId":"decision-1","approvalId":"","confine":null,"receipt":null,` +
		`"session":{"turn":1,"monitorAllowed":false}}`
)

// serving is how a server answers the question about a call: honestly, unless the case says otherwise.
type serving struct {
	Status int               `json:"status"`
	Header map[string]string `json:"header"`
	Body   string            `json:"body"`  // in place of the honest allow, with HONEST and DENIED for the answers
	Fault  string            `json:"fault"` // of the connection
	// Replace is replaced in the honest allow.
	Replace []string `json:"replace"`
	TLS     bool     `json:"tls"` // with a certificate that nobody trusts
	Down    bool     `json:"down"`
}

// fakeServer serves as a case says.
type fakeServer struct {
	*httptest.Server
	how   serving
	asked chan struct{} // gets a value with the first question
	ended chan struct{}
	// hangUp ends what hangs.
	hangUp chan struct{}

	counts bool
	other  atomic.Int64 // requests that must not come, if it counts them
}

func startServer(t *testing.T, how serving) *fakeServer {
	t.Helper()
	s := &fakeServer{how: how, asked: make(chan struct{}, 1), ended: make(chan struct{}), hangUp: make(chan struct{})}
	s.Server = httptest.NewUnstartedServer(s)
	if how.TLS {
		s.StartTLS()
	} else {
		s.Start()
	}
	if how.Down {
		s.Close()
		return s
	}
	t.Cleanup(func() {
		close(s.ended)
		s.CloseClientConnections()
		s.Close()
	})
	return s
}

func (s *fakeServer) body() string {
	if s.how.Body == "" && s.how.Status != http.StatusNoContent {
		return strings.NewReplacer(s.how.Replace...).Replace(allowed)
	}
	return strings.NewReplacer("HONEST", allowed, "DENIED", denied, "EMPTY", "").Replace(s.how.Body)
}

// ServeHTTP answers.
func (s *fakeServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if s.counts || strings.HasSuffix(r.URL.Path, "/elsewhere") {
		s.other.Add(1)
	}
	_, _ = io.Copy(io.Discard, r.Body)
	select {
	case s.asked <- struct{}{}:
	default:
	}
	if s.how.Fault != "" {
		s.misbehave(w, r)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	for name, value := range s.how.Header {
		w.Header().Set(name, strings.ReplaceAll(value, "SERVER", s.URL))
	}
	if s.how.Status != 0 {
		w.WriteHeader(s.how.Status)
	}
	_, _ = io.WriteString(w, s.body())
}

// misbehave breaks the connection's rules in the way that the case names.
func (s *fakeServer) misbehave(w http.ResponseWriter, r *http.Request) {
	connection, buffer, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(err)
	}
	defer connection.Close()
	head := "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
	length := fmt.Sprintf("Content-Length: %d\r\n\r\n", len(s.body()))
	say := func(texts ...string) {
		for _, text := range texts {
			_, _ = buffer.WriteString(text)
		}
		_ = buffer.Flush()
	}
	switch s.how.Fault {
	case "hangs":
		s.wait(time.Hour)
	case "hangs in the head":
		say("HTTP/1.1 200 OK\r\nContent-Ty")
		s.wait(time.Hour)
	case "hangs in the body":
		say(head, length, s.body()[:len(s.body())-1])
		s.wait(time.Hour)
	case "drips":
		say(head, length)
		for i := 0; i < len(s.body()) && !s.wait(200*time.Millisecond); i++ {
			say(s.body()[i : i+1])
		}
	case "closes":
	case "closes in the head":
		say("HTTP/1.1 200 OK\r\nContent-Type: appl")
	case "closes in the body":
		say(head, length, s.body()[:len(s.body())/2])
	case "promises more":
		say(head, fmt.Sprintf("Content-Length: %d\r\n\r\n", len(s.body())+10), s.body())
	case "promises less":
		say(head, fmt.Sprintf("Content-Length: %d\r\n\r\n", len(s.body())-10), s.body())
	case "says two lengths":
		say(head, "Content-Length: 2\r\n", length, s.body())
	case "says no number":
		say(head, "Content-Length: many\r\n\r\n", s.body())
	case "says a negative length":
		say(head, "Content-Length: -1\r\n\r\n", s.body())
	case "cuts a chunk":
		say(head, "Transfer-Encoding: chunked\r\n\r\n", fmt.Sprintf("%x\r\n%s", len(s.body())+5, s.body()))
	case "ends without the last chunk":
		say(head, "Transfer-Encoding: chunked\r\n\r\n", fmt.Sprintf("%x\r\n%s\r\n", len(s.body()), s.body()))
	case "says a chunk of no number":
		say(head, "Transfer-Encoding: chunked\r\n\r\n", "zz\r\n", s.body(), "\r\n0\r\n\r\n")
	case "speaks another protocol":
		say("SSH-2.0-OpenSSH_9.6\r\n")
		s.wait(100 * time.Millisecond)
	case "leaves out the status":
		say(s.body())
	case "says a status of letters":
		say("HTTP/1.1 OK\r\nContent-Type: application/json\r\n", length, s.body())
	case "says endless headers":
		flood(say, "HTTP/1.1 200 OK\r\n", "X-More: "+strings.Repeat("a", 1000)+"\r\n", 20_000)
	case "says one endless header":
		flood(say, "HTTP/1.1 200 OK\r\nX-More: ", strings.Repeat("a", 1000), 20_000)
	case "says endless early hints":
		flood(say, "", "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n", 20_000)
		say(head, length, s.body())
	case "says an endless body":
		flood(say, head+"Connection: close\r\n\r\n", strings.Repeat(" ", 1000), 64_000)
		say(s.body())
	default:
		panic("no such fault: " + s.how.Fault)
	}
}

// flood says something again and again, and stops where nobody listens.
func flood(say func(...string), first, again string, times int) {
	say(first)
	batch := string(bytes.Repeat([]byte(again), 100))
	for range times / 100 {
		say(batch)
	}
}

// wait waits, and reports whether it was cut short.
func (s *fakeServer) wait(long time.Duration) bool {
	select {
	case <-s.ended:
		return true
	case <-s.hangUp:
		return true
	case <-time.After(long):
		return false
	}
}
