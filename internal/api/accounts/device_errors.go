package accounts

import (
	"errors"
	"net/http"

	"writ/internal/api/route"
	"writ/internal/auth"
	"writ/internal/fault"
)

// OAuthErrorBody is an error with the member names of OAuth as well as ours.
type OAuthErrorBody struct {
	route.ErrorBody
	Description string `json:"error_description" doc:"The message under OAuth's name; error is a code of OAuth."`
}

// oauthRefusal is an error that OAuth has a code for.
type oauthRefusal struct{ code, description string }

func (r *oauthRefusal) Error() string { return r.description }

// Unwrap is the fault that sets the status.
func (r *oauthRefusal) Unwrap() error { return fault.New(fault.Invalid, "%s", r.description) }

// deviceRefusals are the answers to a terminal that has no key yet. Published command lines continue after the first
// two, and stop after any other.
var deviceRefusals = map[auth.DeviceState]*oauthRefusal{
	auth.DevicePending: {"authorization_pending", "nobody has answered yet"},
	auth.DeviceTooSoon: {"slow_down", "wait for the interval between two requests"},
	auth.DeviceDenied:  {"access_denied", "the sign-in was denied"},
	auth.DeviceExpired: {"expired_token", "the code has expired; begin again"},
	auth.DeviceUnknown: {"invalid_grant", "the device code is unknown, or was used; begin again"},
}

// oauthErrors gives every error of the token route an OAuth code. A temporary error is slow_down, because a terminal
// that gets any other code gives up while a person may be answering.
var oauthErrors = route.Shape{
	Matches: func(path string) bool { return path == "/auth/device/token" },
	Of: func(err error, body route.ErrorBody) any {
		refusal, isRefusal := errors.AsType[*oauthRefusal](err)
		switch status := body.StatusCode; {
		case isRefusal:
			body.ErrorText = refusal.code
		case status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable:
			body.ErrorText = "slow_down"
		case status >= http.StatusInternalServerError:
			body.ErrorText = "server_error"
		default:
			body.ErrorText = "invalid_request"
		}
		return OAuthErrorBody{body, body.Message}
	},
	Documented: OAuthErrorBody{},
}
