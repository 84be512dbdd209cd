package app

import (
	"context"

	"writ/internal/agent"
	"writ/internal/approval"
	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/mcp"
	"writ/internal/notification"
	"writ/internal/notification/notice"
	"writ/internal/organization"
	"writ/internal/policy"
	"writ/internal/principal"
)

// notifyProposal notifies the people who may confirm a proposed profile.
func (a *Areas) notifyProposal(ctx context.Context, tx *database.Tx, orgID string, p policy.Proposal) error {
	people, err := peopleIn(ctx, tx, orgID)
	if err != nil {
		return err
	}
	return a.Notifications.NotifyProposal(ctx, tx, people, notice.Proposal{
		ID:            p.ID,
		OrgID:         orgID,
		Name:          p.Name,
		Reason:        p.Reason,
		PolicyID:      p.PolicyID,
		PolicyVersion: p.Version,
		OwnerID:       p.OwnerID,
		ByKey:         p.Author.Kind == principal.Key,
		At:            p.ProposedAt,
	})
}

// notifyKilled notifies the people who manage agents of what one of them, or an approver, stopped.
func (a *Areas) notifyKilled(ctx context.Context, tx *database.Tx, orgID string, stop agent.Stop) error {
	people, err := peopleIn(ctx, tx, orgID)
	if err != nil {
		return err
	}
	told := notice.Agent{
		OrgID:   orgID,
		ID:      stop.Subject,
		Kind:    notice.AgentKilled,
		Reason:  stop.Reason,
		ActorID: stop.StoppedBy,
		At:      tx.Now(),
	}
	if stop.Scope != agent.OfAgent {
		told.Scope = string(stop.Scope)
	}
	if stop.Scope == agent.OfOrganization {
		told.ID = orgID
	}
	return a.Notifications.NotifyAgent(ctx, tx, people, told)
}

// notifySuspended notifies the people who manage agents that one was suspended, by another person or because its owner
// left.
func (a *Areas) notifySuspended(
	ctx context.Context, tx *database.Tx, orgID string, of agent.Agent, by principal.Principal,
) error {
	people, err := peopleIn(ctx, tx, orgID)
	if err != nil {
		return err
	}
	return a.Notifications.NotifyAgent(ctx, tx, people, notice.Agent{
		OrgID:   orgID,
		ID:      of.ID,
		Kind:    notice.AgentSuspended,
		Reason:  of.SuspendedFor,
		ActorID: by.UserID,
		At:      tx.Now(),
	})
}

// notifyTripped notifies the people who manage agents that one, or a key, was stopped by a trip, or that keys
// stopped with one of another organization.
func (a *Areas) notifyTripped(ctx context.Context, tx *database.Tx, orgID string, stop agent.Stop) error {
	people, err := peopleIn(ctx, tx, orgID)
	if err != nil {
		return err
	}
	return a.Notifications.NotifyAgent(ctx, tx, people, notice.Agent{
		OrgID:  orgID,
		ID:     stop.Subject,
		Kind:   notice.AgentTripped,
		Reason: stop.Reason,
		Key:    stop.Scope == agent.OfKey,
		Keys:   len(stop.Keys),
		At:     tx.Now(),

		Elsewhere: stop.Trip == "",
	})
}

// notifyHeld notifies the people who manage MCP servers that tools of one are held.
func (a *Areas) notifyHeld(ctx context.Context, tx *database.Tx, h mcp.Held) error {
	people, err := peopleIn(ctx, tx, h.Server.OrgID)
	if err != nil {
		return err
	}
	return a.Notifications.NotifyServer(ctx, tx, people, notice.Server{
		OrgID:  h.Server.OrgID,
		ID:     h.Server.ID,
		Name:   h.Server.Name,
		Tools:  h.Tools,
		More:   h.More,
		Reason: h.Why,
		At:     tx.Now(),
	}, h.Cause)
}

// approvalEvents are the approval events of an organization after a number, with their
// requests.
func (a *Areas) approvalEvents(ctx context.Context, orgID string, after int64, limit int) ([]notice.Event, error) {
	events, err := a.Approvals.Events(ctx, orgID, after, limit)
	if err != nil {
		return nil, err
	}
	notices, read := make([]notice.Event, len(events)), map[string]notice.Request{}
	for i, e := range events {
		r, ok := read[e.RequestID]
		if !ok {
			request, err := a.Approvals.Read(ctx, orgID, e.RequestID)
			if err != nil && !fault.Is(err, fault.NotFound) {
				return nil, err
			}
			r = noticeOf(request)
			r.ID = e.RequestID
			read[e.RequestID] = r
		}
		notices[i] = notice.Event{
			OrgID:   e.OrgID,
			Number:  e.Number,
			Kind:    notice.Kind("approval." + string(e.Kind)),
			At:      e.At,
			ActorID: e.Actor,
			Request: r,
		}
	}
	return notices, nil
}

// noticeOf is a request as notifications show it.
func noticeOf(r approval.Request) notice.Request {
	shown := notice.Request{
		ID:        r.ID,
		OwnAsk:    r.Kind == approval.Ask,
		OwnerID:   r.OwnerID,
		Role:      r.Role,
		Status:    string(r.Status),
		Server:    r.Server,
		Tool:      r.Tool,
		AgentID:   r.AgentID,
		SessionID: r.SessionID,
		PlanID:    r.PlanID,
		KeyID:     r.KeyID,
		Email:     r.Email,
		Reason:    r.Reason,
		Note:      r.Note,
		Risk:      r.Risk.Level,
		Arguments: r.Arguments,
		CreatedAt: r.CreatedAt,
		ExpiresAt: r.ExpiresAt,

		ArgumentsFrom: r.ArgumentsFrom,
	}
	for _, reason := range r.Risk.Reasons {
		shown.Reasons = append(shown.Reasons, reason.Words)
	}
	return shown
}

// people are the members of an organization.
func (a *Areas) people(ctx context.Context, orgID string) ([]notification.Person, error) {
	return peopleIn(ctx, a.Database, orgID)
}

func peopleIn(ctx context.Context, r database.Reader, orgID string) ([]notification.Person, error) {
	members, err := organization.AllMembers(ctx, r, orgID)
	people := make([]notification.Person, len(members))
	for i, m := range members {
		people[i] = notification.Person{UserID: m.UserID, Email: m.Email, Role: m.Role}
	}
	return people, err
}
