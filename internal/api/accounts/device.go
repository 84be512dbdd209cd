package accounts

import (
	"context"
	"time"

	"writ/internal/api/admission"
	"writ/internal/api/route"
	"writ/internal/apikey"
	"writ/internal/auth"
	"writ/internal/auth/federation"
	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/organization"
	"writ/internal/principal"
	"writ/internal/secret"
	"writ/internal/throttle"
)

// writClient is the client that gets a session as well as a key. Published command lines get the key only.
const writClient = "writ"

// mountDevice serves signing in from a terminal (RFC 8628). The member names of code and token are those of published
// command lines.
func (h *Handlers) mountDevice(r *route.Router) {
	r.ShapeErrors(oauthErrors)
	route.Handle(r, route.Post("/auth/device/code", "Begin to sign in from a terminal").
		For(route.Public).Throttled(throttle.StartDevice).Unrecorded(), h.startDevice)
	route.Handle(r, route.Post("/auth/device/token",
		"The answer to a terminal, with its key, which is shown once. Errors have OAuth codes").
		For(route.Public).Records("key.created"), h.pollDevice)
	route.Handle(r, route.Get("/auth/device/request", "The terminal that waits with a user code").
		For(route.Person).LimitedToo().Throttled(throttle.AnswerDevice), h.findDevice)
	route.Handle(r, route.Post("/auth/device/approve", "Approve the sign-in of a terminal").
		For(route.Person).LimitedToo().Throttled(throttle.AnswerDevice).Records("device.approved").AsksAgain(),
		h.approveDevice)
	route.Handle(r, route.Post("/auth/device/deny", "Deny the sign-in of a terminal").
		For(route.Person).LimitedToo().Throttled(throttle.AnswerDevice).Records("device.denied"), h.denyDevice)
}

type startDeviceInput struct {
	Body struct {
		CallbackURL *string `json:"callback_url,omitempty" nullable:"true" maxLength:"2000" doc:"Ignored: the key is never sent in a URL."`
		Product     *string `json:"product,omitempty" nullable:"true" maxLength:"80" pattern:"^[^\\x00-\\x1f\\x7f-\\x9f]*$" patternDescription:"text without control characters" doc:"The product that signs in, shown to the person."`
		Client      *string `json:"client,omitempty" nullable:"true" maxLength:"80" doc:"writ: the terminal wants a session as well as a key. Others get only a key."`
	}
}

// DeviceCodeBody is a terminal's request to sign in.
type DeviceCodeBody struct {
	DeviceCode              string `json:"device_code" doc:"The terminal's secret."`
	UserCode                string `json:"user_code" doc:"Shown by the terminal and by the page." example:"BCDF-GHJK"`
	VerificationURI         string `json:"verification_uri" doc:"The page where a person approves or denies it."`
	VerificationURIComplete string `json:"verification_uri_complete" doc:"The page with the user code filled in."`
	ExpiresIn               int    `json:"expires_in" doc:"Seconds." example:"600"`
	Interval                int    `json:"interval" doc:"Seconds between two requests to /auth/device/token." example:"5"`
}

func (h *Handlers) startDevice(
	ctx context.Context, _ principal.Principal, in *startDeviceInput,
) (DeviceCodeBody, error) {
	codes, err := h.Auth.StartDevice(ctx, auth.NewDevice{
		Product: valueOf(in.Body.Product), WantsSession: valueOf(in.Body.Client) == writClient, From: deviceOf(ctx),
	})
	if err != nil {
		return DeviceCodeBody{}, err
	}
	page := h.PublicURL.JoinPath(devicePath)
	complete := *page
	complete.RawQuery = "user_code=" + codes.User
	return DeviceCodeBody{
		DeviceCode:              codes.Device.Reveal(),
		UserCode:                codes.User,
		VerificationURI:         page.String(),
		VerificationURIComplete: complete.String(),
		ExpiresIn:               int(auth.DeviceLife.Seconds()),
		Interval:                int(auth.DeviceInterval.Seconds()),
	}, nil
}

// valueOf is a text that may be absent or null.
func valueOf(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}

