package proxy_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"writ/client"
	"writ/internal/database"
	"writ/internal/testserver"
)

// TestASessionBelongsToItsKey presents its id with other keys and at other paths.
func TestASessionBelongsToItsKey(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, y *yard) {
		s := y.one().connect(t)
		other := y.AgentKey(y.Owner, y.ID).APIKey
		stranger := y.Person("stranger")
		foreign := y.AgentKey(stranger, y.Organization(stranger, "Elsewhere")).APIKey
		ping := `{"jsonrpc":"2.0","id":1,"method":"ping"}`
		send := func(method, path, key string) int {
			return y.Request(t, method, path, ping, "X-Api-Key", key, "Mcp-Session-Id", s.ID(),
				"Content-Type", "application/json", "Accept", "application/json, text/event-stream").Status
		}
		const one = "/proxy/mcp/yard"
		for _, method := range []string{"POST", "GET", "DELETE"} {
			if status := send(method, one, other); status != http.StatusNotFound {
				t.Errorf("%s with another key: %d", method, status)
			}
			if status := send(method, "/proxy/mcp", y.key); status != http.StatusNotFound {
				t.Errorf("%s at another path: %d", method, status)
			}
			if status := send(method, one, foreign); status != http.StatusNotFound {
				t.Errorf("%s with a key of another organization: %d", method, status)
			}
			if status := send(method, one, "ak_test_none"); status != http.StatusUnauthorized {
				t.Errorf("%s with no key: %d", method, status)
			}
		}
		if status := send("POST", one, y.key); status != http.StatusOK {
			t.Errorf("its own key: %d", status)
		}
		if r := call(t, s, "echo", m{"text": "mine"}); r.IsError {
			t.Error(textOf(r))
		}
		elsewhere := y.all()
		elsewhere.key = foreign
		if seen := names(t, elsewhere.connect(t)); len(seen) != 0 {
			t.Errorf("another organization sees %v", seen)
		}
		elsewhere.url += "/yard"
		if _, err := elsewhere.try(t.Context()); err == nil {
			t.Error("another organization reaches the server")
		}
	})
}

// TestAKillEndsStreams kills and revokes while streams are open and a call runs.
func TestAKillEndsStreams(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, y *yard) {
		for what, end := range map[string]func(key string, id string) error{
			"killed": func(_, id string) error {
				_, err := y.Owner.KillScope(t.Context(), y.ID, "key", id, "it ran away", false)
				return err
			},
			"revoked": func(_, id string) error { return y.Owner.RevokeKey(t.Context(), id) },
		} {
			key := y.AgentKey(y.Owner, y.ID)
			v := y.one()
			v.key = key.APIKey
			s := v.connect(t)
			old := v
			old.sse = true
			before := old.connect(t)
			slow := y.side.count("slow")
			running := make(chan error, 1)
			go func() {
				_, err := s.CallTool(context.Background(), &mcp.CallToolParams{Name: "slow", Arguments: m{}})
				running <- err
			}()
			testserver.Soon(t, "the call runs", func() bool { return y.side.count("slow") > slow })
			if err := end(key.APIKey, key.ID); err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			began := time.Now()
			testserver.Soon(t, "its sessions have ended", func() bool { return y.front().Sessions() == 0 })
			t.Logf("%s: ended after %s", what, time.Since(began))
			if err := <-running; err == nil {
				t.Errorf("%s: the call went on", what)
			}
			if err := before.Wait(); err != nil && !strings.Contains(err.Error(), "EOF") {
				t.Logf("%s: the old stream ended with %v", what, err)
			}
			if _, err := v.try(t.Context()); err == nil {
				t.Errorf("%s: a new session is opened", what)
			}
		}
	})
}

// listener keeps what a client reads.
type listener struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *listener) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := http.DefaultTransport.RoundTrip(r)
	if err == nil {
		answer.Body = struct {
			io.Reader
			io.Closer
		}{io.TeeReader(answer.Body, l), answer.Body}
	}
	return answer, err
}

func (l *listener) Write(part []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(part)
}

