package api

import (
	"context"
	"time"

	"writ/internal/auth"
	"writ/internal/principal"
)

// DeviceRequestBody is a terminal that waits, as the person sees it who may let it
// in. Product and client are what the terminal says of itself.
type DeviceRequestBody struct {
	UserCode  string            `json:"userCode" example:"BCDF-GHJK"`
	Client    string            `json:"client" doc:"writ where it will ask for a session as well as a key; else empty."`
	Product   string            `json:"product"`
	Address   string            `json:"address" doc:"The network address it asked from."`
	UserAgent string            `json:"userAgent"`
	Scopes    []principal.Scope `json:"scopes" nullable:"false" doc:"Of the key it gets."`
	CreatedAt time.Time         `json:"createdAt"`
	ExpiresAt time.Time         `json:"expiresAt"`
}

type findDeviceInput struct {
	UserCode string `query:"userCode" required:"true" minLength:"1" maxLength:"20"`
}

type findDeviceOutput struct{ Body DeviceRequestBody }

func (a *API) findDevice(ctx context.Context, _ principal.Principal, in *findDeviceInput) (*findDeviceOutput, error) {
	login, err := a.Auth.FindDevice(ctx, in.UserCode)
	if err != nil {
		return nil, err
	}
	body := DeviceRequestBody{
		UserCode: auth.ShownUserCode(in.UserCode), Product: login.Product, Address: login.From.Address,
		UserAgent: login.From.UserAgent,
		Scopes:    deviceScopes(), CreatedAt: login.CreatedAt, ExpiresAt: login.ExpiresAt,
	}
	if login.WantsSession {
		body.Client = writClient
	}
	return &findDeviceOutput{body}, nil
}

type approveDeviceInput struct {
	Body struct {
		UserCode       string `json:"userCode" minLength:"1" maxLength:"20" example:"BCDF-GHJK"`
		OrganizationID string `json:"organizationId,omitempty" maxLength:"100" doc:"Where the key is good. Not needed by who is in one organization alone."`
		KeyOnly        bool   `json:"keyOnly,omitempty" doc:"The terminal gets no session, whatever it asks for."`
	}
}

func (a *API) approveDevice(
	ctx context.Context, caller principal.Principal, in *approveDeviceInput,
) (*statusBody, error) {
	caller, err := a.gate.InNamed(ctx, caller, in.Body.OrganizationID)
	if err != nil {
		return nil, err
	}
	if err := caller.Require(principal.OwnKeys); err != nil {
		return nil, err
	}
	if err := a.Auth.ApproveDevice(ctx, caller, in.Body.UserCode, !in.Body.KeyOnly); err != nil {
		return nil, err
	}
	return statusOf("approved"), nil
}

type denyDeviceInput struct {
	Body struct {
		UserCode string `json:"userCode" minLength:"1" maxLength:"20" example:"BCDF-GHJK"`
	}
}

func (a *API) denyDevice(ctx context.Context, caller principal.Principal, in *denyDeviceInput) (*statusBody, error) {
	if err := a.Auth.DenyDevice(ctx, caller, in.Body.UserCode); err != nil {
		return nil, err
	}
	return statusOf("denied"), nil
}
