package gateway

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"writ/internal/canonical"
)

// A client without sessions is asked in the result of its request, and answers by sending the request again. Meanwhile
// the call waits here as it would in a session: it was judged once, it runs once, it is reported once, and the kill
// switch and its time limit end it. The state that the client sends back is a name for the call that waits, which
// counts once and says nothing to anybody else.

// questionID names the question of a round. One is put at a time, because each is judged when it is asked.
const questionID = "writ"

// round is a request of a client without sessions, as it can be sent again.
type round struct {
	method, subject string
	arguments       any
	answers         sdk.InputResponseMap
	state           string // empty: it is sent for the first time
}

// about is what the request is about, so that answers to one are not taken for those to another.
func (r *round) about() ([sha256.Size]byte, error) {
	text, err := json.Marshal([]any{r.method, r.subject, r.arguments})
	if err != nil {
		return [sha256.Size]byte{}, err
	}
	if same, err := canonical.Transform(text); err == nil { // members in another order are the same request
		text = same
	}
	return sha256.Sum256(text), nil
}

// question is what a server asks the client.
type question struct {
	params sdk.InputRequest
	answer chan sdk.InputResponse // has room for it; closed: the client cannot be asked
}

// talk is a request of a client without sessions while it runs, in all its rounds.
type talk struct {
	s      *session // of the first round
	about  [sha256.Size]byte
	end    context.CancelFunc
	asked  chan *question
	done   chan struct{} // closed: result and err are set
	result any
	err    error

	mu       sync.Mutex
	finished bool
	waited   bool // for an answer: its session outlives the request that began it
}

// inRounds does what a request of a client without sessions asks for, and puts what the server asks meanwhile to the
// client: asking is a result with a question in it. In sessions servers ask while the request runs.
func inRounds[R any](
	ctx context.Context, s *session, r round, do func(ctx context.Context) (R, error),
	asking func(questions sdk.InputRequestMap, state string) R,
) (result R, err error) {
	if !s.stateless {
		return do(ctx)
	}
	about, err := r.about()
	if err != nil {
		return result, err
	}
	var t *talk
	if r.state == "" && r.answers == nil {
		t = s.begins(ctx, r.method, about, func(ctx context.Context) (any, error) { return do(ctx) })
	} else if t, err = s.g.talks.resume(s, &r, about); err != nil {
		return result, err
	}
	for {
		select {
		case <-ctx.Done(): // the client does not wait any more
			t.end()
			<-t.done
			return result, context.Cause(ctx)
		case q := <-t.asked:
			if state, ok := s.g.talks.wait(t, q); ok {
				return asking(sdk.InputRequestMap{questionID: q.params}, state), nil
			}
		case <-t.done:
			result, _ = t.result.(R)
			return result, t.err
		}
	}
}

// begins does something until it is done, whichever requests wait for it.
func (s *session) begins(
	ctx context.Context, method string, about [sha256.Size]byte, do func(ctx context.Context) (any, error),
) *talk {
	running, end := s.within(context.WithoutCancel(ctx))
	t := &talk{
		s:     s,
		about: about,
		end:   end,
		asked: make(chan *question),
		done:  make(chan struct{}),
	}
	s.mu.Lock()
	s.talk = t
	s.mu.Unlock()
	go func() {
		defer end()
		defer t.finish()
		defer s.g.recovered(running, method, &t.err) // in goroutines one would end the process
		t.result, t.err = do(running)
	}()
	return t
}

// finish tells whoever waits for the result, and forgets the talk.
func (t *talk) finish() {
	t.mu.Lock()
	t.finished = true
	waited := t.waited
	t.mu.Unlock()
	t.s.g.talks.forget(t)
	close(t.done)
	if waited {
		t.s.close(errDone)
	}
}

// mayWait notes that a talk waits for an answer; false: it has ended meanwhile.
func (t *talk) mayWait() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.waited = t.waited || !t.finished
	return !t.finished
}

// closeUnlessWaiting ends the session of a request that has been answered, unless the answer was a question.
func (s *session) closeUnlessWaiting() {
	s.mu.Lock()
	t := s.talk
	s.mu.Unlock()
	if t != nil {
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.waited && !t.finished {
			return // finish closes it
		}
	}
	s.close(errDone)
}