func (l *listener) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// TestAKilledCallIsAnswered: whichever transport an agent speaks, it learns that it was stopped while its call ran, and
// by which decision that ran; the log has the same reason.
func TestAKilledCallIsAnswered(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, y *yard) {
		for name, change := range map[string]func(v *visit){
			"with sessions":    func(*visit) {},
			"without sessions": func(v *visit) { v.version = stateless },
			"by SSE":           func(v *visit) { v.sse = true },
		} {
			key := y.AgentKey(y.Owner, y.ID)
			v := y.one()
			v.key, v.retries = key.APIKey, 2 // as the SDK: the end of its other stream is no end of the call
			change(&v)
			heard := &listener{}
			s, err := v.through(t.Context(), heard)
			if err != nil {
				t.Fatal(err)
			}
			before, slow := y.recorded(t, "call.executed", "slow"), y.side.count("slow")
			running := make(chan error, 1)
			go func() {
				_, err := s.CallTool(context.Background(), &mcp.CallToolParams{Name: "slow", Arguments: m{}})
				running <- err
			}()
			testserver.Soon(t, "the call runs", func() bool { return y.side.count("slow") > slow })
			if _, err := y.Owner.KillScope(t.Context(), y.ID, "key", key.ID, "it ran away", false); err != nil {
				t.Fatal(err)
			}
			select {
			case <-running:
			case <-time.After(patience):
				t.Fatalf("%s: the agent still waits", name)
			}
			for _, want := range []string{
				`"code":-32060`, "may have run", `"rule":"stopped_while_running"`, `"decisionId":"`,
			} {
				if !strings.Contains(heard.String(), want) {
					t.Errorf("%s: the agent hears %s, without %s", name, heard, want)
				}
			}
			testserver.Soon(t, "the outcome is recorded", func() bool {
				return y.recorded(t, "call.executed", "slow") == before+1
			})
			page, err := y.Owner.LogEntries(t.Context(), y.ID, client.LogFilter{Action: "call.executed", Tool: "slow"})
			if err != nil ||
				!strings.Contains(testserver.JSON(t, page.Items[0]), "its caller was stopped while the call ran") {
				t.Errorf("%s: recorded %s, %v", name, testserver.JSON(t, page.Items), err)
			}
			testserver.Soon(t, "its session has ended", func() bool { return y.front().Sessions() == 0 })
		}
	})
}

// TestNamesAreUniqueAndFit registers servers whose tools would share names.
func TestNamesAreUniqueAndFit(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, y *yard) {
		y.register("yard two: the sequel", startSide(t, false).URL)
		y.register("yard__e", startSide(t, false).URL)
		s := y.all().connect(t)
		seen := names(t, s)
		if len(slices.Compact(slices.Sorted(slices.Values(seen)))) != len(seen) || len(seen) != 33 {
			t.Errorf("%d names: %v", len(seen), seen)
		}
		for _, name := range seen {
			if len(name) > 64 || strings.ContainsAny(name, " :/") {
				t.Errorf("%q is no name", name)
			}
			if strings.Contains(name, "__echo") {
				if r := call(t, s, name, m{"text": "hi"}); r.IsError {
					t.Errorf("%s: %s", name, textOf(r))
				}
			}
		}
		if prompts, err := s.ListPrompts(t.Context(), nil); err != nil || len(prompts.Prompts) != 3 {
			t.Errorf("%+v, %v", prompts, err)
		}
		got, err := s.GetPrompt(t.Context(), &mcp.GetPromptParams{
			Name: "yard__greet", Arguments: map[string]string{"who": "Bo"},
		})
		if err != nil || len(got.Messages) != 1 {
			t.Errorf("%+v, %v", got, err)
		}
		// Three servers have this resource.
		if _, err := s.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "yard://log"}); codeOf(err) != -32602 {
			t.Errorf("a resource of several servers: %v", err)
		}
	})
}

// TestAChangedToolIsNeitherShownNorRun changes a tool behind the back of who accepted it.
func TestAChangedToolIsNeitherShownNorRun(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, y *yard) {
		s := y.one().connect(t)
		changed := func(what string) {
			schema := json.RawMessage(`{"type":"object"}`)
			y.side.server.AddTool(&mcp.Tool{Name: "pay", Description: what, InputSchema: schema},
				func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
					y.side.mu.Lock()
					defer y.side.mu.Unlock()
					y.side.calls["pay"]++
					return &mcp.CallToolResult{}, nil
				})
		}
		changed("Pays, and tells a friend.")
		if _, err := y.Owner.RefreshMCPServer(t.Context(), y.ID, "yard"); err != nil {
			t.Fatal(err)
		}
		if seen := names(t, s); slices.Contains(seen, "pay") {
			t.Errorf("sees %v", seen)
		}
		if d := decisionOf(t, call(t, s, "pay", m{})); d["decision"] != "hold" {
			t.Errorf("%v", d)
		}
		if n := y.side.count("pay"); n != 0 {
			t.Errorf("it ran %d times", n)
		}
	}, "WRIT_PROXY_HOLD_SECONDS", "0")
}

