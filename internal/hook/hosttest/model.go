package hosttest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// Call is a tool call that the model makes.
type Call struct {
	Tool      string
	Arguments map[string]any
}

// Reply is one answer of the model: calls, else text.
type Reply struct {
	Calls []Call
	Text  string
}

// Calls is a reply that makes calls, all at the same time.
func Calls(calls ...Call) Reply { return Reply{Calls: calls} }

// Says is a reply of text, which ends the turn.
func Says(text string) Reply { return Reply{Text: text} }

// Request is what the host sends to the model.
type Request struct {
	Contents          []Content       `json:"contents"`
	SystemInstruction Content         `json:"systemInstruction"`
	ToolConfig        json.RawMessage `json:"toolConfig"`
	Tools             []struct {
		Functions []struct {
			Name string `json:"name"`
		} `json:"functionDeclarations"`
	} `json:"tools"`
}

// Content is a message of a conversation.
type Content struct {
	Role  string `json:"role"`
	Parts []Part `json:"parts"`
}

// Part is one of text, a call and its result.
type Part struct {
	Text   string `json:"text,omitempty"`
	Call   *call  `json:"functionCall,omitempty"`
	Result *struct {
		Tool     string         `json:"name"`
		Response map[string]any `json:"response"`
	} `json:"functionResponse,omitempty"`
}

type call struct {
	Tool      string         `json:"name"`
	Arguments map[string]any `json:"args"`
}

// Text is all text of the message.
func (c Content) Text() string {
	var text strings.Builder
	for _, p := range c.Parts {
		text.WriteString(p.Text)
	}
	return text.String()
}

// Results are the results of calls that the host just handed back, as the text of their responses.
func (r Request) Results() (results []string) {
	if len(r.Contents) == 0 {
		return nil
	}
	for _, p := range r.Contents[len(r.Contents)-1].Parts {
		if p.Result == nil {
			continue
		}
		text, _ := json.Marshal(p.Result.Response)
		results = append(results, string(text))
	}
	return results
}

// Model plays a script to the host over HTTP, on loopback.
type Model struct {
	URL string

	mu       sync.Mutex
	script   func(Request) Reply
	requests []Request
	foreign  []string // paths that a scripted run does not ask for
}

// NewModel starts a model that plays a script. It is told every request and may be asked by one at a time.
func NewModel(t testing.TB, script func(Request) Reply) *Model {
	t.Helper()
	m := &Model{script: script}
	server := httptest.NewServer(m)
	t.Cleanup(server.Close)
	m.URL = server.URL
	return m
}

// Turns is a script of replies in order. After the last one the model says that it is done.
func Turns(replies ...Reply) func(Request) Reply {
	return func(Request) Reply {
		if len(replies) == 0 {
			return Says("done")
		}
		reply := replies[0]
		replies = replies[1:]
		return reply
	}
}

// Requests are those that the host sent so far.
func (m *Model) Requests() []Request {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]Request(nil), m.requests...)
}

// ServeHTTP answers a request of the host with the script's next reply.
func (m *Model) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var request Request
	streamed := strings.HasSuffix(r.URL.Path, ":streamGenerateContent")
	if err := json.NewDecoder(r.Body).Decode(&request); err != nil || !streamed {
		m.mu.Lock()
		m.foreign = append(m.foreign, r.Method+" "+r.URL.Path)
		m.mu.Unlock()
		http.Error(w, "the script has no such request", http.StatusBadRequest)
		return
	}
	m.mu.Lock()
	m.requests = append(m.requests, request)
	reply := m.script(request)
	m.mu.Unlock()
	w.Header().Set("Content-Type", "text/event-stream")
	fmt.Fprintf(w, "data: %s\r\n\r\n", reply.wire())
}

// wire is a reply as the model's service sends it.
func (r Reply) wire() []byte {
	parts := []Part{}
	for _, c := range r.Calls {
		parts = append(parts, Part{Call: &call{c.Tool, c.Arguments}})
	}
	if len(parts) == 0 {
		parts = append(parts, Part{Text: r.Text})
	}
	text, _ := json.Marshal(map[string]any{
		"candidates": []any{map[string]any{
			"content": Content{"model", parts}, "finishReason": "STOP", "index": 0,
		}},
		"usageMetadata": map[string]any{
			"promptTokenCount": 100, "candidatesTokenCount": 10, "totalTokenCount": 110,
		},
		"modelVersion": modelName,
	})
	return text
}
