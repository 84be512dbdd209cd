package gateway

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"writ/internal/canonical"
	"writ/internal/mcp/upstream"
)

// A client without sessions is asked in the result of its request, and answers by sending the request again. Meanwhile
// the call waits here as it would in a session: it was judged once, it runs once, it is reported once, and the kill
// switch and its time limit end it. The state that the client sends back is a name for the call that waits: it says
// nothing to anybody else, an answer counts once with it, and for a while it fetches the result again.

// questionID names the question of a round. One is put at a time, because each is judged when it is asked.
const questionID = "writ"

// round is a request of a client without sessions, as it can be sent again.
type round struct {
	method, subject string
	arguments       any
	said            said
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
	said   said
	end    context.CancelCauseFunc
	asked  chan *question
	done   chan struct{} // closed: result and err are set
	result any
	err    error

	mu       sync.Mutex
	finished bool
	waited   bool    // for an answer: its session outlives the request that began it
	held     []*held // the bodies that it was sent with
	decision string  // that lets it run; empty: there is none yet
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
		t, err = s.begins(ctx, &r, about, func(ctx context.Context) (any, error) { return do(ctx) })
	} else {
		t, err = s.goesOn(ctx, &r, about)
	}
	if err != nil {
		return result, err
	}
	for {
		select {
		case <-ctx.Done(): // the client does not wait any more, or its session has ended
			t.end(context.Cause(ctx))
			<-t.done
			if t.err == nil {
				return result, context.Cause(ctx)
			}
			return result, t.lastError(&r) // who was stopped still waits to learn what became of the call
		case q := <-t.asked:
			if state, ok := s.g.talks.wait(t, q, s.body); ok {
				return asking(sdk.InputRequestMap{questionID: q.params}, state), nil
			}
		case <-t.done:
			result, _ = t.result.(R)
			return result, t.lastError(&r)
		}
	}
}

// begins does something until it is done, whichever requests wait for it.
func (s *session) begins(
	ctx context.Context, r *round, about [sha256.Size]byte, do func(ctx context.Context) (any, error),
) (*talk, error) {
	if !s.g.sessions.talks() {
		return nil, &jsonrpc.Error{Code: codeEnded, Message: "the session has ended: " + errStopping.Error()}
	}
	running, end := s.endable(context.WithoutCancel(ctx))
	t := &talk{
		s:     s,
		about: about,
		said:  r.said,
		end:   end,
		asked: make(chan *question),
		done:  make(chan struct{}),
	}
	s.mu.Lock()
	s.talk = t
	s.mu.Unlock()
	s.owes() // its links are needed until then, also after the request that began this
	go func() {
		defer s.g.sessions.talking.Done()
		defer end(nil)
		defer t.finish()
		defer s.paid()
		defer s.g.recovered(running, r.method, &t.err) // in goroutines one would end the process
		t.result, t.err = do(running)
	}()
	return t, nil
}

// goesOn is the talk that a request with an answer is about. Whoever was stopped meanwhile gets no result either.
func (s *session) goesOn(ctx context.Context, r *round, about [sha256.Size]byte) (*talk, error) {
	if err := s.g.Decisions.RefuseCaller(ctx, s.caller, r.said.agent); err != nil {
		return nil, err
	}
	return s.g.talks.resume(s, r, about)
}

// finish tells whoever waits for the result, and gives back what the talk holds.
func (t *talk) finish() {
	t.mu.Lock()
	t.finished = true
	waited, bodies := t.waited, t.held
	t.held = nil
	t.mu.Unlock()
	if waited {
		t.s.g.talks.ended(t)
	}
	close(t.done)
	for _, body := range bodies {
		body.done()
	}
	if waited {
		t.s.close(errDone)
	}
}

// mayWait notes that a talk waits for an answer, and keeps the room of a body that it was sent with; false: it has
// ended meanwhile.
func (t *talk) mayWait(body *held) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.finished {
		return false
	}
	t.waited = true
	t.held = append(t.held, body.keep())
	return true
}

// decidedBy notes the decision that lets the talk run.
func (t *talk) decidedBy(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.decision = id
}

// lastError is the error of a talk that has ended, for the request that waits for it; nil: there is none.
func (t *talk) lastError(r *round) error {
	if r.state != "" {
		return t.afterwards()
	}
	return t.err
}

// afterwards is the error of a talk that has ended, for whoever has answered a question of it. It says so where nobody
// knows whether the call ran: making the call again may do something twice.
func (t *talk) afterwards() error {
	failure, failed := errors.AsType[*upstream.Failure](t.err)
	_, own := errors.AsType[*jsonrpc.Error](t.err)
	code, text := int64(codeEnded), "The"
	switch {
	case t.err == nil, failed && (failure.Kind == upstream.Answered || !failure.Sent), own && !failed:
		return t.err
	case failed:
		code, text = codeUnreachable, failure.Error()+". The"
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return &jsonrpc.Error{Code: code, Message: text + " call has ended, and may have run: " + lookFirst(t.decision)}
}

// lookFirst says what to do about a call that may have run.
func lookFirst(decisionID string) string {
	text := "find out what it did before you do anything about it."
	if decisionID != "" {
		text += " Decision: " + decisionID + "."
	}
	return text
}

// closeUnlessWaiting ends the session of a request that has been answered, unless the answer was a question.
func (s *session) closeUnlessWaiting() {
	if t := s.talks(); t != nil {
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.waited && !t.finished {
			return // finish closes it
		}
	}
	s.close(errDone)
}

// talks is what the request does that the session is; nil: it asks nothing of servers.
func (s *session) talks() *talk {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.talk
}

// saidMeanwhile is what is said of what servers ask while a request runs. One without a session says it itself.
func (s *session) saidMeanwhile() said {
	if t := s.talks(); t != nil {
		return t.said.unplanned()
	}
	return s.opened.unplanned()
}

// askClient puts a question to a client without sessions, in the result of its request, and waits for the answer.
func askClient[A sdk.InputResponse](ctx context.Context, s *session, params sdk.InputRequest) (answer A, err error) {
	t := s.talks()
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
