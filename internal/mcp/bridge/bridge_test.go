package bridge_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"writ/internal/mcp/bridge"
)

const token = "a-token-that-nobody-guesses"

// asProgram makes this test the program that is served.
const asProgram = "BRIDGE_TEST_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) == "" {
		os.Exit(m.Run())
	}
	server := mcp.NewServer(&mcp.Implementation{Name: "program", Version: "1"}, nil)
	type in struct {
		Text string `json:"text"`
	}
	kept := ""
	mcp.AddTool(server, &mcp.Tool{Name: "keep"}, func(
		ctx context.Context, req *mcp.CallToolRequest, in in,
	) (*mcp.CallToolResult, any, error) {
		if in.Text == "die" {
			os.Exit(3)
		}
		before := kept
		kept = in.Text
		said, err := req.Session.Elicit(ctx, &mcp.ElicitParams{ // asks the client in the middle of a call
			Message: "Where?", RequestedSchema: json.RawMessage(`{"type":"object","properties":{}}`),
		})
		if err != nil {
			return nil, nil, err
		}
		text := before + ">" + kept + "@" + said.Action
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil, nil
	})
	if err := server.Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		os.Exit(1)
	}
}

func start(t *testing.T, o bridge.Options) (*bridge.Bridge, string) {
	t.Helper()
	o.Command, o.Token = []string{"env", asProgram + "=1", os.Args[0]}, token
	b := bridge.New(o)
	server := httptest.NewServer(b)
	t.Cleanup(func() { server.CloseClientConnections(); server.Close(); b.Close() })
	return b, server.URL + "/mcp"
}

type bearer string

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	if b != "" {
		r.Header.Set("Authorization", "Bearer "+string(b))
	}
	return http.DefaultTransport.RoundTrip(r)
}

func connect(t *testing.T, url, token string) (*mcp.ClientSession, error) {
	return connectWithin(t.Context(), url, token)
}

func connectWithin(ctx context.Context, url, token string) (*mcp.ClientSession, error) {
	c := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{
		ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: "decline"}, nil
		},
	})
	return c.Connect(ctx, &mcp.StreamableClientTransport{
		Endpoint: url, HTTPClient: &http.Client{Transport: bearer(token)}, MaxRetries: -1,
	}, nil)
}

func keep(t *testing.T, s *mcp.ClientSession, text string) (string, error) {
	r, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "keep", Arguments: map[string]any{"text": text}})
	if err != nil {
		return "", err
	}
	return r.Content[0].(*mcp.TextContent).Text, nil
}

func soon(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !holds(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal(what)
		}
	}
}

// TestEachSessionHasItsProcess keeps something in two sessions.
func TestEachSessionHasItsProcess(t *testing.T) {
	b, url := start(t, bridge.Options{Most: 2})
	var sessions []*mcp.ClientSession
	for range 2 {
		s, err := connect(t, url, token)
		if err != nil {
			t.Fatal(err)
		}
		sessions = append(sessions, s)
	}
	for i, s := range sessions {
		for _, c := range [][2]string{{"a", ">a@decline"}, {"b", "a>b@decline"}} {
			if got, err := keep(t, s, c[0]); got != c[1] || err != nil {
				t.Errorf("session %d: %q, %v, want %q", i, got, err, c[1])
			}
		}
	}
	if _, err := connect(t, url, token); err == nil {
		t.Error("a third session is opened")
	}
	if err := sessions[0].Close(); err != nil {
		t.Error(err)
	}
	soon(t, "the session does not end", func() bool { return b.Sessions() == 1 })
	if _, err := keep(t, sessions[1], "die"); err == nil {
		t.Error("a program that dies answers")
	}
	soon(t, "the session of a dead program does not end", func() bool { return b.Sessions() == 0 })
}

