package bridge

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// Limits of what is kept of a session's requests: a program need not answer, and its client need not wait.
const (
	maxUnanswered = 1000
	maxIDLength   = 1 << 10 // in bytes
)

// unanswered are the requests of a client that the program has not answered. Without it a client of a program that has
// ended would wait for nothing, and learn no reason.
type unanswered struct {
	asked chan struct{} // closed with the first request
	first sync.Once

	mu  sync.Mutex
	ids map[jsonrpc.ID]bool
}

func newUnanswered() *unanswered {
	return &unanswered{asked: make(chan struct{}), ids: map[jsonrpc.ID]bool{}}
}

// add reports why a request cannot be waited for; empty: it is.
func (u *unanswered) add(id jsonrpc.ID) (refused string) {
	if text, ok := id.Raw().(string); ok && len(text) > maxIDLength {
		return fmt.Sprintf("the id of the request has more than %d bytes", maxIDLength)
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.ids) >= maxUnanswered && !u.ids[id] {
		return fmt.Sprintf("the program of this MCP server has not answered %d requests of the session: cancel them, "+
			"or begin another session", maxUnanswered)
	}
	u.ids[id] = true
	u.first.Do(func() { close(u.asked) })
	return ""
}

func (u *unanswered) remove(id jsonrpc.ID) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.ids, id)
}

// take gives those that are left, once.
func (u *unanswered) take() (ids []jsonrpc.ID) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for id := range u.ids {
		ids = append(ids, id)
	}
	clear(u.ids)
	return ids
}

// see takes note of a message that is passed on, and gives the answer to one that is not; nil: it is. The program asks
// and answers too, by ids of its own.
func (s *session) see(message jsonrpc.Message, ofClient bool) *jsonrpc.Response {
	switch m := message.(type) {
	case *jsonrpc.Request:
		switch {
		case !ofClient:
		case m.IsCall():
			if refused := s.fromClient.add(m.ID); refused != "" {
				return &jsonrpc.Response{ID: m.ID, Error: &jsonrpc.Error{
					Code: jsonrpc.CodeInternalError, Message: refused,
				}}
			}
		case m.Method == "notifications/cancelled":
			s.fromClient.remove(cancelled(m.Params)) // nobody waits for the answer, and none need come
		}
	case *jsonrpc.Response:
		if !ofClient {
			s.fromClient.remove(m.ID)
		}
	}
	return nil
}

// cancelled is the request that a client cancels; the zero value is none that it can have made.
func cancelled(params json.RawMessage) jsonrpc.ID {
	var p struct {
		ID any `json:"requestId"`
	}
	if json.Unmarshal(params, &p) != nil {
		return jsonrpc.ID{}
	}
	id, err := jsonrpc.MakeID(p.ID)
	if err != nil {
		return jsonrpc.ID{}
	}
	return id
}

// programEnded says to the client and to whoever runs the bridge that the program has ended by itself. One that ends at
// once does so before the request that began its session is read.
func (s *session) programEnded(ctx context.Context) {
	s.told.Do(func() {
		if s.isEnding() {
			return
		}
		how := "exit status 0"
		if err := s.up.Close(); err != nil {
			how = err.Error()
		}
		if s.b.Stderr != nil {
			fmt.Fprintf(s.b.Stderr, "the program %s ended: %s\n", s.b.Command[0], how)
		}
		select {
		case <-s.fromClient.asked:
		case <-time.After(endTime):
		}
		for _, id := range s.fromClient.take() {
			_ = s.down.Write(ctx, &jsonrpc.Response{ID: id, Error: &jsonrpc.Error{ // or nobody listens any more
				Code: jsonrpc.CodeInternalError, Message: "the program of this MCP server has ended: " + how,
			}})
		}
	})
}

func (s *session) isEnding() bool {
	s.b.mu.Lock()
	defer s.b.mu.Unlock()
	return s.b.sessions[s.id] != s
}
