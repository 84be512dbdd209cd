package auth

import (
	"context"
	"fmt"

	"writ/internal/audit"
	"writ/internal/database"
	"writ/internal/secret"
)

// DeviceState is how a terminal's question ends. The zero value is no yes.
type DeviceState string

// The states, as far as a terminal is told.
const (
	DeviceUnknown DeviceState = ""         // no such code, or it was used
	DevicePending DeviceState = "pending"  // nobody has answered
	DeviceTooSoon DeviceState = "too soon" // asked before the interval was over
	DeviceDenied  DeviceState = "denied"
	DeviceExpired DeviceState = "expired"
	DeviceGranted DeviceState = "granted"
)

// DeviceQuestion is a terminal that asks whether it was let in.
type DeviceQuestion struct {
	Code         secret.Text
	WantsSession bool
	From         Device
}

// DeviceAnswer is what it is told. The rest is there when it is granted: once.
type DeviceAnswer struct {
	State  DeviceState
	User   User
	OrgID  string
	Tokens Tokens // unset unless they were asked for and allowed
}

// IssueKey gives an approved terminal its key, within the change that uses its code
// up. It must append to no other log than that of the login's organization.
type IssueKey func(ctx context.Context, tx *database.Tx, login DeviceLogin) error

// PollDevice answers a terminal. Whoever holds the code may ask: an unknown code
// and an early question write nothing, so that asking fills no queue.
func (s *Service) PollDevice(ctx context.Context, q DeviceQuestion, issue IssueKey) (DeviceAnswer, error) {
	login, err := findDeviceByHash(ctx, s.db, secret.Hash(q.Code.Reveal()))
	if err != nil {
		return DeviceAnswer{}, fmt.Errorf("answer a terminal: %w", err)
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
		return DeviceAnswer{}, fmt.Errorf("answer a terminal: %w", err)
	}
	return DeviceAnswer{State: state}, nil
}

// state is what a terminal is told of its request. One that asks too soon is not
// told more, whatever the answer is; its early question does not count, so that a
// client that never slows down is served at the interval all the same.
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

// grant uses an approved code up and gives what it is good for, in one change.
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
		// Only if it is still the yes that was read: of two questions at once one
		// wins, and a new password takes the yes back.
		answer.State, opened = DeviceUnknown, Opened{}
		if used, err := useDevice(ctx, tx, login.ID); err != nil || !used {
			return err
		}
		if answer.User, _, err = findUser(ctx, tx, login.UserID); err != nil {
			return err
		}
		if err := issue(ctx, tx, login); err != nil {
			return err
		}
		answer.State = DeviceGranted
		if !q.WantsSession || !login.SessionAllowed {
			return nil
		}
		opened, err = s.StartSession(ctx, tx, login.UserID, limitedTo, q.From)
		return err
	}})
	if err != nil {
		return DeviceAnswer{}, fmt.Errorf("let a terminal in: %w", err)
	}
	if opened.session.ID == "" {
		return answer, nil
	}
	answer.Tokens, err = s.Issue(ctx, opened)
	return answer, err
}
