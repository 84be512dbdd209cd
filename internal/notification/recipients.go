package notification

import (
	"slices"
	"strings"

	"writ/internal/notification/notice"
	"writ/internal/principal"
)

// pending is the status of a request that nobody has answered.
const pending = "pending"

// recipients are the people to notify of an event: approvers of a new request, and the
// owner of the agent once there is an answer.
func recipients(e notice.Event, people []Person) []Person {
	switch e.Kind {
	case notice.Opened:
		if e.Request.Status != pending {
			return nil // it was answered already
		}
		return approvers(e.Request, people)
	case notice.Approved, notice.Rejected, notice.Expired, notice.Revoked:
		return slices.DeleteFunc(slices.Clone(people), func(p Person) bool {
			return p.UserID != e.Request.OwnerID || p.UserID == e.ActorID
		})
	}
	return nil
}

// approvers are the people to notify of a new request. An ask goes to the key's owner
// alone. A hold goes to everyone who may answer it, and to the requester only if
// nobody else can.
func approvers(r notice.Request, people []Person) []Person {
	var others, requesters []Person
	for _, p := range people {
		owns := p.UserID == r.OwnerID
		switch {
		case r.OwnAsk && owns:
			return []Person{p}
		case r.OwnAsk || !mayAnswer(p, r):
		case owns || r.Email != "" && strings.EqualFold(p.Email, r.Email):
			requesters = append(requesters, p)
		default:
			others = append(others, p)
		}
	}
	if len(others) == 0 {
		return requesters
	}
	return others
}

// allowed are the people whose role allows an action.
func allowed(people []Person, action principal.Action) []Person {
	return slices.DeleteFunc(slices.Clone(people), func(p Person) bool { return !p.Role.May(action) })
}

// mayAnswer reports whether a person's role is high enough for the request.
func mayAnswer(p Person, r notice.Request) bool {
	roles := principal.Roles()
	enough := r.Role == "" || slices.Index(roles, p.Role) <= slices.Index(roles, principal.Role(r.Role))
	return enough && p.Role.May(principal.DecideApprovals)
}
