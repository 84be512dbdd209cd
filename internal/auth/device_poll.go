package auth

import (
	"context"
	"fmt"

	"writ/internal/audit"
	"writ/internal/database"
	"writ/internal/secret"
)

// DeviceState is the result of a poll. The zero value grants nothing.
type DeviceState string

// The states a terminal can see.
const (
	DeviceUnknown DeviceState = ""         // no such code, or it was used
	DevicePending DeviceState = "pending"  // nobody has answered
	DeviceTooSoon DeviceState = "too soon" // polled before the interval was over
	DeviceDenied  DeviceState = "denied"
	DeviceExpired DeviceState = "expired"
	DeviceGranted DeviceState = "granted"
)

// DeviceQuestion is a terminal's poll.
type DeviceQuestion struct {
	Code         secret.Text
	WantsSession bool
	From         Device
}

// DeviceAnswer is the answer to a poll. Everything but State is set once, when the
// sign-in is granted.
type DeviceAnswer struct {
	State  DeviceState
	User   User
	OrgID  string
	Tokens Tokens // unset unless a session was asked for and allowed
}

// IssueKey creates the key of an approved terminal, within the change that uses up its
// code. It may append only to the log of the login's organization.
type IssueKey func(ctx context.Context, tx *database.Tx, login DeviceLogin) error

// PollDevice answers a terminal. Anyone may call it, so an unknown code and an early
// poll write nothing: polling must not fill the write queue.
func (s *Service) PollDevice(ctx context.Context, q DeviceQuestion, issue IssueKey) (DeviceAnswer, error) {
	login, err := findDeviceByHash(ctx, s.db, secret.Hash(q.Code.Reveal()))
	if err != nil {
		return DeviceAnswer{}, err
	}
	state := login.state(s.db)
	switch state {
	case DevicePending:
		err = s.db.Write(ctx, database.Change{Do: func(ctx context.Context, tx *database.Tx) error {
			return touchDevice(ctx, tx, login.ID)
		}})
	case DeviceGranted:
		return s.grant(ctx, login, q, issue)
	}
	if err != nil {
		return DeviceAnswer{}, fmt.Errorf("record the poll of a terminal: %w", err)
	}
	return DeviceAnswer{State: state}, nil
}

// state is what a terminal sees of its request. An early poll learns nothing else,
// and does not count: a client that never slows down is still answered at the
// interval.
func (d DeviceLogin) state(r clock) DeviceState {
	now := r.Now()
	switch {
	case d.ID == "" || d.status == deviceUsed:
		return DeviceUnknown
	case d.status == deviceDenied:
		return DeviceDenied
	case !now.Before(d.ExpiresAt):
		return DeviceExpired
	case d.polledAt != nil && now.Before(d.polledAt.Add(DeviceInterval-deviceLeeway)):
		return DeviceTooSoon
	case d.status == deviceApproved:
		return DeviceGranted
	}
	return DevicePending
}

// grant uses up an approved code and creates the key and the session, in one change.
func (s *Service) grant(
	ctx context.Context, login DeviceLogin, q DeviceQuestion, issue IssueKey,
) (DeviceAnswer, error) {
	answer, opened, limitedTo := DeviceAnswer{OrgID: login.OrgID}, Opened{}, ""
	if login.Limited {
		limitedTo = login.OrgID
	}
	err := s.db.Write(ctx, database.Change{Logs: []string{audit.System, audit.LogOf(login.OrgID)}, Do: func(
		ctx context.Context, tx *database.Tx,
	) (err error) {
		// Only if it is still approved: of two polls at once one wins, and a new
		// password withdraws the approval.
		answer.State, opened = DeviceUnknown, Opened{}
		if used, err := useDevice(ctx, tx, login.ID); err != nil || !used {
			return err
		}
		if answer.User, _, err = findUser(ctx, tx, login.UserID); err != nil {
			return err
		}
		answer.State = DeviceGranted
		if !q.WantsSession || !login.SessionAllowed {
			return issue(ctx, tx, login)
		}
		if opened, err = s.StartSession(ctx, tx, login.UserID, limitedTo, q.From); err != nil {
			return err
		}
		granted := login
		granted.SessionID = opened.session.ID
		if err := issue(ctx, tx, granted); err != nil || login.provedAt == nil {
			return err
		}
		return markProved(ctx, tx, opened.session.ID, *login.provedAt)
	}})
	if err != nil {
		return DeviceAnswer{}, fmt.Errorf("grant the sign-in of a terminal: %w", err)
	}
	if opened.session.ID == "" {
		return answer, nil
	}
	answer.Tokens, err = s.Issue(ctx, opened)
	return answer, err
}
