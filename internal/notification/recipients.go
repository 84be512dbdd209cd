package notification

import (
	"slices"
	"strings"

	"writ/internal/notification/notice"
	"writ/internal/principal"
)

// waits is the status of a request that nobody has answered.
const waits = "pending"

// recipients are the people to whom an event is worth a notification: those whose
// answer is wanted, and the owner of the agent once there is one.
func recipients(e notice.Event, people []Person) []Person {
	switch e.Kind {
	case notice.Opened:
		if e.Request.Status != waits {
			return nil // it was answered before anybody was told
		}
		return answerers(e.Request, people)
	case notice.Approved, notice.Rejected, notice.Expired, notice.Revoked:
		return slices.DeleteFunc(slices.Clone(people), func(p Person) bool {
			return p.UserID != e.Request.OwnerID || p.UserID == e.ActorID
		})
	}
	return nil
}

// answerers are those who may answer a request. Who asks may not answer a hold, and
// is told of it only where nobody else can.
func answerers(r notice.Request, people []Person) []Person {
	var others, askers []Person
	for _, p := range people {
		owns := p.UserID == r.OwnerID
		switch {
		case r.OwnAsk && owns:
			return []Person{p}
		case r.OwnAsk || !mayAnswer(p, r):
		case owns || r.Email != "" && strings.EqualFold(p.Email, r.Email):
			askers = append(askers, p)
		default:
			others = append(others, p)
		}
	}
	if len(others) == 0 {
		return askers
	}
	return others
}

// mayAnswer reports whether the person's role is enough for the request.
func mayAnswer(p Person, r notice.Request) bool {
	roles := principal.Roles()
	enough := r.Role == "" || slices.Index(roles, p.Role) <= slices.Index(roles, principal.Role(r.Role))
	return enough && p.Role.May(principal.DecideApprovals)
}