// TestANameWithASpaceIsNoOther adds a tool that nobody has accepted, whose name is that of an accepted one and a space.
func TestANameWithASpaceIsNoOther(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, y *yard) {
		s, added := y.one().connect(t), []string{"pay ", " pay", "pay\u00a0"}
		for _, name := range added {
			y.side.server.AddTool(&mcp.Tool{Name: name, InputSchema: json.RawMessage(`{"type":"object"}`)},
				func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
					y.side.note(name, req)
					return &mcp.CallToolResult{}, nil
				})
		}
		if _, err := y.Owner.RefreshMCPServer(t.Context(), y.ID, "yard"); err != nil {
			t.Fatal(err)
		}
		for _, name := range added {
			result, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: m{}})
			if err == nil && !result.IsError {
				t.Errorf("%q is called", name)
			}
			if n := y.side.count(name); n != 0 {
				t.Errorf("%q ran %d times", name, n)
			}
		}
		// Other surfaces cannot tell which of them a caller runs: a person looks first.
		if d := decisionOf(t, call(t, s, "pay", m{})); d["decision"] != "hold" || y.side.count("pay") != 0 {
			t.Errorf("the one that was accepted: %v", d)
		}
	}, "WRIT_PROXY_HOLD_SECONDS", "0")
}

// TestCancellationReachesTheServer cancels a call that runs.
func TestCancellationReachesTheServer(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, y *yard) {
		s := y.one().connect(t)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			_, err := s.CallTool(ctx, &mcp.CallToolParams{Name: "slow", Arguments: m{}})
			ended <- err
		}()
		testserver.Soon(t, "the call runs", func() bool { return y.side.count("slow") == 1 })
		cancel()
		if err := <-ended; err == nil {
			t.Error("the call ended well")
		}
		testserver.Soon(t, "the server hears of it", func() bool {
			y.side.mu.Lock()
			defer y.side.mu.Unlock()
			return y.side.cancelled == 1
		})
	})
}

// TestAServerThatDies goes away in a call, and harms no other.
func TestAServerThatDies(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, y *yard) {
		other := startSide(t, false)
		y.register("other", other.URL)
		s := y.all().connect(t)
		call(t, s, "yard__echo", m{"text": "a"})
		ended := make(chan error, 1)
		go func() {
			_, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "yard__slow", Arguments: m{}})
			ended <- err
		}()
		testserver.Soon(t, "the call runs", func() bool { return y.side.count("slow") == 1 })
		y.side.http.CloseClientConnections()
		_ = y.side.http.Listener.Close()
		select {
		case err := <-ended:
			if codeOf(err) != -32061 || !strings.Contains(err.Error(), "yard") ||
				!strings.Contains(err.Error(), "may have run") {
				t.Errorf("a call in which the server dies: %v", err)
			}
		case <-time.After(patience):
			t.Fatal("the call does not end")
		}
		_, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "yard__echo", Arguments: m{"text": "b"}})
		if codeOf(err) != -32061 || !strings.Contains(err.Error(), "has not run") {
			t.Errorf("a call of a dead server: %v", err)
		}
		if r := call(t, s, "other__echo", m{"text": "c"}); r.IsError {
			t.Error(textOf(r))
		}
		if n := y.side.count("slow"); n != 1 {
			t.Errorf("the call was sent %d times", n)
		}
	})
}

// TestSessionsAreNotShared has two clients call the same server.
func TestSessionsAreNotShared(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, y *yard) {
		for range 2 {
			s := y.one().connect(t)
			call(t, s, "echo", m{"text": "a"})
			call(t, s, "echo", m{"text": "b"})
		}
		y.side.mu.Lock()
		defer y.side.mu.Unlock()
		if len(y.side.sessions) != 2 {
			t.Errorf("%d sessions with the server, want one for each client", len(y.side.sessions))
		}
	})
}

