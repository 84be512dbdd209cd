package proxy_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"writ/client"
	"writ/internal/database"
	"writ/internal/database/dbtest"
	"writ/internal/testserver"
)

// The soak that runs with all other tests. SOAK_CALLS and SOAK_SESSIONS make it larger: make soak-proxy.
const (
	soakCalls    = 1_000
	soakSessions = 20
	soakServers  = 5
	callsToDeath = 40 // of calls, one makes its server die before it answers
)

// book counts how often each call ran, whatever became of the server that ran it.
type book struct {
	mu  sync.Mutex
	ran map[string]int
}

func (b *book) note(id string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ran[id]++
}

// mortal is an MCP server that dies and comes back at the same address, without its sessions.
type mortal struct {
	address string
	book    *book
	deaths  atomic.Int64
	back    sync.WaitGroup // comes back
	conns   atomic.Int64   // open now
	busy    atomic.Int64   // of those, with a request

	mu     sync.Mutex // guards the rest
	web    *http.Server
	server *mcp.Server   // nil: it is dead
	lives  []*mcp.Server // that have ended
}

// startMortal serves until the test ends. Whoever starts first ends last: a Writ that is started after it has closed
// its connections by then.
func startMortal(t *testing.T, b *book) *mortal {
	t.Helper()
	s := &mortal{address: "127.0.0.1:0", book: b}
	if err := s.live(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		testserver.Soon(t, "the connections of a stopped Writ are closed", func() bool { return s.conns.Load() == 0 })
		s.end()
	})
	return s
}

// live begins to serve.
func (s *mortal) live() error {
	listener, err := net.Listen("tcp", s.address)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.address = listener.Addr().String()
	server := mcp.NewServer(&mcp.Implementation{Name: "mortal", Version: "1"}, nil)
	server.AddTool(&mcp.Tool{Name: "run", InputSchema: json.RawMessage(`{"type":"object"}`)}, s.run)
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil)
	s.server, s.web = server, &http.Server{Handler: handler, ConnState: s.count()}
	go func(web *http.Server) { _ = web.Serve(listener) }(s.web) // until it dies
	return nil
}

// count counts connections by what they do.
func (s *mortal) count() func(net.Conn, http.ConnState) {
	var mu sync.Mutex
	states := map[net.Conn]http.ConnState{}
	return func(c net.Conn, now http.ConnState) {
		mu.Lock()
		defer mu.Unlock()
		if states[c] == http.StateActive {
			s.busy.Add(-1)
		}
		states[c] = now
		switch now {
		case http.StateNew:
			s.conns.Add(1)
		case http.StateActive:
			s.busy.Add(1)
		case http.StateClosed, http.StateHijacked:
			s.conns.Add(-1)
			delete(states, c)
		}
	}
}

// run does what a call asks: it is noted, may take a moment, and may be the last that the server does.
func (s *mortal) run(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	var in struct {
		ID    string        `json:"id"`
		Takes time.Duration `json:"takes"`
		Dies  bool          `json:"dies"`
	}
	if err := json.Unmarshal(req.Params.Arguments, &in); err != nil {
		return nil, err
	}
	s.book.note(in.ID)
	if in.Dies {
		s.die(in.Takes)
	} else {
		time.Sleep(in.Takes) // so that others die in the middle of it
	}
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: in.ID}}}, nil
}

// die closes every connection at once, and comes back after a time.
func (s *mortal) die(after time.Duration) {
	if !s.end() {
		return // it is dead already
	}
	s.deaths.Add(1)
	s.back.Go(func() {
		time.Sleep(after * 800)                               // some wait longer than calls are tried again
		if err := testserver.Eventually(s.live); err != nil { // another program may have taken the port for a moment
			panic(err)
		}
	})
}

// end ends this life.
func (s *mortal) end() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.server == nil {
		return false
	}
	_ = s.web.Close()
	s.lives = append(s.lives, s.server)
	s.server = nil
	s.closeSessions()
	return true
}

