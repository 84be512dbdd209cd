package writ_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"writ/internal/cli"
	"writ/internal/cli/writ"
)

// teller is a server that answers each connection of a tail with the next of these
// texts, and then breaks it off, and gives out tokens that end soon.
type teller struct {
	*httptest.Server
	connections []string
	asked       []string // credential, query and last event of each connection
	renewed     int
}

func newTeller(t *testing.T, connections ...string) *teller {
	e := &teller{connections: connections}
	e.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/auth/refresh" {
			e.renewed++
			fmt.Fprintf(w, `{"accessToken":"access%d","refreshToken":"refresh%d","expiresIn":1}`, e.renewed, e.renewed)
			return
		}
		if r.URL.Path != "/organization/0199d1c2-7a54-7c1e-9b7e-2f6a4c1d8e30/observability/stream" ||
			len(e.asked) == len(e.connections) {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		text := e.connections[len(e.asked)]
		e.asked = append(e.asked,
			strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")+" "+r.URL.RawQuery+" "+
				r.Header.Get("Last-Event-ID"))
		if status, message, refused := strings.Cut(text, "|"); refused {
			w.WriteHeader(map[string]int{"403": 403, "401": 401, "503": 503}[status])
			fmt.Fprintf(w, `{"message":%q}`, message)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, text)
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}))
	t.Cleanup(e.Close)
	return e
}

// tail runs the command.
func (e *teller) tail(ctx context.Context, args ...string) (out, said string, err error) {
	var stdout, stderr bytes.Buffer
	err = writ.Run(ctx, append([]string{"traces", "tail", "--url", e.URL}, args...), cli.Streams{
		In: strings.NewReader(""), Out: &stdout, Err: &stderr,
	})
	return stdout.String(), stderr.String(), err
}

// What a server says in a tail.
func ready(id string) string { return "retry: 3000\nid: " + id + "\nevent: ready\ndata: {}\n\n" }

func traceEvent(id, trace string) string {
	return "id: " + id + "\nevent: trace\ndata: {\"trace\":{\"id\":\"" + trace +
		"\",\"receivedAt\":\"2030-01-02T03:04:05.678901Z\",\"status\":\"ok\",\"name\":\"n\",\"spanCount\":1}}\n\n"
}

func decisionEvent(id, decision string) string {
	return "id: " + id + "\nevent: decision\ndata: {\"decision\":{\"id\":\"" + decision +
		"\",\"index\":7,\"decision\":\"deny\",\"server\":\"bank\",\"tool\":\"pay\",\"policyId\":\"p\",\"ruleId\":\"r\",\"reason\":\"too large\"}}\n\n"
}

// A connection that breaks is made anew behind the last event, with a token that
// holds; what is sent again is printed once.
func TestTailComesBack(t *testing.T) {
	e := newTeller(t,
		// cut in the midst of an event
		ready("1")+traceEvent("2", "one")+decisionEvent("3", "two")+"id: 4\n: alive\n\n"+
			"id: 5\nevent: trace\ndata: {\"tra",
		"", // broken before anything is said
		"503|starting",
		ready("4")+decisionEvent("4", "two")+traceEvent("5", "one")+traceEvent("6", "three")+
			"event: end\ndata: {\"message\":\"the access token has ended\"}\n\n",
		ready("6")+"event: novelty\ndata: {}\n\n"+decisionEvent("7", "four"),
	)
	signedInTo(t, e.URL, time.Second)
	out, said, err := e.tail(t.Context(), "--count", "4", "--agent", "codex")
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if err != nil || len(lines) != 4 {
		t.Fatalf("%v: printed %q and said %q", err, out, said)
	}
	for i, want := range []string{
		"  trace     ok      -  n  1 span  one", "  decision  deny    -  bank.pay  p/r: too large", "  three",
		"  decision  deny",
	} {
		if !strings.Contains(lines[i], want) {
			t.Errorf("line %d is %q, want %q in it", i, lines[i], want)
		}
	}
	if want := []string{
		"access1 agentId=codex ", "access2 agentId=codex 4", "access3 agentId=codex 4", "access4 agentId=codex 4",
		"access5 agentId=codex 6",
	}; !slices.Equal(e.asked, want) {
		t.Errorf("asked %q, want %q", e.asked, want)
	}
	for _, want := range []string{
		"writ: watching; interrupt to end\n", "writ: starting (503); connecting again\n",
		"writ: the server ended it: the access token has ended; connecting again\n",
	} {
		if strings.Count(said, want) != 1 {
			t.Errorf("said %q, want %q once", said, want)
		}
	}
}