// TestBadMessagesAreRefused sends what no client should.
func TestBadMessagesAreRefused(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, y *yard) {
		s := y.one().connect(t)
		good := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"pay","arguments":{}}}`
		const ping = `{"jsonrpc":"2.0","id":1,"method":"ping"}`
		long, deep := strings.Repeat("a", 2<<20), strings.Repeat("[", 5000)+strings.Repeat("]", 5000)
		for what, sent := range map[string]struct {
			body    string
			headers []string
			status  int
			says    string
		}{
			"a batch":           {"[" + good + "]", nil, 400, "batches"},
			"a member twice":    {`{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/call"}`, nil, 400, "twice"},
			"no UTF-8":          {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\xff\"}", nil, 400, "no JSON"},
			"no JSON":           {`{"jsonrpc":`, nil, 400, "no JSON"},
			"two messages":      {good + good, nil, 400, "no JSON"},
			"another version":   {`{"jsonrpc":"1.0","id":1,"method":"ping"}`, nil, 400, "jsonrpc"},
			"an id like none":   {`{"jsonrpc":"2.0","id":{},"method":"ping"}`, nil, 400, "id:"},
			"another method":    {good, []string{"Mcp-Method", "tools/list"}, 400, "Mcp-Method"},
			"another name":      {good, []string{"Mcp-Name", "echo"}, 400, "Mcp-Name"},
			"a name of nothing": {ping, []string{"Mcp-Name", "echo"}, 400, "Mcp-Name"},
			"too long":          {`{"jsonrpc":"2.0","id":1,"method":"` + long + `"}`, nil, 413, "larger"},
			"too deep":          {`{"jsonrpc":"2.0","id":1,"method":"ping","params":` + deep + `}`, nil, 400, "deep"},
		} {
			headers := append([]string{"X-Api-Key", y.key, "Mcp-Session-Id", s.ID(), "Content-Type", "application/json",
				"Accept", "application/json, text/event-stream"}, sent.headers...)
			answer := y.Request(t, "POST", "/proxy/mcp/yard", sent.body, headers...)
			if answer.Status != sent.status || !strings.Contains(string(answer.Body), sent.says) {
				t.Errorf("%s: %d %s", what, answer.Status, answer.Body)
			}
		}
		answer := y.Request(t, "POST", "/proxy/mcp/yard", good, "X-Api-Key", y.key, "Content-Type", "application/json",
			"Accept", "application/json, text/event-stream")
		if answer.Status != 400 || !strings.Contains(string(answer.Body), "initialize") {
			t.Errorf("without a session: %d %s", answer.Status, answer.Body)
		}
		if n := y.side.count("pay"); n != 0 {
			t.Errorf("a refused message ran %d times", n)
		}
		if r := call(t, s, "echo", m{"text": "still there"}); r.IsError {
			t.Error(textOf(r))
		}
	}, "WRIT_MAX_BODY_BYTES", "1048576")
}

// closeLog makes the database refuse every new entry of the log.
func closeLog(t *testing.T, y *yard) {
	t.Helper()
	statements := []string{
		`CREATE TRIGGER log_closed BEFORE INSERT ON audit_entry BEGIN SELECT RAISE(ABORT, 'the log is closed'); END`,
	}
	if y.Database.Engine() != database.SQLite {
		statements = []string{
			`CREATE OR REPLACE FUNCTION log_closed() RETURNS trigger LANGUAGE plpgsql AS ` +
				`'BEGIN RAISE EXCEPTION ''the log is closed''; END'`,
			`CREATE TRIGGER log_closed BEFORE INSERT ON audit_entry FOR EACH ROW EXECUTE FUNCTION log_closed()`,
		}
	}
	err := y.Database.Write(t.Context(), database.Change{Do: func(ctx context.Context, tx *database.Tx) error {
		for _, statement := range statements {
			if _, err := tx.Exec(ctx, statement); err != nil {
				return err
			}
		}
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
}

// TestNothingPassesWithoutDecisions takes the audit log away.
func TestNothingPassesWithoutDecisions(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, y *yard) {
		s := y.one().connect(t)
		call(t, s, "echo", m{"text": "a"})
		closeLog(t, y)
		r, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "pay", Arguments: m{}})
		if err == nil && !r.IsError {
			t.Errorf("%+v", r)
		}
		if n := y.side.count("pay"); n != 0 {
			t.Errorf("it ran %d times", n)
		}
	})
}

// TestEndedSessionsLeaveNothing opens and ends sessions of each kind.
func TestEndedSessionsLeaveNothing(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, y *yard) {
		for _, v := range []visit{y.one(), y.all(), {url: y.one().url, key: y.key, version: stateless},
			{url: y.one().url, key: y.key, version: withSessions, sse: true}} {
			s, err := v.try(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if _, err := s.ListTools(t.Context(), nil); err != nil {
				t.Error(err)
			}
			if err := s.Close(); err != nil {
				t.Logf("close: %v", err)
			}
		}
		testserver.Soon(t, "no session is left", func() bool { return y.front().Sessions() == 0 })
	})
}

// TestAKeyInAuthorization also serves what speaks no MCP.
func TestAKeyInAuthorization(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, y *yard) {
		v := y.one()
		v.more, v.key = http.Header{"Authorization": {"Bearer " + y.key}}, ""
		if seen := names(t, v.connect(t)); len(seen) == 0 {
			t.Error("sees nothing")
		}
		request, err := http.NewRequestWithContext(t.Context(), "POST", v.url, strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(answer.Body)
		_ = answer.Body.Close()
		if answer.StatusCode != http.StatusUnauthorized || !strings.Contains(string(body), "API key") {
			t.Errorf("%d %s", answer.StatusCode, body)
		}
	})
}
