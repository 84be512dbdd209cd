package carrier

import (
	"context"
	"errors"
	"net/http"

	"writ/internal/fault"
	registry "writ/internal/mcp"
	"writ/internal/mcp/upstream"
	"writ/internal/secret"
)

// Credentials are a caller's own for a server, as a header. The zero value is none.
type Credentials struct{ Name, Value string }

// count reports whether the caller's own stand in place of those of the registry.
func (own Credentials) count(reach registry.Reach) bool {
	return own.Name != "" && reach.CallerCredentials
}

// check refuses credentials that count, in a header that is not for them.
func (own Credentials) check(reach registry.Reach) error {
	if !own.count(reach) || reach.TakesHeader(own.Name) {
		return nil
	}
	return fault.New(fault.Invalid, "X-Armoriq-MCP-Auth: headerName must be absent, or the header that the MCP server is "+
		"registered with")
}

// Open opens a session with a registered server of the caller's organization, with the credentials that it is
// registered with, or with the caller's own where it is registered so. The error is an *upstream.Failure: no call was
// sent.
func (c *Carrier) Open(
	ctx context.Context, by Caller, server string, own Credentials, o upstream.Options,
) (*upstream.Session, error) {
	reach, err := c.Servers.ReachOf(ctx, by.Principal, server, "")
	if err != nil {
		return nil, c.unreachable(ctx, server, err)
	}
	if judged, ok := Judged(ctx); ok && !isSame(judged, reach) {
		return nil, Changed(server)
	}
	if err := own.check(reach); err != nil {
		return nil, c.unreachable(ctx, server, err)
	}
	to := upstream.Target{Name: reach.Name, URL: reach.URL, Transport: reach.Transport}
	switch {
	case own.count(reach):
		to.Header = http.Header{http.CanonicalHeaderKey(own.Name): {own.Value}}
	case reach.ByConsent && c.apart():
		if err := c.forOneCall(ctx, by, reach, &to); err != nil {
			return nil, c.unconsented(ctx, server, err)
		}
	case reach.ByConsent:
		if err := c.inNameOf(ctx, by, reach, &to); err != nil {
			return nil, c.unconsented(ctx, server, err)
		}
	default:
		if to.Header, err = c.credentials(ctx, by, reach); err != nil {
			return nil, c.unreachable(ctx, server, err)
		}
	}
	return c.Dialer.Dial(ctx, to, o)
}

// inNameOf has a server called with the token of the person whose key calls. Whom an agent names as its user does not
// count.
func (c *Carrier) inNameOf(ctx context.Context, by Caller, reach registry.Reach, to *upstream.Target) error {
	orgID, userID := by.Principal.OrgID, by.Principal.UserID
	to.Token = func(ctx context.Context) (secret.Text, error) { return c.UserToken(ctx, orgID, userID, reach) }
	to.Spent = func(ctx context.Context, token secret.Text) {
		if err := c.Spent(ctx, orgID, userID, reach, token); err != nil && !fault.Is(err, fault.NotFound) {
			c.Logger.WarnContext(ctx, "a token that an MCP server refuses could not be set aside", "error", err)
		}
	}
	_, err := to.Token(ctx)
	return err
}

// unconsented is the failure of a server that a person has not consented to be acted for at.
func (c *Carrier) unconsented(ctx context.Context, server string, err error) *upstream.Failure {
	f := c.unreachable(ctx, server, err)
	if fault.Is(err, fault.Forbidden) {
		f.Kind = upstream.Consent
	}
	return f
}

// unreachable is the failure of a server that was not called.
func (c *Carrier) unreachable(ctx context.Context, server string, err error) *upstream.Failure {
	f := &upstream.Failure{Kind: upstream.Unreachable, Server: server, Cause: err}
	if IsUndecided(err) {
		f.Kind, f.Reason = upstream.Refused, "this proxy gets its credentials only for a call that was allowed: make one first"
		return f
	}
	if known, ok := errors.AsType[*fault.Error](err); ok && known.Kind != fault.Unavailable {
		f.Kind, f.Reason = upstream.Refused, known.Message
		return f
	}
	f.Reason = c.reason(ctx, err)
	return f
}
