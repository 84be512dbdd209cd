package accounts

import (
	"cmp"
	"context"
	"time"

	"writ/internal/auth"
	"writ/internal/principal"
)

// DeviceRequestBody is a terminal that waits, as shown to the person who may approve it. Product and client are what
// the terminal says about itself.
type DeviceRequestBody struct {
	UserCode  string            `json:"userCode" example:"BCDF-GHJK"`
	Client    string            `json:"client" doc:"writ if the terminal wants a session as well as a key; else empty."`
	Product   string            `json:"product"`
	Address   string            `json:"address" doc:"The network address of the terminal."`
	UserAgent string            `json:"userAgent"`
	Scopes    []principal.Scope `json:"scopes" nullable:"false" doc:"The scopes of the key that it gets, if the person may have keys."`
	CreatedAt time.Time         `json:"createdAt"`
	ExpiresAt time.Time         `json:"expiresAt"`
}

type findDeviceInput struct {
	UserCode string `query:"userCode" required:"true" minLength:"1" maxLength:"20"`
}

func (h *Handlers) findDevice(
	ctx context.Context, _ principal.Principal, in *findDeviceInput,
) (DeviceRequestBody, error) {
	login, err := h.Auth.FindDevice(ctx, in.UserCode)
	if err != nil {
		return DeviceRequestBody{}, err
	}
	body := DeviceRequestBody{
		UserCode:  auth.ShownUserCode(in.UserCode),
		Product:   login.Product,
		Address:   login.From.Address,
		UserAgent: login.From.UserAgent,
		Scopes:    principal.TerminalScopes(),
		CreatedAt: login.CreatedAt,
		ExpiresAt: login.ExpiresAt,
	}
	if login.WantsSession {
		body.Client = writClient
	}
	return body, nil
}

type approveDeviceInput struct {
	Body struct {
		UserCode       string `json:"userCode" minLength:"1" maxLength:"20" example:"BCDF-GHJK"`
		OrganizationID string `json:"organizationId,omitempty" maxLength:"100" doc:"The organization of the key. Not needed by a person in only one organization. A person in none, or whose role has no keys, gives writ a session without a key."`
		KeyOnly        bool   `json:"keyOnly,omitempty" doc:"The terminal gets no session, whatever it asks for."`
	}
}

func (h *Handlers) approveDevice(
	ctx context.Context, caller principal.Principal, in *approveDeviceInput,
) (StatusBody, error) {
	caller, err := h.whereApproved(ctx, caller, in)
	if err != nil {
		return StatusBody{}, err
	}
	return status("approved"), h.Auth.ApproveDevice(ctx, caller, in.Body.UserCode, !in.Body.KeyOnly)
}

// whereApproved is the caller in the organization that the terminal gets a key of. Whoever is in none, or may have no
// keys there, gives a terminal that asked for a session that alone: it accepts their first invitation, or reads.
func (h *Handlers) whereApproved(
	ctx context.Context, caller principal.Principal, in *approveDeviceInput,
) (principal.Principal, error) {
	if in.Body.OrganizationID == "" && !in.Body.KeyOnly && caller.LimitedTo == "" {
		mine, err := h.Gate.Mine(ctx, caller)
		if err != nil {
			return principal.Principal{}, err
		}
		login, err := h.Auth.FindDevice(ctx, in.Body.UserCode)
		if err != nil {
			return principal.Principal{}, err
		}
		if len(mine) == 0 && login.WantsSession {
			return h.Gate.InOptional(ctx, caller, "")
		}
	}
	caller, err := h.Gate.InNamed(ctx, caller, in.Body.OrganizationID)
	if err != nil {
		return principal.Principal{}, err
	}
	if err := caller.Require(principal.OwnKeys); err != nil {
		if login, findErr := h.Auth.FindDevice(ctx, in.Body.UserCode); findErr != nil || !login.WantsSession ||
			in.Body.KeyOnly {
			return principal.Principal{}, cmp.Or(findErr, err)
		}
	}
	return caller, nil
}

type denyDeviceInput struct {
	Body struct {
		UserCode string `json:"userCode" minLength:"1" maxLength:"20" example:"BCDF-GHJK"`
	}
}

func (h *Handlers) denyDevice(
	ctx context.Context, caller principal.Principal, in *denyDeviceInput,
) (StatusBody, error) {
	return status("denied"), h.Auth.DenyDevice(ctx, caller, in.Body.UserCode)
}
