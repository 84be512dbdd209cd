package api

import (
	"context"
	"net/http"

	"writ/internal/auth"
)

// deviceTokenPath is the route whose errors are those of OAuth.
const deviceTokenPath = "/auth/device/token"

// oauthRefusal is an error that OAuth has a code for.
type oauthRefusal struct{ code, description string }

func (r *oauthRefusal) Error() string { return r.description }

func (r *oauthRefusal) body(ctx context.Context) *ErrorBody {
	body := newErrorBody(ctx, http.StatusBadRequest, r.description, nil)
	body.ErrorText = r.code
	return body
}

// deviceRefusals is what a terminal is told that was not let in. Published command
// lines go on after the first two, and stop after any other.
var deviceRefusals = map[auth.DeviceState]*oauthRefusal{
	auth.DevicePending: {"authorization_pending", "nobody has answered yet"},
	auth.DeviceTooSoon: {"slow_down", "wait for the interval between two questions"},
	auth.DeviceDenied:  {"access_denied", "the sign-in was denied"},
	auth.DeviceExpired: {"expired_token", "the code has expired; begin again"},
	auth.DeviceUnknown: {"invalid_grant", "the device code is unknown, or was used; begin again"},
}

// speakOAuth gives an error of the token route, whatever it is, a code of OAuth.
// What will pass is slow_down, because a terminal that hears anything else gives up
// a sign-in that a person may be answering.
func (e *ErrorBody) speakOAuth() {
	e.Description = e.Message.text
	switch {
	case e.StatusCode == http.StatusTooManyRequests || e.StatusCode == http.StatusServiceUnavailable:
		e.ErrorText = "slow_down"
	case e.StatusCode >= 500:
		e.ErrorText = "server_error"
	default:
		e.ErrorText = "invalid_request"
	}
}
