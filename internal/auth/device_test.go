package auth_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"writ/internal/auth"
	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/principal"
	"writ/internal/secret"
	"writ/internal/testenv"
)

// TestDeviceLife walks a sign-in from the first question to the second use.
func TestDeviceLife(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		user := e.account("ada@example.org", true)
		ada := e.organizationOf(user.Email)
		program := e.terminal(auth.NewDevice{
			Product: "gemini", WantsSession: true, From: auth.Device{Address: "192.0.2.7", UserAgent: "cli/1"},
		})

		program.want("the first question", auth.DevicePending)
		program.want("at once again", auth.DeviceTooSoon)
		e.Pass(3900 * time.Millisecond)
		program.want("still too soon", auth.DeviceTooSoon)
		e.Pass(100 * time.Millisecond)
		program.want("at the interval, less a second", auth.DevicePending)

		seen, err := e.service.FindDevice(t.Context(),
			strings.ToLower(strings.ReplaceAll(program.codes.User, "-", " ")))
		if err != nil || seen.Product != "gemini" || !seen.WantsSession || seen.From.Address != "192.0.2.7" ||
			seen.From.UserAgent != "cli/1" {
			t.Errorf("the person sees %+v, %v", seen, err)
		}
		e.approve(ada, program, true)
		program.want("too soon, whatever the answer", auth.DeviceTooSoon)
		e.Pass(auth.DeviceInterval)
		answer := program.want("after the yes", auth.DeviceGranted)
		if answer.User.ID != user.ID || answer.User.Email != user.Email || answer.OrgID != ada.OrgID {
			t.Errorf("granted %+v", answer)
		}
		if caller := e.caller(answer.Tokens); caller.UserID != user.ID || caller.LimitedTo != "" {
			t.Errorf("the session is of %+v", caller)
		}
		e.Pass(auth.DeviceInterval)
		program.want("a second time", auth.DeviceUnknown)
		if *program.keys != 1 {
			t.Errorf("%d keys were issued, want one", *program.keys)
		}
		testenv.WantFault(t, "a code that was used",
			e.service.ApproveDevice(t.Context(), ada, program.codes.User, true),
			fault.Invalid)
		if got, want := e.actions()[len(e.actions())-2:],
			[]string{"device.approved", "session.created"}; !slices.Equal(got, want) {
			t.Errorf("the log ends with %v, want %v", got, want)
		}
	})
}

// TestDeviceSessionNeedsAll: a terminal gets a session only if it said that it
// would ask for one, so that the person saw it, if the yes includes it, and if it
// does ask.
func TestDeviceSessionNeedsAll(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.account("ada@example.org", true)
		ada := e.organizationOf("ada@example.org")
		for _, c := range []struct{ said, asked, allowed bool }{
			{true, true, false}, {true, false, true}, {true, false, false}, {false, true, true},
		} {
			program := e.terminal(auth.NewDevice{WantsSession: c.said})
			e.approve(ada, program, c.allowed)
			sessions := e.Number(`SELECT count(*) FROM user_session`)
			answer, err := program.pollAt(e.service, c.asked)
			if err != nil || answer.State != auth.DeviceGranted || answer.Tokens.Access.IsSet() ||
				answer.Tokens.Refresh.IsSet() {
				t.Errorf("%+v: %+v, %v; want a key alone", c, answer, err)
			}
			if n := e.Number(`SELECT count(*) FROM user_session`); n != sessions {
				t.Errorf("%+v: %d new sessions", c, n-sessions)
			}
		}
	})
}

func TestDeviceDenied(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.account("ada@example.org", true)
		ada := e.organizationOf("ada@example.org")
		program := e.terminal(auth.NewDevice{WantsSession: true})
		if err := e.service.DenyDevice(t.Context(), ada, program.codes.User); err != nil {
			t.Fatal(err)
		}
		program.want("after a no", auth.DeviceDenied)
		testenv.WantFault(t, "a yes after a no", e.service.ApproveDevice(t.Context(), ada, program.codes.User, true),
			fault.Invalid)
		program.want("after a yes that came too late", auth.DeviceDenied)
		if *program.keys != 0 {
			t.Error("a key was issued")
		}
	})
}

// TestDeviceExpires: after ten minutes neither the person nor the terminal can go
// on, not even with a yes that nobody came for.
func TestDeviceExpires(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.account("ada@example.org", true)
		ada := e.organizationOf("ada@example.org")
		waiting, approved := e.terminal(auth.NewDevice{WantsSession: true}), e.terminal(auth.NewDevice{})
		e.approve(ada, approved, true)
		e.Pass(auth.DeviceLife - time.Microsecond)
		waiting.want("just before", auth.DevicePending)
		e.Pass(time.Microsecond)
		waiting.want("nobody answered in time", auth.DeviceExpired)
		approved.want("nobody came in time", auth.DeviceExpired)
		testenv.WantFault(t, "a yes too late", e.service.ApproveDevice(t.Context(), ada, waiting.codes.User, true),
			fault.Invalid)
		_, err := e.service.FindDevice(t.Context(), waiting.codes.User)
		testenv.WantFault(t, "a look too late", err, fault.Invalid)
	})
}

