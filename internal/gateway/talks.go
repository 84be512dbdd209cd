package gateway

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"writ/internal/principal"
)

// Limits of the results that are kept for clients which ask for them again. A key may have MaxWaitingPerKey of them.
const (
	keptTime     = time.Minute
	maxKeptBytes = 16 << 20
)

// talks are those that wait for an answer, and those that have waited, by the state that the client sends back.
type talks struct {
	mu      sync.Mutex
	byState map[string]*turn
	states  map[*talk]string // the last one of each that has not ended
	limit   *waitingCalls
	kept    waitingCalls // those that have ended
	bytes   int          // of the results that are kept
}

// turn is a talk since it has put its last question.
type turn struct {
	*talk
	caller principal.Principal
	one    string
	q      *question // nil: it is answered, or the talk has ended
	done   func()    // see waitingCalls
	ended  bool
}

// wait keeps a talk until its question is answered, and the room of the body that it was sent with; ok is false if it
// must not wait, which its server is told.
func (ts *talks) wait(t *talk, q *question, body *held) (state string, ok bool) {
	done, ok := ts.limit.add(t.s.caller.KeyID)
	if !ok {
		close(q.answer)
		return "", false
	}
	state = rand.Text()
	ts.mu.Lock()
	defer ts.mu.Unlock()
	if !t.mayWait(body) {
		done()
		return "", false
	}
	if ts.byState == nil {
		ts.byState, ts.states = map[string]*turn{}, map[*talk]string{}
	}
	delete(ts.byState, ts.states[t])
	ts.states[t] = state
	ts.byState[state] = &turn{
		talk:   t,
		caller: t.s.caller,
		one:    t.s.one,
		q:      q,
		done:   done,
	}
	return state, true
}

// resume hands the answer to the talk that waits for it, or gives one that has ended since. It is the caller's own,
// about the same request, or none.
func (ts *talks) resume(s *session, r *round, about [sha256.Size]byte) (*talk, error) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	w := ts.byState[r.state]
	switch {
	case w == nil || w.about != about || w.one != s.one || !isSameCaller(w.caller, s.caller):
		return nil, &jsonrpc.Error{
			Code: jsonrpc.CodeInvalidParams,
			Message: "requestState: no call of yours waits for this answer, or not any more. One that has put a question has " +
				"ended then, and may have run: " + lookFirst(""),
		}
	case w.ended:
		return w.talk, nil
	case w.q == nil:
		return nil, &jsonrpc.Error{
			Code:    codeBusy,
			Message: "requestState: the call has its answer, and still runs: send this request again later for the result",
		}
	}
	if answer := r.answers[questionID]; len(r.answers) == 1 && answersTo(w.q, answer) {
		w.done()
		w.q.answer <- answer
		w.q = nil
		return w.talk, nil
	}
	return nil, &jsonrpc.Error{
		Code: jsonrpc.CodeInvalidParams, Message: "inputResponses: must be the answer to what was asked, and nothing else",
	}
}

// ended keeps the result of a talk for a while, and nothing else of it: the client may not have got the result, and
// must not make the call again for it.
func (ts *talks) ended(t *talk) {
	size := 0
	if text, err := json.Marshal(t.result); err == nil {
		size = len(text)
	}
	done, ok := ts.kept.add(t.s.caller.KeyID)
	ts.mu.Lock()
	defer ts.mu.Unlock()
	state := ts.states[t]
	delete(ts.states, t)
	w := ts.byState[state]
	if w.q != nil {
		w.done()
	}
	if !ok {
		delete(ts.byState, state)
		return
	}
	rest := &talk{
		about:    t.about,
		end:      func(error) {},
		done:     t.done,
		result:   t.result,
		err:      t.err,
		decision: t.decision,
	}
	if ts.bytes+size > maxKeptBytes {
		size, rest.result = 0, nil
		rest.err = &jsonrpc.Error{
			Code: codeEnded, Message: "The call has run, and its result is not kept: " + lookFirst(t.decision),
		}
	}
	ts.bytes += size
	ts.byState[state] = &turn{talk: rest, caller: w.caller, one: w.one, ended: true}
	time.AfterFunc(keptTime, func() {
		defer done()
		ts.mu.Lock()
		defer ts.mu.Unlock()
		delete(ts.byState, state)
		ts.bytes -= size
	})
}
