package proxy_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// hasty is an MCP server that asks its client something before it answers initialize. It ends no call before the proxy
// has answered: a question that comes up to be judged during a call ends with that.
type hasty struct {
	answers  chan string
	answered chan struct{} // closed with the first answer of a client that can be asked
	once     sync.Once
}

func (h *hasty) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	var sent struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
		Params struct {
			Capabilities struct {
				Elicitation any `json:"elicitation"`
			} `json:"capabilities"`
		} `json:"params"`
	}
	_ = json.Unmarshal(body, &sent)
	result := `{"content":[{"type":"text","text":"done"}]}`
	switch {
	case r.Method != http.MethodPost:
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	case sent.Method == "" && string(sent.ID) == `"early"`:
		if !strings.Contains(string(body), "client does not support elicitation") { // as the registry says
			h.answers <- string(body)
			h.once.Do(func() { close(h.answered) })
		}
		w.WriteHeader(http.StatusAccepted)
		return
	case sent.ID == nil:
		w.WriteHeader(http.StatusAccepted)
		return
	case sent.Method == "initialize":
		result = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"hasty","version":"1"}}`
	case sent.Method == "tools/list":
		result = `{"tools":[{"name":"go","inputSchema":{"type":"object"}}]}`
	case sent.Method != "tools/call":
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}`, sent.ID)
		return
	default:
		select {
		case <-h.answered:
		case <-r.Context().Done():
			return
		}
	}
	w.Header().Set("Content-Type", "text/event-stream")
	if sent.Method == "initialize" && sent.Params.Capabilities.Elicitation != nil {
		_, _ = fmt.Fprint(w, `data: {"jsonrpc":"2.0","id":"early","method":"elicitation/create","params":`+
			`{"message":"Who is there?","requestedSchema":{"type":"object","properties":{}}}}`+"\n\n")
		_ = http.NewResponseController(w).Flush()
	}
	_, _ = fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":%s}\n\n", sent.ID, result)
}

// TestAServerThatAsksBeforeItIsOpen is judged as one that asks later.
func TestAServerThatAsksBeforeItIsOpen(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, y *yard) {
		h := &hasty{answers: make(chan string, 10), answered: make(chan struct{})}
		web := httptest.NewServer(h)
		t.Cleanup(web.Close)
		y.register("hasty", web.URL)
		y.ActivePolicy(y.Owner, y.ID, "version: v1\nname: quiet\ndefault: allow\nrules:\n"+
			"  - id: mute\n    effect: deny\n    tools: [\"hasty.mcp:elicitation\"]\n")
		v := y.all()
		v.options = (&heard{}).options()
		s := v.connect(t)
		r, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "hasty__go", Arguments: m{}})
		if err != nil || textOf(r) != "done" {
			t.Errorf("%+v, %v", r, err)
		}
		if answer := <-h.answers; !strings.Contains(answer, "Rule: mute") {
			t.Errorf("the server got %s", answer)
		}
	})
}
