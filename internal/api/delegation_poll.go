package api

import (
	"context"
	"sync"
	"time"

	"writ/internal/approval"
	"writ/internal/fault"
	"writ/internal/principal"
)

// How many polls may wait at a time. One too many is answered at once: a client
// that is refused may run its tool.
const (
	pollsPerKey = 50
	pollsAtAll  = 2000
)

// openPolls counts the polls of this process that wait.
type openPolls struct {
	mu   sync.Mutex // guards the rest
	keys map[string]int
	all  int
}

// enter counts a poll of a key until leave is called, if it may wait.
func (o *openPolls) enter(keyID string) (leave func(), may bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.keys[keyID] >= pollsPerKey || o.all >= pollsAtAll {
		return func() {}, false
	}
	if o.keys == nil {
		o.keys = map[string]int{}
	}
	o.keys[keyID]++
	o.all++
	return func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		if o.all--; o.keys[keyID] == 1 {
			delete(o.keys, keyID)
			return
		}
		o.keys[keyID]--
	}, true
}

type pollInput struct {
	ID   string `query:"delegationId" required:"true" maxLength:"100" doc:"The request."`
	Wait int    `query:"waitSeconds" minimum:"0" maximum:"25" default:"25" doc:"How long to wait for an answer, in seconds; with too many polls at a time there is no wait."`
}

type polledOutput struct{ Body DelegationBody }

func (a *API) pollApproval(ctx context.Context, caller principal.Principal, in *pollInput) (*polledOutput, error) {
	if caller.OrgID == "" {
		return nil, noOrganization()
	}
	leave, may := a.polls.enter(caller.KeyID)
	defer leave()
	if !may {
		in.Wait = 0
	}
	request, err := a.waitForAnswer(ctx, caller, in.ID, time.Duration(in.Wait)*time.Second)
	if err != nil {
		return nil, err
	}
	if _, err := a.Keys.Holder(ctx, caller.KeyID); err != nil {
		return nil, err // it ended while the poll waited
	}
	return &polledOutput{delegationBody(request)}, nil
}

// waitForAnswer waits until the request is answered, the time is over, or the
// server stops, which does not wait for who polls.
func (a *API) waitForAnswer(
	ctx context.Context, caller principal.Principal, id string, upTo time.Duration,
) (approval.Request, error) {
	waiting, enough := context.WithCancel(ctx)
	defer enough()
	go func() {
		select {
		case <-a.router.Stopping():
			enough()
		case <-waiting.Done():
		}
	}()
	request, err := a.Approvals.Wait(waiting, caller, id, upTo)
	switch {
	case err == nil || waiting.Err() == nil:
		return request, err
	case ctx.Err() != nil:
		return request, fault.Wrap(err, fault.Unavailable, "the caller is gone")
	}
	return a.Approvals.Get(ctx, caller, id)
}
