package gateway

import (
	"context"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// A session that is ended cancels what runs in it at once. Whoever waits for an answer still gets one, which says why:
// a client that is told nothing waits until it gives up, and cannot know whether its call ran.

// lastWords is how long the answers may take. It is more than it takes to record what came of a call.
const lastWords = 5 * time.Second

// parting is how long streams stay after the last answer: some clients drop what they have not looked at yet when one
// ends.
const parting = 200 * time.Millisecond

// close ends the session, its streams and its links. It waits neither for servers that do not answer nor for anything
// of the session that does not end: others are to be closed too.
func (s *session) close(cause error) {
	s.closing.Do(func() {
		s.g.sessions.releasing.Add(1)
		s.end(cause)
		s.g.sessions.remove(s)
		if s.mu.TryLock() {
			s.release()
			return
		}
		go func() {
			s.mu.Lock()
			s.release()
		}()
	})
}

// release ends what a closed session holds, when what it owes is sent. The caller holds the lock, which this gives
// back.
func (s *session) release() {
	links, down := s.links, s.down
	s.links = nil
	var even chan struct{}
	if s.owed > 0 {
		even = make(chan struct{})
		s.even = even
	}
	s.mu.Unlock()
	free := func() {
		defer s.g.sessions.releasing.Done()
		for _, l := range links {
			l.close()
		}
		if down != nil && !s.stateless {
			// It waits for handlers, which end with the session.
			go func() { _ = down.Close() }()
		}
	}
	if even == nil {
		free()
		return
	}
	go func() {
		defer free()
		timer := time.NewTimer(lastWords)
		defer timer.Stop()
		select {
		case <-even:
			time.Sleep(parting)
		case <-timer.C:
		}
	}()
}

// owes notes that the client waits for an answer, until paid.
func (s *session) owes() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.owed++
}

func (s *session) paid() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.owed--; s.owed == 0 && s.even != nil {
		close(s.even)
		s.even = nil
	}
}

// outlasting is a context that ends a little after the session, so that what is owed can be sent.
func (s *session) outlasting(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(s.life, func() { time.AfterFunc(lastWords, cancel) })
	return ctx, func() { stop(); cancel() }
}

// counted is a transport that notes what its session owes: by the old one answers come on another exchange than
// requests.
type counted struct {
	*sdk.SSEServerTransport
	s *session
}

// Connect opens it.
func (c counted) Connect(ctx context.Context) (sdk.Connection, error) {
	connection, err := c.SSEServerTransport.Connect(ctx)
	return &countedConnection{connection, c.s}, err
}

type countedConnection struct {
	sdk.Connection
	s *session
}

// Read reads a message of the client.
func (c *countedConnection) Read(ctx context.Context) (jsonrpc.Message, error) {
	m, err := c.Connection.Read(ctx)
	if request, ok := m.(*jsonrpc.Request); ok && err == nil && request.IsCall() {
		c.s.owes()
	}
	return m, err
}

// Write sends the client a message.
func (c *countedConnection) Write(ctx context.Context, m jsonrpc.Message) error {
	if _, ok := m.(*jsonrpc.Response); ok {
		defer c.s.paid()
	}
	return c.Connection.Write(ctx, m)
}