// bury closes sessions that were opened while a life ended.
func (s *mortal) bury() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closeSessions()
}

func (s *mortal) closeSessions() {
	for _, ended := range s.lives {
		for session := range ended.Sessions() {
			go func() { _ = session.Close() }() // it may wait for the call that ends it
		}
	}
}

// size is one of the soak, from the environment.
func size(t *testing.T, name string, otherwise int) int {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("%s is no number: %q", name, text)
	}
	return n
}

// TestSoak makes many calls while their servers die at random. No outcome is lost, no call runs twice, and nothing is
// left behind. It runs beside no other test of this package, because it counts what the process has open.
func TestSoak(t *testing.T) {
	for name, options := range map[string]func(testing.TB) database.Options{
		string(database.SQLite): dbtest.SQLite, string(database.PostgreSQL): dbtest.Postgres,
	} {
		t.Run(name, func(t *testing.T) {
			b := &book{ran: map[string]int{}}
			var servers []*mortal
			for range soakServers {
				servers = append(servers, startMortal(t, b))
			}
			s := testserver.Start(t, options(t), proxied...)
			soak(t, s, servers, b)
		})
	}
}

func soak(t *testing.T, s *testserver.Server, servers []*mortal, b *book) {
	owner := s.Person("owner")
	y := &yard{Org: &testserver.Org{Server: s, Owner: owner, ID: s.Organization(owner, "Harbour")}, T: t}
	y.reachedAt()
	y.key = s.AgentKey(owner, y.ID).APIKey
	s.ActivePolicy(owner, y.ID, permissive)
	for i, server := range servers {
		y.register(fmt.Sprint("mortal", i), "http://"+server.address+"/mcp")
	}
	before := working()
	answered := y.callMortals(size(t, "SOAK_CALLS", soakCalls), size(t, "SOAK_SESSIONS", soakSessions))
	deaths := int64(0)
	for _, server := range servers {
		server.back.Wait()
		deaths += server.deaths.Load()
	}
	if deaths == 0 {
		t.Fatal("no server has died")
	}
	y.wantOutcomes(answered, b)
	testserver.Soon(t, "no session is left", func() bool { return s.Gateway.Sessions() == 0 })
	for _, server := range servers {
		testserver.Soon(t, "no connection is used", func() bool { return server.busy.Load() == 0 })
	}
	var after int
	if err := testserver.Eventually(func() error {
		for _, server := range servers {
			server.bury()
		}
		if after = working(); after > before {
			return errors.New("goroutines are left")
		}
		return nil
	}); err != nil {
		t.Errorf("%d goroutines of sessions, %d before:\n%s", after, before, stacks())
	}
	t.Logf("servers died %d times", deaths)
}

// callMortals makes calls over sessions, and gives those that were answered, by id.
func (y *yard) callMortals(calls, sessions int) (answered map[string]bool) {
	y.T.Helper()
	var mu sync.Mutex
	var all sync.WaitGroup
	answered = map[string]bool{}
	problems := make(chan error, sessions)
	for n := range sessions {
		all.Go(func() {
			random := rand.New(rand.NewPCG(uint64(n), 24))
			each := calls / sessions
			v, web := y.all(), &http.Transport{}
			defer web.CloseIdleConnections()
			session, err := v.through(y.T.Context(), web)
			if err != nil {
				problems <- fmt.Errorf("session %d: %w", n, err)
				return
			}
			defer func() { _ = session.Close() }()
			for i := range each {
				id := fmt.Sprintf("s%03d-c%03d", n, i)
				ok, err := runMortal(y.T.Context(), session, id, random)
				if err != nil {
					problems <- fmt.Errorf("%s: %w", id, err)
					return
				}
				mu.Lock()
				answered[id] = ok
				mu.Unlock()
			}
		})
	}
	all.Wait()
	close(problems)
	for err := range problems {
		y.T.Error(err)
	}
	return answered
}

