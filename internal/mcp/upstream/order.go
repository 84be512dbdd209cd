package upstream

import (
	"bytes"
	"context"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// settleTime is how long an answer waits for what came before it. Handlers take far less.
const settleTime = 500 * time.Millisecond

// announcements are what a server sends on the way to an answer. As a value of JSON the names have these quotes.
var announcements = [][]byte{[]byte(`"notifications/progress"`), []byte(`"notifications/message"`)}

// order keeps what a server sent before an answer before that answer: the SDK hands an answer over at once, and
// notifications one after the other, so that some would come when nobody waits for them any more.
type order struct {
	mu      sync.Mutex
	seen    int64 // notifications that were read
	handled int64
	changed chan struct{} // closed when more were handled
}

func newOrder() *order { return &order{changed: make(chan struct{})} }

// watch counts the notifications in what is read: behind carries the end of the part before.
func (o *order) watch(behind, part []byte) (end []byte) {
	text := append(behind, part...)
	found, last := 0, 0
	for _, name := range announcements {
		last = max(last, len(name)-1)
		found += bytes.Count(text, name) - bytes.Count(behind, name)
	}
	if found > 0 {
		o.mu.Lock()
		o.seen += int64(found)
		o.mu.Unlock()
	}
	return append([]byte(nil), text[max(0, len(text)-last):]...)
}

// prepare makes a client count what it has handled.
func (o *order) prepare(c *mcp.Client) {
	c.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			if method == "notifications/progress" || method == "notifications/message" {
				defer o.done()
			}
			return next(ctx, method, req)
		}
	})
}

func (o *order) done() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.handled++
	close(o.changed)
	o.changed = make(chan struct{})
}

// settle waits until what was read is handled. Whatever looks like a notification and is none is forgotten with time.
func (o *order) settle(ctx context.Context) {
	var enough <-chan time.Time
	o.mu.Lock()
	until := o.seen
	for o.handled < until {
		changed := o.changed
		o.mu.Unlock()
		if enough == nil {
			enough = time.After(settleTime)
		}
		select {
		case <-changed:
			o.mu.Lock()
		case <-enough:
			o.mu.Lock()
			o.handled = max(o.handled, until)
		case <-ctx.Done():
			return
		}
	}
	o.mu.Unlock()
}
