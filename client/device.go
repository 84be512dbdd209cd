package client

import (
	"context"
	"errors"
	"time"
)

// The codes of OAuth that PollDevice fails with; see DeviceError.
const (
	DevicePending  = "authorization_pending" // nobody has answered yet: ask again after the interval
	DeviceSlowDown = "slow_down"             // asked too soon, or the server is busy: wait, then ask again
	DeviceDenied   = "access_denied"
	DeviceExpired  = "expired_token"
)

// WritClient is the client that asks for a session as well as a key.
const WritClient = "writ"

// DeviceStart is what a terminal says of itself when it asks to sign in.
type DeviceStart struct {
	Client  string `json:"client,omitempty"` // WritClient: it will ask for a session as well
	Product string `json:"product,omitempty"`
}

// DeviceCode is a terminal's request to sign in: DeviceCode is its secret, UserCode
// is what a person compares with the page at VerificationURIComplete.
type DeviceCode struct {
	DeviceCode              string `json:"device_code"`
	UserCode                string `json:"user_code"`
	VerificationURI         string `json:"verification_uri"`
	VerificationURIComplete string `json:"verification_uri_complete"`
	ExpiresIn               int    `json:"expires_in"` // seconds
	Interval                int    `json:"interval"`   // seconds between two questions
}

// StartDevice asks to sign in from a terminal.
func (c *Client) StartDevice(ctx context.Context, start DeviceStart) (DeviceCode, error) {
	return post[DeviceCode](ctx, c, "/auth/device/code", nil, start)
}

// DeviceGrant is what an approved terminal gets, once. The tokens are there only
// for WritClient, and only if the person who approved let it act for them.
type DeviceGrant struct {
	APIKey         string `json:"api_key"`
	Email          string `json:"email"`
	UserID         string `json:"user_id"`
	OrganizationID string `json:"org_id"`
	AccessToken    string `json:"access_token"`
	RefreshToken   string `json:"refresh_token"`
	ExpiresIn      int    `json:"expires_in"` // seconds, of the access token
}

// PollDevice asks whether the terminal was approved. DeviceError says why not.
func (c *Client) PollDevice(ctx context.Context, deviceCode, client string) (DeviceGrant, error) {
	body := map[string]string{"deviceCode": deviceCode}
	if client != "" {
		body["client"] = client
	}
	return post[DeviceGrant](ctx, c, "/auth/device/token", nil, body)
}

// DeviceError is the OAuth code of an error of PollDevice; empty for another error,
// say of the network.
func DeviceError(err error) string {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code
	}
	return ""
}

// DeviceRequest is a terminal that waits, as the person who may approve it sees it.
type DeviceRequest struct {
	UserCode  string    `json:"userCode"`
	Client    string    `json:"client"`
	Product   string    `json:"product"`
	Address   string    `json:"address"`
	UserAgent string    `json:"userAgent"`
	Scopes    []string  `json:"scopes"`
	CreatedAt time.Time `json:"createdAt"`
	ExpiresAt time.Time `json:"expiresAt"`
}

// FindDevice reads the request behind a user code.
func (c *Client) FindDevice(ctx context.Context, userCode string) (DeviceRequest, error) {
	return get[DeviceRequest](ctx, c, "/auth/device/request", query("userCode", userCode))
}

// DeviceApproval lets a terminal sign in.
type DeviceApproval struct {
	UserCode       string `json:"userCode"`
	OrganizationID string `json:"organizationId,omitempty"` // not needed by members of only one
	KeyOnly        bool   `json:"keyOnly,omitempty"`        // the terminal gets no session, whatever it asks for
}

// ApproveDevice lets a terminal sign in.
func (c *Client) ApproveDevice(ctx context.Context, approval DeviceApproval) error {
	return c.do(ctx, "/auth/device/approve", nil, approval)
}

// DenyDevice refuses a terminal.
func (c *Client) DenyDevice(ctx context.Context, userCode string) error {
	return c.do(ctx, "/auth/device/deny", nil, map[string]string{"userCode": userCode})
}