// runMortal makes one call, and reports whether it was answered. It is an error if anything but the server failed.
func runMortal(ctx context.Context, s *mcp.ClientSession, id string, random *rand.Rand) (bool, error) {
	result, err := s.CallTool(ctx, &mcp.CallToolParams{
		Name: fmt.Sprintf("mortal%d__run", random.IntN(soakServers)),
		Arguments: m{
			"id": id, "takes": time.Duration(random.IntN(4)) * time.Millisecond,
			"dies": random.IntN(callsToDeath) == 0,
		},
	})
	switch {
	case codeOf(err) == -32061:
		return false, nil
	case err != nil:
		return false, err
	case result.IsError || textOf(result) != id:
		return false, fmt.Errorf("the answer is %q", textOf(result))
	}
	return true, nil
}

// wantOutcomes holds what ran and what was answered against the log.
func (y *yard) wantOutcomes(answered map[string]bool, b *book) {
	y.T.Helper()
	decided, reported := y.logged("call.decided", "arguments"), y.logged("call.executed", "input")
	b.mu.Lock()
	defer b.mu.Unlock()
	tally := map[string]int{}
	for id, ok := range answered {
		ran, statuses := b.ran[id], reported[id]
		if len(decided[id]) != 1 || len(statuses) != 1 {
			y.T.Errorf("%s has %d decisions and the outcomes %v", id, len(decided[id]), statuses)
			continue
		}
		tally[statuses[0]]++
		switch statuses[0] {
		case "success":
			if !ok || ran != 1 {
				y.T.Errorf("%s counts as done: answered %t, ran %d times", id, ok, ran)
			}
		case "failed": // it was not sent
			if ok || ran != 0 {
				y.T.Errorf("%s counts as not sent: answered %t, ran %d times", id, ok, ran)
			}
		default:
			if ok || ran > 1 {
				y.T.Errorf("%s counts as %s: answered %t, ran %d times", id, statuses[0], ok, ran)
			}
		}
	}
	if len(reported) != len(answered) || len(decided) != len(answered) {
		y.T.Errorf("%d calls have %d decisions and %d outcomes", len(answered), len(decided), len(reported))
	}
	y.T.Logf("%d calls: %v", len(answered), tally)
}

// logged are the statuses of the entries of an action, by the id of their call.
func (y *yard) logged(action, member string) map[string][]string {
	y.T.Helper()
	found := map[string][]string{}
	filter := client.LogFilter{Action: action, List: client.List{Limit: 200}}
	for {
		page, err := y.Owner.LogEntries(y.T.Context(), y.ID, filter)
		if err != nil {
			y.T.Fatal(err)
		}
		for _, entry := range page.Items {
			var payload m
			if err := json.Unmarshal(entry.Payload, &payload); err != nil {
				y.T.Fatal(err)
			}
			sent, _ := payload[member].(m)
			id, _ := sent["id"].(string)
			status, _ := payload["status"].(string)
			found[id] = append(found[id], status)
		}
		if !page.HasMore {
			return found
		}
		filter.Cursor = page.NextCursor
	}
}

// working is how many goroutines work for sessions, of clients, of the proxy or of servers.
func working() (n int) {
	for _, stack := range strings.Split(stacks(), "\n\n") {
		if slices.ContainsFunc(owners, func(owner string) bool { return strings.Contains(stack, owner) }) {
			n++
		}
	}
	return n
}

// owners are in the stacks of what works for sessions.
var owners = []string{"writ/internal/gateway", "writ/internal/mcp/upstream", "go-sdk/mcp", "go-sdk/internal/jsonrpc2"}

// stacks are those of all goroutines.
func stacks() string {
	text := make([]byte, 1<<20)
	for {
		n := runtime.Stack(text, true)
		if n < len(text) {
			return string(text[:n])
		}
		text = make([]byte, 2*len(text))
	}
}