// askClient puts a question to a client without sessions, in the result of its request, and waits for the answer.
func askClient[A sdk.InputResponse](ctx context.Context, s *session, params sdk.InputRequest) (answer A, err error) {
	s.mu.Lock()
	t := s.talk
	s.mu.Unlock()
	if t == nil {
		return answer, &jsonrpc.Error{
			Code: jsonrpc.CodeMethodNotFound, Message: "the client can be asked only while it makes a call",
		}
	}
	q := &question{params: params, answer: make(chan sdk.InputResponse, 1)}
	select {
	case t.asked <- q:
	case <-ctx.Done():
		return answer, context.Cause(ctx)
	}
	select {
	case given, ok := <-q.answer:
		if answer, isOne := given.(A); ok && isOne {
			return answer, nil
		}
		return answer, &jsonrpc.Error{Code: codeBusy, Message: "too many calls of the client wait for answers"}
	case <-ctx.Done():
		return answer, context.Cause(ctx)
	}
}

// elicitInResult puts a question to the user of a client without sessions, if that can show it.
func (l *link) elicitInResult(ctx context.Context, params *sdk.ElicitParams) (*sdk.ElicitResult, error) {
	can := l.s.abilities().Elicitation
	byURL := params.Mode == "url" || params.Mode == "" && params.URL != ""
	if can == nil || byURL && can.URL == nil || !byURL && can.Form == nil && can.URL != nil {
		return nil, unsupported("this elicitation")
	}
	return askClient[*sdk.ElicitResult](ctx, l.s, params)
}

// answersTo reports whether an answer is of the kind that a question asks for.
func answersTo(q *question, answer sdk.InputResponse) bool {
	var is bool
	switch q.params.(type) {
	case *sdk.ElicitParams:
		_, is = answer.(*sdk.ElicitResult)
	case *sdk.CreateMessageWithToolsParams:
		_, is = answer.(*sdk.CreateMessageWithToolsResult)
	case *sdk.ListRootsParams:
		_, is = answer.(*sdk.ListRootsResult)
	}
	return is
}

// talks are those that wait for an answer, by the state that the client sends back.
type talks struct {
	mu      sync.Mutex
	waiting map[string]*waitingTalk
	limit   *waitingCalls
}

type waitingTalk struct {
	*talk
	q    *question
	done func() // see waitingCalls
}

// wait keeps a talk until its question is answered; ok is false if it must not wait, which its server is told.
func (ts *talks) wait(t *talk, q *question) (state string, ok bool) {
	done, ok := ts.limit.add(t.s.caller.KeyID)
	if !ok {
		close(q.answer)
		return "", false
	}
	state = rand.Text()
	ts.mu.Lock()
	defer ts.mu.Unlock()
	if !t.mayWait() {
		done()
		return "", false
	}
	if ts.waiting == nil {
		ts.waiting = map[string]*waitingTalk{}
	}
	ts.waiting[state] = &waitingTalk{t, q, done}
	return state, true
}

// resume hands the answer to the talk that waits for it. It is the caller's own, about the same request, or none.
func (ts *talks) resume(s *session, r *round, about [sha256.Size]byte) (*talk, error) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	w := ts.waiting[r.state]
	if w == nil || w.about != about || w.s.one != s.one || !isSameCaller(w.s.caller, s.caller) {
		return nil, &jsonrpc.Error{
			Code: jsonrpc.CodeInvalidParams,
			Message: "requestState: no call of yours waits for this answer, or not any more: make the call again, without " +
				"inputResponses and requestState",
		}
	}
	if answer := r.answers[questionID]; len(r.answers) == 1 && answersTo(w.q, answer) {
		delete(ts.waiting, r.state)
		w.done()
		w.q.answer <- answer
		return w.talk, nil
	}
	return nil, &jsonrpc.Error{
		Code: jsonrpc.CodeInvalidParams, Message: "inputResponses: must be the answer to what was asked, and nothing else",
	}
}

// forget drops a talk that has ended.
func (ts *talks) forget(t *talk) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	for state, w := range ts.waiting {
		if w.talk == t {
			delete(ts.waiting, state)
			w.done()
		}
	}
}