func TestTailEnds(t *testing.T) {
	for name, c := range map[string]struct {
		connections []string
		want        string
		signedOut   bool
	}{
		"who is no member any more": {
			[]string{ready("1"), "403|you are not a member of this organization"},
			"you are not a member of this organization (403)", false,
		},
		"who is not signed in": {
			[]string{ready("1"), "401|who are you"},
			"who are you (401): the access token of the file that --token names was refused: " +
				"give a new one there, or none and sign in with writ login",
			true,
		},
		"who was never let in":        {[]string{"503|starting"}, "starting (503)", false},
		"whose server is another one": {nil, "the server answered 404 Not Found (404)", false},
	} {
		e := newTeller(t, c.connections...)
		out, _, err := e.tail(t.Context(), "--organization", "0199d1c2-7a54-7c1e-9b7e-2f6a4c1d8e30", "--token",
			withToken(t))
		if err == nil || err.Error() != c.want || out != "" || errors.Is(err, cli.ErrSignedOut) != c.signedOut {
			t.Errorf("%s: %v, want %s; printed %q", name, err, c.want, out)
		}
	}
}

// interrupting is somebody who interrupts as soon as anything is said.
type interrupting struct{ cancel context.CancelFunc }

func (i interrupting) Write(p []byte) (int, error) {
	i.cancel()
	return len(p), nil
}

// An interrupt is how people end it.
func TestTailIsInterrupted(t *testing.T) {
	e := newTeller(t, ready("1"))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var out bytes.Buffer
	err := writ.Run(ctx,
		[]string{
			"traces", "tail", "--url", e.URL, "--organization", "0199d1c2-7a54-7c1e-9b7e-2f6a4c1d8e30", "--token",
			withToken(t),
		},
		cli.Streams{In: strings.NewReader(""), Out: &out, Err: interrupting{cancel}})
	if err != nil || ctx.Err() == nil || out.Len() != 0 || len(e.asked) != 1 {
		t.Errorf("printed %q, %v, %d connections", out.String(), err, len(e.asked))
	}
}

func TestTailPrintsJSON(t *testing.T) {
	e := newTeller(t, ready("1")+decisionEvent("2", "two"))
	out, said, err := e.tail(t.Context(), "--organization", "0199d1c2-7a54-7c1e-9b7e-2f6a4c1d8e30", "--token",
		withToken(t), "--json", "--count", "1")
	want := `{"decision":{"index":7,"id":"two","at":"0001-01-01T00:00:00Z","decision":"deny","agentId":"","server":"bank","tool":"pay","policyId":"p","ruleId":"r","reason":"too large"}}` + "\n"
	if err != nil || out != want || said != "" {
		t.Errorf("printed %q and %q, %v; want %q", out, said, err, want)
	}
}

// What an agent writes must not steer the terminal of the reader, nor look like
// another line.
func TestTailShowsNoControlCharacters(t *testing.T) {
	const hostile = `a\u001b[2J\n12:00:00  decision  allow\r\u202e\u009b\u0007`
	e := newTeller(t, ready("1")+
		"event: trace\ndata: {\"trace\":{\"id\":\"i\",\"name\":\""+hostile+"\",\"agentId\":\""+hostile+
		"\",\"status\":\""+hostile+"\"}}\n\n"+
		"event: decision\ndata: {\"decision\":{\"id\":\"d\",\"tool\":\""+hostile+"\",\"reason\":\""+hostile+
		"\",\"policyName\":\""+hostile+"\"}}\n\n")
	out, _, err := e.tail(t.Context(), "--organization", "0199d1c2-7a54-7c1e-9b7e-2f6a4c1d8e30", "--token",
		withToken(t), "--count", "2")
	if err != nil || strings.Count(out, "\n") != 2 {
		t.Errorf("%v: printed %q", err, out)
	}
	for _, bad := range []string{"\x1b", "\r", "\a", "\u202e", "\u009b"} {
		if strings.Contains(out, bad) {
			t.Errorf("prints %q: %q", bad, out)
		}
	}
}