type pollDeviceInput struct {
	Body struct {
		DeviceCode string  `json:"deviceCode" minLength:"1" maxLength:"200"`
		Client     *string `json:"client,omitempty" nullable:"true" maxLength:"80" doc:"writ: return a session as well as a key."`
	}
}

// DeviceGrantBody is what an approved terminal gets, under the names that published command lines read. Only
// writ gets the tokens.
type DeviceGrantBody struct {
	APIKey       string `json:"api_key" doc:"Has the scopes that /auth/device/request lists. It is not shown again. Empty for a person whose terminal gets a session alone: in no organization, where org_id is empty too, or with a role that has no keys."`
	Email        string `json:"email"`
	UserID       string `json:"user_id" format:"uuid"`
	OrgID        string `json:"org_id"`
	AccessToken  string `json:"access_token,omitempty"`
	RefreshToken string `json:"refresh_token,omitempty"`
	ExpiresIn    int    `json:"expires_in,omitempty,omitzero" doc:"Seconds until the access token expires."`
}

func (h *Handlers) pollDevice(
	ctx context.Context, _ principal.Principal, in *pollDeviceInput,
) (DeviceGrantBody, error) {
	var key apikey.Issued
	wantsSession := valueOf(in.Body.Client) == writClient
	answer, err := h.Auth.PollDevice(ctx, auth.DeviceQuestion{
		Code: secret.NewText(in.Body.DeviceCode), WantsSession: wantsSession, From: deviceOf(ctx),
	}, func(ctx context.Context, tx *database.Tx, login auth.DeviceLogin) (err error) {
		if login.OrgID == "" {
			return sessionAlone(login, wantsSession)
		}
		key, err = h.addTerminalKey(ctx, tx, login, wantsSession)
		return err
	})
	if fault.Is(err, fault.Forbidden) { // the person lost the right meanwhile
		return DeviceGrantBody{}, deviceRefusals[auth.DeviceDenied]
	}
	if err != nil {
		return DeviceGrantBody{}, err
	}
	if answer.State != auth.DeviceGranted {
		return DeviceGrantBody{}, deviceRefusals[answer.State]
	}
	return DeviceGrantBody{
		APIKey:       key.Secret.Reveal(),
		Email:        answer.User.Email,
		UserID:       answer.User.ID,
		OrgID:        answer.OrgID,
		AccessToken:  answer.Tokens.Access.Reveal(),
		RefreshToken: answer.Tokens.Refresh.Reveal(),
		ExpiresIn:    int(answer.Tokens.ExpiresIn.Seconds()),
	}, nil
}

// sessionAlone refuses a terminal that would get neither a key nor a session.
func sessionAlone(login auth.DeviceLogin, wanted bool) error {
	if login.SessionAllowed && wanted {
		return nil
	}
	return fault.New(fault.Forbidden, "a key needs an organization, and a role that has keys")
}

// addTerminalKey creates the key of a terminal for the person who approved it, if they may still have keys; a member
// who may have none gives the terminal their session alone. The product is only in the key's name: command lines of
// several products share one file of credentials, so the key cannot be bound to one product.
func (h *Handlers) addTerminalKey(
	ctx context.Context, tx *database.Tx, login auth.DeviceLogin, wantsSession bool,
) (apikey.Issued, error) {
	role, err := organization.RoleIn(ctx, tx, login.OrgID, login.UserID)
	if err != nil {
		return apikey.Issued{}, err
	}
	person := principal.Principal{Kind: principal.User, UserID: login.UserID, OrgID: login.OrgID, Role: role}
	if !login.Limited && role != principal.Owner {
		if err := admission.RefuseEnforced(federation.Enforced(ctx, tx, login.OrgID)); err != nil {
			return apikey.Issued{}, err
		}
	}
	if !person.May(principal.OwnKeys) {
		return apikey.Issued{}, sessionAlone(login, wantsSession)
	}
	name := "cli-" + tx.Now().Format(time.DateOnly)
	if login.Product != "" {
		name += " " + login.Product
	}
	return h.Keys.Add(ctx, tx, person, login.UserID, apikey.NewKey{
		Name:      name,
		OrgID:     login.OrgID,
		Scopes:    principal.TerminalScopes(),
		Limited:   login.Limited,
		SessionID: login.SessionID,
	})
}
