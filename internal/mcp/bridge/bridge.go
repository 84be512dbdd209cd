// Package bridge serves an MCP server that is a program (stdio) by streamable HTTP, so that the proxy can reach it.
//
// Whoever runs the bridge names the command, on their own machine: nobody who calls it, and no tenant of a Writ server,
// can. Each session has a process of its own, because such programs serve one client. Every request must carry the
// bridge's token: what listens on a machine can be reached by every program and web page on it.
//
// The messages are passed on as they are, in both directions. What a program sends of its own accord goes to the
// session's stream (GET), which no message of a program says more about.
package bridge

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"io"
	"net/http"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"writ/internal/mcp/family"
)

// Limits of a bridge where Options state none.
const (
	DefaultSessions = 100
	DefaultIdle     = 30 * time.Minute
	maxBody         = 8 << 20
	// endTime is how long a program may take to end when its input has ended, before it is made to.
	endTime = 2 * time.Second
)

// Path is where a bridge answers, and nowhere else: a server that is registered with a slip in its address is not one
// that works.
const Path = "/mcp"

const sessionHeader = "Mcp-Session-Id"

// Options say what is served.
type Options struct {
	Command []string
	Token   string        // that callers present as Authorization: Bearer; never empty
	Most    int           // sessions at once; 0: DefaultSessions
	Idle    time.Duration // after which a session that nobody uses ends; 0: DefaultIdle
	Stderr  io.Writer     // what the programs say beside the protocol; nil: nobody reads it
}

// Bridge serves one program. Close it.
type Bridge struct {
	Options
	token [sha256.Size]byte

	mu       sync.Mutex
	sessions map[string]*session
	closed   bool
	ending   sync.WaitGroup
}

// New makes a Bridge.
func New(o Options) *Bridge {
	if o.Most <= 0 {
		o.Most = DefaultSessions
	}
	if o.Idle <= 0 {
		o.Idle = DefaultIdle
	}
	return &Bridge{Options: o, token: sha256.Sum256([]byte(o.Token)), sessions: map[string]*session{}}
}

// session is a client's session, and the process that serves it.
type session struct {
	b     *Bridge
	id    string
	http  *mcp.StreamableServerTransport
	down  mcp.Connection
	up    mcp.Connection
	all   family.Family // of the program
	close sync.Once

	fromClient *unanswered
	told       sync.Once // that the program has ended

	mu   sync.Mutex
	open int // requests that are being answered
	idle *time.Timer
}

// Close ends all sessions and their processes.
func (b *Bridge) Close() {
	b.mu.Lock()
	b.closed = true
	all := make([]*session, 0, len(b.sessions))
	for _, s := range b.sessions {
		all = append(all, s)
	}
	b.mu.Unlock()
	for _, s := range all {
		s.end()
	}
	b.ending.Wait()
}

// Sessions is how many are open.
func (b *Bridge) Sessions() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.sessions)
}

// ServeHTTP answers a request by the session that it names; initialize begins one.
func (b *Bridge) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !b.admits(r) {
		w.Header().Set("WWW-Authenticate", "Bearer")
		http.Error(w, "the token of this bridge is missing or wrong", http.StatusUnauthorized)
		return
	}
	if r.URL.Path != Path {
		http.Error(w, "nothing is served here: the address ends with "+Path, http.StatusNotFound)
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxBody)
	id := r.Header.Get(sessionHeader)
	if id == "" {
		b.begin(w, r)
		return
	}
	b.mu.Lock()
	s := b.sessions[id]
	b.mu.Unlock()
	switch {
	case s == nil:
		http.Error(w, "no such session: send initialize again", http.StatusNotFound)
	case r.Method == http.MethodDelete:
		s.end()
		w.WriteHeader(http.StatusNoContent)
	case r.Method == http.MethodGet || r.Method == http.MethodPost:
		s.serve(w, r)
	default:
		http.Error(w, "unsupported method", http.StatusMethodNotAllowed)
	}
}

