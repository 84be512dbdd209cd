package auth_test

import (
	"context"

	"writ/internal/auth"
	"writ/internal/database"
	"writ/internal/principal"
)

// terminal is a program that asks to sign in, and counts the keys it is given.
type terminal struct {
	*world
	codes auth.DeviceCodes
	keys  *int
	fail  error // of issuing a key
}

func (w *world) terminal(n auth.NewDevice) *terminal {
	w.t.Helper()
	codes, err := w.service.StartDevice(w.t.Context(), n)
	if err != nil {
		w.t.Fatalf("begin the sign-in of a terminal: %v", err)
	}
	return &terminal{world: w, codes: codes, keys: new(int)}
}

func (t *terminal) pollAt(service *auth.Service, session bool) (auth.DeviceAnswer, error) {
	return service.PollDevice(t.t.Context(), auth.DeviceQuestion{Code: t.codes.Device, WantsSession: session}, t.issue)
}

func (t *terminal) issue(context.Context, *database.Tx, auth.DeviceLogin) error {
	*t.keys++
	return t.fail
}

// want asks once and checks what the terminal is told.
func (t *terminal) want(what string, state auth.DeviceState) auth.DeviceAnswer {
	t.t.Helper()
	answer, err := t.pollAt(t.service, true)
	if err != nil || answer.State != state {
		t.t.Errorf("%s: %q, %v, want %q", what, answer.State, err, state)
	}
	return answer
}

// organizationOf makes an organization, and its person as a caller there.
func (w *world) organizationOf(email string) principal.Principal {
	w.t.Helper()
	caller := w.caller(w.login(email))
	caller.OrgID, caller.Role = database.NewID(), principal.Owner
	w.exec(`INSERT INTO organization (id, name, created_at, updated_at) VALUES ($1, 'o', 1, 1)`, caller.OrgID)
	return caller
}

func (w *world) approve(p principal.Principal, t *terminal, session bool) {
	w.t.Helper()
	if err := w.service.ApproveDevice(w.t.Context(), p, t.codes.User, session); err != nil {
		w.t.Fatalf("let a terminal in: %v", err)
	}
}
