package auth_test

import (
	"context"

	"writ/internal/auth"
	"writ/internal/database"
	"writ/internal/principal"
)

// terminal is a program that asks to sign in, and counts the keys it is given.
type terminal struct {
	*env
	codes auth.DeviceCodes
	keys  *int
	fail  error // of issuing a key
}

func (e *env) terminal(n auth.NewDevice) *terminal {
	e.T.Helper()
	codes, err := e.service.StartDevice(e.T.Context(), n)
	if err != nil {
		e.T.Fatalf("begin the sign-in of a terminal: %v", err)
	}
	return &terminal{env: e, codes: codes, keys: new(int)}
}

func (t *terminal) pollAt(service *auth.Service, session bool) (auth.DeviceAnswer, error) {
	return service.PollDevice(t.T.Context(), auth.DeviceQuestion{Code: t.codes.Device, WantsSession: session}, t.issue)
}

func (t *terminal) issue(context.Context, *database.Tx, auth.DeviceLogin) error {
	*t.keys++
	return t.fail
}

// want asks once and checks what the terminal is told.
func (t *terminal) want(what string, state auth.DeviceState) auth.DeviceAnswer {
	t.T.Helper()
	answer, err := t.pollAt(t.service, true)
	if err != nil || answer.State != state {
		t.T.Errorf("%s: %q, %v, want %q", what, answer.State, err, state)
	}
	return answer
}

// organizationOf makes an organization, and its person as a caller there.
func (e *env) organizationOf(email string) principal.Principal {
	e.T.Helper()
	caller := e.caller(e.login(email))
	caller.OrgID, caller.Role = e.Organization("o"), principal.Owner
	return caller
}

func (e *env) approve(p principal.Principal, t *terminal, session bool) {
	e.T.Helper()
	if err := e.service.ApproveDevice(e.T.Context(), p, t.codes.User, session); err != nil {
		e.T.Fatalf("let a terminal in: %v", err)
	}
}