// TestAProgramThatEndsAtOnce: its client and whoever runs the bridge learn how it ended.
func TestAProgramThatEndsAtOnce(t *testing.T) {
	var said strings.Builder
	b := bridge.New(bridge.Options{Command: []string{"false"}, Token: token, Stderr: &said})
	server := httptest.NewServer(b)
	_, err := connect(t, server.URL+"/mcp", token)
	if err == nil || !strings.Contains(err.Error(), "the program of this MCP server has ended: exit status 1") {
		t.Errorf("the client learns: %v", err)
	}
	server.CloseClientConnections()
	server.Close()
	b.Close()
	if said.String() != "the program false ended: exit status 1\n" {
		t.Errorf("whoever runs it reads %q", said.String())
	}
}

// TestTheTokenIsNeeded presents none, and another.
func TestTheTokenIsNeeded(t *testing.T) {
	b, url := start(t, bridge.Options{})
	for _, wrong := range []string{"", "another-token-of-the-length", token + "x"} {
		if _, err := connect(t, url, wrong); err == nil {
			t.Errorf("%q opens a session", wrong)
		}
	}
	s, err := connect(t, url, token)
	if err != nil {
		t.Fatal(err)
	}
	const ping = `{"jsonrpc":"2.0","id":9,"method":"ping"}`
	request, err := http.NewRequestWithContext(t.Context(), "POST", url, strings.NewReader(ping))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Mcp-Session-Id", s.ID())
	answer, err := http.DefaultClient.Do(request)
	if err != nil || answer.StatusCode != http.StatusUnauthorized {
		t.Errorf("a session without the token: %v, %v", answer, err)
	}
	if b.Sessions() != 1 {
		t.Errorf("%d sessions", b.Sessions())
	}
}

// TestAnIdleSessionEnds leaves one alone.
func TestAnIdleSessionEnds(t *testing.T) {
	b, url := start(t, bridge.Options{Idle: 50 * time.Millisecond})
	body := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},` +
		`"clientInfo":{"name":"t","version":"1"}}}`
	request, err := http.NewRequestWithContext(t.Context(), "POST", url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Accept", "application/json, text/event-stream")
	request.Header.Set("Content-Type", "application/json")
	answer, err := (&http.Client{Transport: bearer(token)}).Do(request)
	if err != nil || answer.StatusCode != http.StatusOK || answer.Header.Get("Mcp-Session-Id") == "" {
		t.Fatalf("%+v, %v", answer, err)
	}
	_ = answer.Body.Close()
	soon(t, "the session does not end", func() bool { return b.Sessions() == 0 })
}

// TestWhatAProgramStartsEndsWithIt: npx and the like are only the way to the program that serves.
func TestWhatAProgramStartsEndsWithIt(t *testing.T) {
	t.Parallel()
	for name, first := range map[string]string{
		"that ends when it is asked": "",
		"that does not":              `trap "" TERM; `,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			note := filepath.Join(t.TempDir(), "pid")
			script := first + `sleep 1000 & echo $! > "$0.part" && mv "$0.part" "$0"; wait; true`
			b := bridge.New(bridge.Options{Command: []string{"sh", "-c", script, note}, Token: token})
			server := httptest.NewServer(b)
			ctx, cancel := context.WithCancel(t.Context())
			asked := make(chan struct{})
			go func() {
				defer close(asked)
				_, _ = connectWithin(ctx, server.URL+"/mcp", token) // it never answers
			}()
			var pid string
			soon(t, "the program starts", func() bool {
				text, err := os.ReadFile(note)
				pid = strings.TrimSpace(string(text))
				return err == nil
			})
			if !runs(t, pid) {
				t.Error("it does not run")
			}
			cancel()
			<-asked
			server.CloseClientConnections()
			server.Close()
			b.Close()
			soon(t, "it has ended", func() bool { return !runs(t, pid) })
		})
	}
}

// runs reports whether a process runs: one that nobody has waited for yet does not.
func runs(t *testing.T, pid string) bool {
	t.Helper()
	said, err := exec.CommandContext(t.Context(), "ps", "-o", "stat=", "-p", pid).Output()
	if _, none := errors.AsType[*exec.ExitError](err); err != nil && !none {
		t.Fatal(err)
	}
	return err == nil && !strings.HasPrefix(strings.TrimSpace(string(said)), "Z")
}
