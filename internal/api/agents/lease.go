package agents

import (
	"context"
	"net/http"
	"time"

	"writ/internal/agent"
	"writ/internal/agent/lease"
	"writ/internal/api/route"
	"writ/internal/enforcement"
	"writ/internal/principal"
	"writ/internal/throttle"
)

func (h *Handlers) mountLeases(r *route.Router) {
	route.Handle(r, route.Post("/agent/lease",
		"Give a key a lease: signed, for some minutes, over tools whose answer is allow whatever the arguments").
		For(route.Key).Scoped(principal.Enforce).Throttled(throttle.GiveLease).Records("agent.leased").
		Configures().Answers(http.StatusCreated).SpelledAt("tools", leaseNames), h.giveLease)
	route.Handle(r, route.Get("/agent/leases", "Leases that have not ended, the last to end first").
		For(route.Person).Needs(principal.ReadOrganization), h.leases)
}

// leaseNames are the names of a tool here.
var leaseNames = route.Names{
	Server: "server", Tool: "tool", NoArguments: "is not known here: a lease is for tools whatever their arguments",
}

// LeaseToolBody is a tool as calls name it, exactly.
type LeaseToolBody struct {
	Server string `json:"server,omitempty" maxLength:"200" doc:"Absent: calls name none."`
	Tool   string `json:"tool" minLength:"1" maxLength:"200"`
}

func toolBodies(tools []lease.Tool) []LeaseToolBody {
	bodies := make([]LeaseToolBody, len(tools))
	for i, tool := range tools {
		bodies[i] = LeaseToolBody(tool)
	}
	return bodies
}

// LeaseBody is a lease that was given.
type LeaseBody struct {
	LeaseID   string          `json:"leaseId" format:"uuid"`
	KeyID     string          `json:"keyId" format:"uuid"`
	AgentID   string          `json:"agentId" doc:"Empty: its calls name none."`
	UserID    string          `json:"userId" doc:"For whom its calls are. Empty: for the key's owner."`
	Tools     []LeaseToolBody `json:"tools" nullable:"false"`
	IssuedAt  time.Time       `json:"issuedAt"`
	ExpiresAt time.Time       `json:"expiresAt"`
	Index     int64           `json:"index" doc:"Of its entry in the organization's log."`
}

func leaseBody(l agent.Lease) LeaseBody {
	return LeaseBody{
		LeaseID:   l.ID,
		KeyID:     l.KeyID,
		AgentID:   l.AgentID,
		UserID:    l.UserID,
		Tools:     toolBodies(l.Tools),
		IssuedAt:  l.Issued,
		ExpiresAt: l.Expires,
		Index:     l.Index,
	}
}

// GivenLeaseBody is a new lease.
type GivenLeaseBody struct {
	LeaseBody
	Lease   string            `json:"lease" doc:"The lease as a JWT of type lease+jwt, signed with the key of /iap/keys that its kid names."`
	Refused []RefusedToolBody `json:"refused" nullable:"false" doc:"The tools that are not in it."`
}

// RefusedToolBody is a tool that is not in a lease.
type RefusedToolBody struct {
	LeaseToolBody
	Reason string `json:"reason"`
}

type leaseInput struct {
	Body struct {
		AgentID   string          `json:"agentId,omitempty" maxLength:"200" doc:"As the calls will name it."`
		UserID    string          `json:"userId,omitempty" maxLength:"200" doc:"For whom the calls will be."`
		SessionID string          `json:"sessionId,omitempty" maxLength:"200" doc:"A session with a plan gets no lease."`
		Source    string          `json:"source,omitempty" maxLength:"200" doc:"The client: gemini-cli, ..."`
		Tools     []LeaseToolBody `json:"tools" nullable:"false" minItems:"1" maxItems:"100"`
		Seconds   int64           `json:"seconds,omitempty" minimum:"1" maximum:"300" doc:"Absent: as long as the organization permits."`
	}
}

func (h *Handlers) giveLease(
	ctx context.Context, caller principal.Principal, in *leaseInput,
) (GivenLeaseBody, error) {
	b := &in.Body
	if caller.OrgID == "" {
		return GivenLeaseBody{}, route.NoOrganization()
	}
	request := enforcement.LeaseRequest{
		AgentID:   b.AgentID,
		UserID:    b.UserID,
		SessionID: b.SessionID,
		Source:    b.Source,
		Life:      time.Duration(b.Seconds) * time.Second,
	}
	for _, tool := range b.Tools {
		request.Tools = append(request.Tools, lease.Tool(tool))
	}
	given, err := h.Enforcement.Lease(ctx, caller, request)
	body := GivenLeaseBody{LeaseBody: leaseBody(given.Lease), Lease: given.Text, Refused: []RefusedToolBody{}}
	for _, r := range given.Refused {
		body.Refused = append(body.Refused, RefusedToolBody{LeaseToolBody(r.Tool), r.Reason})
	}
	return body, err
}

func (h *Handlers) leases(
	ctx context.Context, caller principal.Principal, _ *route.OrganizationQuery,
) (route.Items[LeaseBody], error) {
	if caller.OrgID == "" {
		return route.Items[LeaseBody]{}, route.NoOrganization()
	}
	leases, err := h.Agents.Leases(ctx, caller)
	return route.ItemsOf(leases, leaseBody), err
}