// admits reports whether a request has the token. A bridge without one admits nobody.
func (b *Bridge) admits(r *http.Request) bool {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	presented := sha256.Sum256([]byte(token))
	return b.Token != "" && strings.EqualFold(scheme, "Bearer") &&
		subtle.ConstantTimeCompare(presented[:], b.token[:]) == 1
}

// begin starts a session for a request that names none.
func (b *Bridge) begin(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		http.Error(w, "there is no session: send initialize first", http.StatusBadRequest)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, "the message cannot be read, or is too long", http.StatusRequestEntityTooLarge)
		return
	}
	var m struct {
		Method string `json:"method"`
	}
	if json.Unmarshal(body, &m) != nil || m.Method != "initialize" {
		http.Error(w, "there is no session: send initialize first", http.StatusBadRequest)
		return
	}
	s, status, reason := b.open(r.Context())
	if s == nil {
		http.Error(w, reason, status)
		return
	}
	r.Body = io.NopCloser(strings.NewReader(string(body)))
	s.serve(w, r)
}

// open starts a process and the session that it serves.
func (b *Bridge) open(ctx context.Context) (s *session, status int, reason string) {
	s = &session{b: b, id: rand.Text(), fromClient: newUnanswered()}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed || len(b.sessions) >= b.Most {
		return nil, http.StatusServiceUnavailable, "too many sessions are open: try again later"
	}
	ctx = context.WithoutCancel(ctx) // the session outlives the request
	program := exec.Command(b.Command[0], b.Command[1:]...)
	program.Stderr, program.WaitDelay = b.Stderr, endTime
	family.Prepare(program)
	var err error
	s.up, err = (&mcp.CommandTransport{Command: program, TerminateDuration: endTime}).Connect(ctx)
	if err != nil {
		return nil, http.StatusBadGateway, "the program does not start"
	}
	s.all = family.Of(program)
	s.http = &mcp.StreamableServerTransport{SessionID: s.id}
	if s.down, err = s.http.Connect(ctx); err != nil {
		_ = s.up.Close()
		s.all.End(endTime)
		return nil, http.StatusInternalServerError, "the session cannot be opened"
	}
	s.idle = time.AfterFunc(b.Idle, s.end)
	b.sessions[s.id] = s
	b.ending.Add(2)
	go s.pass(ctx, s.down, s.up)
	go s.pass(ctx, s.up, s.down)
	return s, 0, ""
}

// serve answers a request within the session, which is not idle meanwhile.
func (s *session) serve(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.open++
	s.idle.Stop()
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.open--; s.open == 0 {
			s.idle.Reset(s.b.Idle)
		}
	}()
	w.Header().Set(sessionHeader, s.id)
	s.http.ServeHTTP(w, r)
}

// pass passes messages on, until either end has no more. The session ends then.
func (s *session) pass(ctx context.Context, from, to mcp.Connection) {
	defer s.b.ending.Done()
	defer s.end()
	for {
		message, err := from.Read(ctx)
		if err != nil {
			if from == s.up {
				s.programEnded(ctx)
			}
			return
		}
		if refused := s.see(message, from == s.down); refused != nil {
			_ = s.down.Write(ctx, refused) // or nobody listens any more
			continue
		}
		if err := to.Write(ctx, message); err != nil && to == s.up {
			s.programEnded(ctx)
			return // a client that does not listen is no reason to end
		}
	}
}

// end ends the session and its process, with all that this has started, behind the caller's back.
func (s *session) end() {
	s.close.Do(func() {
		s.idle.Stop()
		s.b.mu.Lock()
		delete(s.b.sessions, s.id)
		s.b.mu.Unlock()
		s.b.ending.Add(1)
		go func() {
			defer s.b.ending.Done()
			_ = s.down.Close()
			_ = s.up.Close() // however the program ends
			s.all.End(endTime)
		}()
	})
}
