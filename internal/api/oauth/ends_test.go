package oauth_test

import (
	"net/http"
	"net/url"
	"testing"
	"time"

	"writ/internal/fault"
	"writ/internal/testserver"
)

// ending is something that ends the tokens of an administrator's consent.
type ending struct {
	name string
	end  func(c consent, tokens answer) error
	// kind is of the refusal; empty: Unauthenticated.
	kind fault.Kind
	// undo lets the next ending begin as this one did.
	undo func() error
}

// TestWhatEndsTokens: the end of the consent, of its key, of its owner's rights or of its agent.
func TestWhatEndsTokens(t *testing.T) {
	t.Parallel()
	eachFlow(t, func(t *testing.T, f *flow) {
		admin := f.Join(f.owner, f.org, "admin")
		for _, e := range append(f.endingsOfConsents(admin), f.endingsOfOthers(admin)...) {
			f.NextMinute()
			to, err := f.tryApprove(admin, f.query(), f.org, f.agent)
			if err != nil {
				t.Fatalf("%s: approve: %v", e.name, err)
			}
			tokens := f.exchange(queryOf(t, to).Get("code"))
			if granted := f.wantWorks(e.name+", before", tokens.AccessToken); granted.Caller.UserID != admin.ID {
				t.Errorf("the key belongs to %s", granted.Caller.UserID)
			}
			if err := e.end(f.consents(f.owner)[0], tokens); err != nil {
				t.Fatalf("%s: %v", e.name, err)
			}
			kind := e.kind
			if kind == "" {
				kind = fault.Unauthenticated
			}
			f.wantRefused(e.name, tokens.AccessToken, kind)
			f.wantError(e.name, f.refresh(tokens.RefreshToken), http.StatusBadRequest, "invalid_grant")
			if e.undo != nil {
				if err := e.undo(); err != nil {
					t.Fatalf("%s: undo: %v", e.name, err)
				}
			}
		}
		if !f.recorded("consent.ended") {
			t.Error("the log does not tell of the end of consents")
		}
	})
}

func (f *flow) endingsOfConsents(admin *testserver.Person) []ending {
	return []ending{
		{name: "ended by its owner", end: func(c consent, _ answer) error { return f.end(admin, c.ID) }},
		{name: "ended by another", end: func(c consent, _ answer) error { return f.end(f.owner, c.ID) }},
		{name: "its key revoked", end: func(c consent, _ answer) error {
			return f.owner.RevokeKey(f.t.Context(), c.KeyID)
		}},
		{name: "given up", end: func(_ consent, tokens answer) error {
			f.giveUp(tokens.RefreshToken)
			return nil
		}},
	}
}

func (f *flow) endingsOfOthers(admin *testserver.Person) []ending {
	ctx := f.t.Context()
	setStatus := func(status string) error {
		_, err := f.owner.SetAgentStatus(ctx, f.org, f.agent, status, "a test")
		return err
	}
	setRole := func(role string) error {
		_, err := f.owner.ChangeRole(ctx, f.org, admin.ID, role)
		return err
	}
	return []ending{
		{name: "its agent killed", kind: fault.Forbidden, end: func(consent, answer) error {
			_, err := f.owner.KillAgent(ctx, f.org, f.agent, "it went astray")
			return err
		}, undo: func() error {
			_, err := f.owner.ReviveAgent(ctx, f.org, f.agent, "it is back")
			return err
		}},
		{name: "its agent suspended", kind: fault.Forbidden, end: func(consent, answer) error {
			return setStatus("suspended")
		}, undo: func() error { return setStatus("active") }},
		{name: "its agent taken away", end: func(consent, answer) error {
			_, err := f.owner.UpdateAgent(ctx, f.org, f.agent, m{"keys": []string{f.AgentKey(f.owner, f.org).ID}})
			return err
		}},
		{name: "its owner no longer manages agents", end: func(consent, answer) error { return setRole("member") },
			undo: func() error { return setRole("admin") }},
		{name: "its owner a viewer", end: func(consent, answer) error { return setRole("viewer") },
			undo: func() error { return setRole("admin") }},
		{name: "its owner's password changed", end: func(consent, answer) error {
			err := admin.ChangePassword(ctx, testserver.Password, testserver.NextPassword)
			f.Advance(time.Second) // the organization's log does not tell of it
			return err
		}},
		{name: "its owner gone", end: func(consent, answer) error {
			return f.owner.RemoveMember(ctx, f.org, admin.ID)
		}},
	}
}

// giveUp revokes a token as its client does (RFC 7009); another client cannot.
func (f *flow) giveUp(token string) {
	f.t.Helper()
	revoke := func(clientID string) answer {
		return f.post("/oauth/revoke", url.Values{"client_id": {clientID}, "token": {token}})
	}
	f.wantError("another client gives it up", revoke(f.register(redirect)), http.StatusBadRequest, "invalid_grant")
	for range 2 { // the second time there is nothing left to do
		if got := revoke(f.clientID); got.status != http.StatusOK {
			f.t.Errorf("give up: %+v", got)
		}
	}
}

// TestAnAccessTokenMayBeGivenUpAlone: the consent goes on.
func TestAnAccessTokenMayBeGivenUpAlone(t *testing.T) {
	t.Parallel()
	eachFlow(t, func(t *testing.T, f *flow) {
		tokens := f.tokens()
		f.giveUp(tokens.AccessToken)
		f.wantRefused("given up", tokens.AccessToken, fault.Unauthenticated)
		f.wantWorks("after a refresh", f.refresh(tokens.RefreshToken).AccessToken)
	})
}
