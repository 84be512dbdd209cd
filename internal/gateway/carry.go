package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"writ/internal/approval"
	"writ/internal/carrier"
	"writ/internal/enforcement"
	"writ/internal/verdict"
)

// errand is something to be judged and, if it is allowed, done once.
type errand struct {
	req       sdk.Request // of the client; nil: a server asks
	said      said
	token     any // for progress; nil: the client wants none
	server    *offered
	tool      string
	arguments []byte // JSON; nil: none
	promised  bool   // see carrier.Call
	// send does it, with the server as it is registered when it is judged, and the arguments that were judged.
	send func(ctx context.Context, of *offered, arguments jsontext.Value) (any, error)
}

// errandKey is where the context of what is sent has its errand.
type errandKey struct{}

// refused is a decision that is no allow.
type refused struct{ enforcement.Answer }

// carry has an errand judged and done. One that waits for a person is judged again when they have agreed, and done
// only if the client still waits. refused is not nil if it was not done because of a decision.
func (s *session) carry(ctx context.Context, e errand) (any, *refused, error) {
	result, answer, err := s.try(ctx, e)
	if err != nil || answer.Allowed() {
		return result, nil, err
	}
	if !waits(answer) || s.g.HoldTime <= 0 {
		return nil, &refused{answer}, nil
	}
	agreed, err := s.await(ctx, e, answer)
	if err != nil {
		return nil, nil, err
	}
	if !agreed {
		return nil, &refused{answer}, nil
	}
	// Policies, the kill switch, the plan or the server's registration may have changed while it waited.
	if e.server, err = s.latest(ctx, e.server); err != nil {
		return nil, nil, err
	}
	if result, answer, err = s.try(ctx, e); err != nil || answer.Allowed() {
		return result, nil, err
	}
	return nil, &refused{answer}, nil
}

// latest is a server as it is registered now. One that is not approved any more stays as it was: the decision about it
// says so.
func (s *session) latest(ctx context.Context, of *offered) (*offered, error) {
	all, err := s.g.catalogueFor(ctx, s.caller)
	if err != nil {
		return nil, err
	}
	if now := all.byID[of.ID]; now != nil {
		return now, nil
	}
	return of, nil
}

// carried is carry for a result of a type.
func carried[R any](ctx context.Context, s *session, e errand) (result R, no *refused, err error) {
	got, no, err := s.carry(ctx, e)
	if no != nil || err != nil {
		return result, no, err
	}
	result, ok := got.(R)
	if !ok {
		return result, nil, fmt.Errorf("%s gave a %T", e.tool, got)
	}
	return result, nil, nil
}

// waits reports whether an answer is that a person must agree.
func waits(a enforcement.Answer) bool {
	return (a.Verdict == verdict.Hold || a.Verdict == verdict.Ask) && a.ApprovalID != ""
}

// try has an errand judged, and done if it is allowed.
func (s *session) try(ctx context.Context, e errand) (any, enforcement.Answer, error) {
	request := s.request(e.said)
	request.Server, request.Tool, request.Arguments = e.server.Name, e.tool, e.arguments
	outcome := s.g.Carrier.Carry(ctx, carrier.Caller{Principal: s.caller}, carrier.Call{
		Request: request,
		// Only what the gateway does itself has such a name: see findTool.
		NoTool:   strings.HasPrefix(e.tool, reservedPrefix),
		Promised: e.promised,
		// MCP has no place for proofs; what is presented as a plan must be its token.
		Proof: enforcement.Carried{ProofRequired: enforcement.ProofOptional},
	}, func(ctx context.Context, arguments jsontext.Value) (any, error) {
		if t := s.talks(); t != nil && e.req != nil {
			t.decidedBy(carrier.DecisionOf(ctx))
		}
		return e.send(context.WithValue(ctx, errandKey{}, &e), e.server, arguments)
	})
	if outcome.Stopped != "" {
		return nil, outcome.Answer, (&refused{outcome.StoppedAnswer()}).asError()
	}
	if outcome.Failure != nil {
		return nil, outcome.Answer, outcome.Failure
	}
	return outcome.Result, outcome.Answer, nil
}

