package approvals

import (
	"cmp"
	"context"
	"time"

	"writ/internal/api/route"
	"writ/internal/approval"
	"writ/internal/fault"
	"writ/internal/principal"
)

// How many polls may wait at a time. One more is answered at once: a client
// that is refused may run its tool.
const (
	pollsPerKey = 50
	pollsAtAll  = 2000
)

func newPolls() *route.Slots { return &route.Slots{Each: []int{pollsPerKey}, Total: pollsAtAll} }

type pollInput struct {
	ApprovalID   string `query:"approvalId" maxLength:"100" doc:"The request."`
	DelegationID string `query:"delegationId" maxLength:"100" doc:"The same, for published clients."`
	Wait         int    `query:"waitSeconds" minimum:"0" maximum:"25" default:"25" doc:"How long to wait for an answer, in seconds; with too many polls at a time there is no wait."`
}

// id is the request under either name.
func (in *pollInput) id() (string, error) {
	switch {
	case in.ApprovalID == "" && in.DelegationID == "":
		return "", fault.Field("approvalId", "is required")
	case in.ApprovalID != "" && in.DelegationID != "" && in.ApprovalID != in.DelegationID:
		return "", fault.Field("delegationId", "must be the same as approvalId, or absent")
	}
	return cmp.Or(in.ApprovalID, in.DelegationID), nil
}

func (h *Handlers) poll(ctx context.Context, caller principal.Principal, in *pollInput) (DelegationBody, error) {
	if caller.OrgID == "" {
		return DelegationBody{}, route.NoOrganization()
	}
	id, err := in.id()
	if err != nil {
		return DelegationBody{}, err
	}
	leave, may := h.polls.Take(caller.KeyID)
	defer leave()
	if !may {
		in.Wait = 0
	}
	request, err := h.waitForAnswer(ctx, caller, id, time.Duration(in.Wait)*time.Second)
	if err != nil {
		return DelegationBody{}, err
	}
	if _, err := h.Keys.Holder(ctx, caller.KeyID); err != nil {
		return DelegationBody{}, err // it ended while the poll waited
	}
	return delegationBody(request), nil
}

// waitForAnswer waits until the request is answered, the time is over, the kill switch has stopped the key, or the
// server stops, which does not wait for polls.
func (h *Handlers) waitForAnswer(
	ctx context.Context, caller principal.Principal, id string, upTo time.Duration,
) (approval.Request, error) {
	waiting, enough := h.watch(ctx, caller)
	defer enough()
	request, err := h.Approvals.Wait(waiting, caller, id, upTo)
	switch {
	case err == nil || waiting.Err() == nil:
		return request, err
	case ctx.Err() != nil:
		return request, fault.Wrap(err, fault.Unavailable, "the caller disconnected")
	}
	return h.Approvals.Get(ctx, caller, id)
}