// TestDeviceGuesses: whatever is no live code gets the same answer, and changes
// nothing.
func TestDeviceGuesses(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.account("ada@example.org", true)
		ada := e.organizationOf("ada@example.org")
		program := e.terminal(auth.NewDevice{WantsSession: true})
		before := e.rows()
		var answers []string
		for _, guess := range []string{
			"BBBB-BBBB", "", "BCDF", program.codes.User + "B", "AEIO-UYAE", "1234-5678", "BCDF-GHJ\x00",
			strings.Repeat("B", 10_000), "' OR 1=1",
		} {
			if guess == program.codes.User {
				continue
			}
			_, err := e.service.FindDevice(t.Context(), guess)
			testenv.WantFault(t, "look for "+guess[:min(20, len(guess))], err, fault.Invalid)
			testenv.WantFault(t, "approve", e.service.ApproveDevice(t.Context(), ada, guess, true), fault.Invalid)
			testenv.WantFault(t, "deny", e.service.DenyDevice(t.Context(), ada, guess), fault.Invalid)
			answers = append(answers, err.Error())
		}
		if len(slices.Compact(slices.Clone(answers))) != 1 {
			t.Errorf("guesses are told apart: %q", answers)
		}
		for _, code := range []string{"", "dc_", program.codes.User, program.codes.Device.Reveal()[:60]} {
			guess := &terminal{env: e, codes: auth.DeviceCodes{Device: secret.NewText(code)}, keys: new(int)}
			guess.want("a device code that is none", auth.DeviceUnknown)
		}
		if after := e.rows(); !slices.Equal(before["device_login"], after["device_login"]) ||
			!slices.Equal(before["audit_head"], after["audit_head"]) {
			t.Error("a guess changed something")
		}
		key := principal.Principal{
			Kind: principal.Key, UserID: ada.UserID, OrgID: ada.OrgID, Scopes: []principal.Scope{principal.CLI},
		}
		testenv.WantFault(t, "a key approves", e.service.ApproveDevice(t.Context(), key, program.codes.User, true),
			fault.Forbidden)
	})
}

// TestDeviceAtOnce has two replicas asked at the same time: one key, one answer.
func TestDeviceAtOnce(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.account("ada@example.org", true)
		ada := e.organizationOf("ada@example.org")
		_, other := e.replica()
		for range 8 {
			program := e.terminal(auth.NewDevice{WantsSession: true})
			e.approve(ada, program, true)
			sessions := e.Number(`SELECT count(*) FROM user_session`)
			var answers [2]auth.DeviceAnswer
			ask := func(i int, service *auth.Service) func() error {
				question := auth.DeviceQuestion{Code: program.codes.Device, WantsSession: true}
				return func() (err error) {
					answers[i], err = service.PollDevice(t.Context(), question, func(
						context.Context, *database.Tx, auth.DeviceLogin,
					) error {
						return nil
					})
					return err
				}
			}
			if err := errors.Join(testenv.AtOnce(ask(0, e.service), ask(1, other))...); err != nil {
				t.Fatal(err)
			}
			states := []auth.DeviceState{answers[0].State, answers[1].State}
			slices.Sort(states)
			if !slices.Equal(states, []auth.DeviceState{auth.DeviceUnknown, auth.DeviceGranted}) {
				t.Errorf("answers %q, want one yes", states)
			}
			if n := e.Number(`SELECT count(*) FROM user_session`); n != sessions+1 {
				t.Errorf("%d new sessions, want one", n-sessions)
			}
		}
	})
}

// TestDeviceKeyFails leaves the code as it was: what cannot be given is not used up.
func TestDeviceKeyFails(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.account("ada@example.org", true)
		ada := e.organizationOf("ada@example.org")
		program := e.terminal(auth.NewDevice{WantsSession: true})
		e.approve(ada, program, true)
		before := e.rows()
		program.fail = fault.New(fault.Forbidden, "no")
		if _, err := program.pollAt(e.service, true); !fault.Is(err, fault.Forbidden) {
			t.Errorf("a key that cannot be issued: %v", err)
		}
		if after := e.rows(); !slices.Equal(before["device_login"], after["device_login"]) ||
			!slices.Equal(before["user_session"], after["user_session"]) {
			t.Error("the failure left something behind")
		}
		program.fail = nil
		program.want("when it can", auth.DeviceGranted)
	})
}

// TestDevicesAreSwept a day after they expired, and ended by a restore.
func TestDevicesAreSwept(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		program := e.terminal(auth.NewDevice{WantsSession: true})
		sweep := func() {
			if err := e.service.Sweep(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		e.Pass(auth.DeviceLife + 24*time.Hour)
		sweep()
		program.want("a day after its end", auth.DeviceExpired)
		e.Pass(time.Microsecond)
		sweep()
		program.want("later", auth.DeviceUnknown)
		if n := e.Number(`SELECT count(*) FROM device_login`); n != 0 {
			t.Errorf("%d rows are left", n)
		}

		restored := e.terminal(auth.NewDevice{WantsSession: true})
		err := e.DB.Write(t.Context(), database.Change{Do: func(ctx context.Context, tx *database.Tx) error {
			_, err := auth.EndSessions(ctx, tx)
			return err
		}})
		if err != nil {
			t.Fatal(err)
		}
		restored.want("after a restore", auth.DeviceUnknown)
	})
}

func TestUserCodesAreReadable(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		seen := map[string]bool{}
		for range 50 {
			code := e.terminal(auth.NewDevice{WantsSession: true}).codes.User
			letters := strings.ReplaceAll(code, "-", "")
			if len(code) != 9 || code[4] != '-' || strings.Trim(letters, secret.CodeLetters) != "" || seen[code] {
				t.Errorf("user code %q", code)
			}
			seen[code] = true
		}
	})
}