// progressEvery is how often a client is told that its call waits.
const progressEvery = 2 * time.Second

// await waits until a person has agreed, and reports whether. It does not wait longer than the client.
func (s *session) await(ctx context.Context, e errand, on enforcement.Answer) (bool, error) {
	if e.req != nil {
		if exchange := exchangeOf(e.req); exchange != nil {
			var cancel context.CancelFunc
			ctx, cancel = context.WithCancel(ctx)
			defer cancel()
			defer context.AfterFunc(exchange.request, cancel)()
		}
	}
	done, ok := s.g.waiting.add(s.caller.KeyID)
	if !ok {
		return false, nil
	}
	defer done()
	waiting, enough := context.WithTimeout(ctx, s.g.HoldTime)
	defer enough()
	told := s.tellWaiting(waiting, e, on)
	defer told()
	for {
		request, err := s.g.Approvals.Wait(waiting, s.caller, on.ApprovalID, approval.MaxWait)
		switch {
		case ctx.Err() != nil:
			return false, context.Cause(ctx) // nobody waits any more
		case waiting.Err() != nil:
			return false, nil
		case err != nil:
			return false, err
		case request.Status != approval.Pending:
			return request.Status == approval.Approved, nil
		}
	}
}

// tellWaiting tells a client that wants progress that its call waits, until the end. The numbers stay below those that
// servers begin with, because they must grow.
func (s *session) tellWaiting(ctx context.Context, e errand, on enforcement.Answer) (end func()) {
	down := s.client()
	if e.token == nil || down == nil {
		return func() {}
	}
	done, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		ticker := time.NewTicker(progressEvery)
		defer ticker.Stop()
		for n := 1; ; n++ {
			_ = down.NotifyProgress(ctx, &sdk.ProgressNotificationParams{
				ProgressToken: e.token,
				Progress:      float64(n) / 1e6,
				Message:       "waits for a person to approve it: request " + on.ApprovalID,
			})
			select {
			case <-done:
				return
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
		}
	}()
	return func() { close(done); <-stopped }
}

// sentence says why nothing was done, and how to get it done where there is a way.
func (r *refused) sentence() string {
	reason := r.Reason
	if r.Message != "" {
		reason = r.Message
	}
	reason = strings.TrimSuffix(reason, ".")
	var text string
	switch {
	case waits(r.Answer):
		text = fmt.Sprintf("Not run: it waits for approval (%s). Request %s is open; ask for it to be approved, then make "+
			"the same call again.", reason, r.ApprovalID)
	default:
		text = fmt.Sprintf("Denied: %s.", reason)
	}
	if r.Rule != "" {
		text += " Rule: " + r.Rule + "."
	}
	if r.DecisionID != "" {
		text += " Decision: " + r.DecisionID + "."
	}
	return text
}

// details is what programs may read of the decision.
func (r *refused) details() map[string]any {
	d := map[string]any{"decision": r.Verdict.String(), "reason": r.Reason}
	for name, value := range map[string]string{
		"decisionId": r.DecisionID, "policyId": r.PolicyID, "rule": r.Rule, "message": r.Message,
		"approvalId": r.ApprovalID, "planId": r.PlanID,
	} {
		if value != "" {
			d[name] = value
		}
	}
	return d
}

// asResult is the refusal of a tool call: an error of the tool, which models read.
func (r *refused) asResult() *sdk.CallToolResult {
	return &sdk.CallToolResult{
		Meta:    sdk.Meta{decisionMeta: r.details()},
		Content: []sdk.Content{&sdk.TextContent{Text: r.sentence()}},
		IsError: true,
	}
}

// asError is the refusal of anything else.
func (r *refused) asError() error {
	return &jsonrpc.Error{Code: codeDenied, Message: r.sentence(), Data: r.data()}
}

// data is what programs may read of the decision, in an error.
func (r *refused) data() json.RawMessage {
	data, err := json.Marshal(map[string]any{decisionMeta: r.details()})
	if err != nil {
		return nil
	}
	return data
}
