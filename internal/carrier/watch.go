package carrier

import (
	"context"
	"errors"
	"sync"
	"time"

	"writ/internal/enforcement"
	"writ/internal/fault"
	"writ/internal/mcp/upstream"
	"writ/internal/policy"
	"writ/internal/principal"
	"writ/internal/verdict"
)

// watchEvery is how often the callers of running calls are looked at. A kill must end calls within a second.
const watchEvery = 300 * time.Millisecond

// stopped is why a call was ended while it ran: its caller may not act any more.
type stopped struct{ why error }

func (s *stopped) Error() string { return s.why.Error() }

func (s *stopped) Unwrap() error { return s.why }

// Stopped is the cause to end a context with in which calls run whose caller may not act any more. Whoever finds that
// first ends them, and what is recorded of them must not depend on who that is.
func Stopped(why error) error { return &stopped{why} }

// ErrStopping is the cause where the server stops.
var ErrStopping = errors.New("the server is stopping")

// stoppedBy is why a caller was stopped while its call ran in a context; empty: it was not.
func stoppedBy(ctx context.Context) string {
	if s, ok := errors.AsType[*stopped](context.Cause(ctx)); ok {
		return s.Error()
	}
	return ""
}

// noteStop notes that the call was ended because its caller was stopped, or this server was. What the MCP server has
// answered before is its result all the same.
func (o *Outcome) noteStop(running context.Context, server string) {
	if o.Failure == nil {
		return
	}
	reason := "its caller was stopped while the call ran"
	switch o.Stopped = stoppedBy(running); {
	case o.Stopped != "":
	case errors.Is(context.Cause(running), ErrStopping):
		reason = "this server was stopped while the call ran"
	default:
		return
	}
	o.Failure = &upstream.Failure{
		Kind:   upstream.Abandoned,
		Server: server,
		Reason: reason,
		Sent:   o.Failure.Sent,
		Cause:  o.Failure.Cause,
	}
}

// StoppedAnswer is the refusal of a call whose caller was stopped while it ran. The decision that it names is the one
// that had allowed it; what came of that is recorded.
func (o *Outcome) StoppedAnswer() enforcement.Answer {
	d := o.Answer
	d.Ruling = verdict.Ruling{
		Verdict:  verdict.Deny,
		PolicyID: policy.ByAgent,
		Rule:     "stopped_while_running",
		Reason:   o.Stopped + o.Failure.Aftermath(),
	}
	d.Receipt = nil // it says that the call was allowed
	return d
}

// watcher ends calls whose key or agent is stopped while they run. It looks at each caller once, whatever number of
// calls it has, and only while there are some.
type watcher struct {
	refuse func(ctx context.Context, p principal.Principal, agentID string) error

	mu      sync.Mutex
	calls   map[*watched]struct{}
	looking bool
}

type watched struct {
	by      principal.Principal
	agentID string
	end     context.CancelCauseFunc
}

// watch is the context of a call until its caller is stopped. end must be called when the call has ended.
func (w *watcher) watch(
	ctx context.Context, by principal.Principal, agentID string,
) (running context.Context, end func()) {
	running, cancel := context.WithCancelCause(ctx)
	call := &watched{by, agentID, cancel}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.calls == nil {
		w.calls = map[*watched]struct{}{}
	}
	w.calls[call] = struct{}{}
	if !w.looking {
		w.looking = true
		go w.look()
	}
	return running, func() {
		w.mu.Lock()
		delete(w.calls, call)
		w.mu.Unlock()
		cancel(nil)
	}
}

// look looks at the callers until no call runs.
func (w *watcher) look() {
	ticker := time.NewTicker(watchEvery)
	defer ticker.Stop()
	for range ticker.C {
		running := w.running()
		if running == nil {
			return
		}
		for who, calls := range running {
			w.endIfRefused(who, calls)
		}
	}
}

// holder is who makes calls.
type holder struct {
	orgID, keyID, agentID, audience string

	attested principal.Attestation
}

// running are the calls that run now, by their callers; nil: there are none, and nobody looks any more.
func (w *watcher) running() map[holder][]*watched {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.calls) == 0 {
		w.looking = false
		return nil
	}
	by := map[holder][]*watched{}
	for call := range w.calls {
		who := holder{
			orgID: call.by.OrgID, keyID: call.by.KeyID, agentID: call.agentID, audience: call.by.Audience,
			attested: call.by.Attested,
		}
		by[who] = append(by[who], call)
	}
	return by
}

// endIfRefused ends the calls of a caller that may not act any more. Where nobody knows they go on: they were allowed,
// and the next ones are denied.
func (w *watcher) endIfRefused(who holder, calls []*watched) {
	ctx, cancel := context.WithTimeout(context.Background(), reportTime)
	defer cancel()
	err := w.refuse(ctx, calls[0].by, who.agentID)
	if !fault.Is(err, fault.Forbidden) && !fault.Is(err, fault.Unauthenticated) {
		return
	}
	for _, call := range calls {
		call.end(&stopped{err})
	}
}
