package organization_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/mail"
	"writ/internal/organization"
	"writ/internal/principal"
	"writ/internal/secret"
	"writ/internal/testenv"
)

func TestInvite(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		owner := e.create(t, "Blue")
		invite, token := e.invite(t, owner, " Two@Example.ORG ", principal.Approver)
		want := organization.Invite{
			ID:        invite.ID,
			OrgID:     owner.OrgID,
			Email:     "two@example.org",
			Role:      principal.Approver,
			InvitedBy: owner.UserID,
			CreatedAt: e.Now(),
			ExpiresAt: e.Now().Add(lifetime),
		}
		if diff := cmp.Diff(want, invite); diff != "" {
			t.Errorf("Invite (-want +got):\n%s", diff)
		}
		wantMail := mail.Message{To: "two@example.org", Subject: "You are invited to an organization on Writ",
			Text: `You are invited to join the organization "Blue" on Writ.
Your role will be: approver.

To accept, open this link and sign in or sign up with this e-mail address:

https://writ.example.org/ui/invites/accept?token=` + token + `

The link works once and expires in 7 days, on 9 January 2026 at 03:04 UTC.

If you did not expect this invitation, you can ignore this e-mail.
`}
		if diff := cmp.Diff([]mail.Message{wantMail}, e.mails.mails); diff != "" {
			t.Errorf("mails (-want +got):\n%s", diff)
		}
		var hash []byte
		if err := e.DB.QueryRow(t.Context(), `SELECT token_hash FROM organization_invite WHERE id = $1`,
			invite.ID).Scan(&hash); err != nil {
			t.Fatal(err)
		}
		if !secret.SameHash(hash, secret.Hash(token)) {
			t.Errorf("stored %x, which is not the token's hash", hash)
		}
		e.wantLog(t, owner.OrgID,
			entry{
				"invite.created", "user " + owner.UserID, "invite " + invite.ID,
				`{"email":"two@example.org","role":"approver"}`,
			})
	})
}

func TestInviteRefuses(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		owner := e.create(t, "Blue")
		admin := e.add(t, owner.OrgID, principal.Admin)
		e.Exec(`UPDATE user_account SET email = 'here@example.org' WHERE id = $1`, admin.UserID)
		for _, tt := range []struct {
			name, email string
			role        principal.Role
			want        fault.Kind
		}{
			{"no address", "", principal.Member, fault.Invalid},
			{"two addresses", "a@example.org, b@example.org", principal.Member, fault.Invalid},
			{"forged header", "a@example.org\r\nBcc: b@example.org", principal.Member, fault.Invalid},
			{"no role", "a@example.org", "", fault.Invalid},
			{"unknown role", "a@example.org", "root", fault.Invalid},
			{"a member", "HERE@example.org", principal.Member, fault.Conflict},
		} {
			got, err := e.service.Invite(t.Context(), owner, tt.email, tt.role)
			testenv.WantFault(t, tt.name, err, tt.want)
			if got != (organization.Invite{}) {
				t.Errorf("%s: %+v beside the fault", tt.name, got)
			}
		}
		if len(e.mails.mails) != 0 {
			t.Errorf("mails were sent: %v", e.mails.mails)
		}
		e.wantLog(t, owner.OrgID)
	})
}

func TestInviteReplacesTheOneBefore(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		owner := e.create(t, "Blue")
		first, firstToken := e.invite(t, owner, "two@example.org", principal.Admin)
		e.Pass(lifetime + time.Hour) // one that has expired is in the way too
		second, secondToken := e.invite(t, owner, "TWO@example.org", principal.Member)
		third, thirdToken := e.invite(t, owner, "two@example.org", principal.Viewer)
		for _, token := range []string{firstToken, secondToken} {
			_, err := e.service.InvitedEmail(t.Context(), token)
			wantFault(t, "an old link", err, fault.NotFound, invalidInvite)
		}
		if got, err := e.service.InvitedEmail(t.Context(), thirdToken); err != nil || got != "two@example.org" {
			t.Errorf("InvitedEmail = %q, %v", got, err)
		}
		actor, replaced := "user "+owner.UserID, `{"email":"two@example.org","reason":"replaced"}`
		e.wantLog(t, owner.OrgID,
			entry{"invite.created", actor, "invite " + first.ID, `{"email":"two@example.org","role":"admin"}`},
			entry{"invite.withdrawn", actor, "invite " + first.ID, replaced},
			entry{"invite.created", actor, "invite " + second.ID, `{"email":"two@example.org","role":"member"}`},
			entry{"invite.withdrawn", actor, "invite " + second.ID, replaced},
			entry{"invite.created", actor, "invite " + third.ID, `{"email":"two@example.org","role":"viewer"}`},
		)
	})
}

// An admin cannot keep an owner from making another owner.
func TestAdminLeavesOwnersInvitationsAlone(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		owner := e.create(t, "Blue")
		admin := e.add(t, owner.OrgID, principal.Admin)
		invite, token := e.invite(t, owner, "two@example.org", principal.Owner)
		_, err := e.service.Invite(t.Context(), admin, "two@example.org", principal.Viewer)
		testenv.WantFault(t, "replace", err, fault.Forbidden)
		testenv.WantFault(t, "withdraw", e.service.Withdraw(t.Context(), admin, invite.ID), fault.Forbidden)
		if _, err := e.service.InvitedEmail(t.Context(), token); err != nil {
			t.Errorf("the invitation is gone: %v", err)
		}
		testenv.WantFault(t, "the owner withdraws", e.service.Withdraw(t.Context(), owner, invite.ID), "")
	})
}

func TestInvitationThatCannotBeMailed(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		owner := e.create(t, "Blue")
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		e.mails.onSend = cancel // the caller goes away while it is sent
		e.mails.refusal = mail.None{}.Send(ctx, mail.Message{})
		got, err := e.service.Invite(ctx, owner, "two@example.org", principal.Member)
		refusal, ok := errors.AsType[*fault.Error](err)
		if !ok || refusal.Kind != fault.Unavailable || refusal.Message != "mail is not configured: set WRIT_SMTP_URL" {
			t.Errorf("Invite = %v, want the sender's own fault", err)
		}
		if got != (organization.Invite{}) {
			t.Errorf("Invite = %+v beside the fault", got)
		}
		token := e.mails.lastToken(t)
		if strings.Contains(err.Error(), token) {
			t.Errorf("the error tells the token: %v", err)
		}
		_, err = e.service.InvitedEmail(t.Context(), token)
		wantFault(t, "its token", err, fault.NotFound, invalidInvite)
		var id string
		if err := e.DB.QueryRow(t.Context(), `SELECT id FROM organization_invite`).Scan(&id); err != nil {
			t.Fatal(err)
		}
		e.wantLog(t, owner.OrgID,
			entry{
				"invite.created", "user " + owner.UserID, "invite " + id, `{"email":"two@example.org","role":"member"}`,
			},
			entry{
				"invite.withdrawn", "user " + owner.UserID, "invite " + id,
				`{"email":"two@example.org","reason":"not sent"}`,
			},
		)
	})
}

// What became of an invitation while its mail failed is not overwritten.
func TestInvitationAcceptedBeforeItsMailFails(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		owner := e.create(t, "Blue")
		joiner := principal.Principal{Kind: principal.User, UserID: e.user(t, "two@example.org")}
		e.mails.refusal = fault.New(fault.Unavailable, "mail could not be sent")
		e.mails.onSend = func() {
			if _, err := e.service.Accept(t.Context(), joiner, "two@example.org", e.mails.lastToken(t)); err != nil {
				t.Errorf("Accept: %v", err)
			}
		}
		_, err := e.service.Invite(t.Context(), owner, "two@example.org", principal.Member)
		testenv.WantFault(t, "invite", err, fault.Unavailable)
		log := e.log(t, owner.OrgID, 2)
		if len(log) != 3 || log[2].Action != "member.joined" {
			t.Errorf("log = %+v, want nothing after the joining", log)
		}
	})
}

// TestMailOfHostileNames sends through a real sender, which refuses headers
// that do not hold what was meant.
func TestMailOfHostileNames(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		for _, name := range []string{
			`Blue"`, "=?utf-8?q?=0D=0ABcc:_x@example.org?=", "Bcc: x@example.org", "%s%d%!", ".", "<b>Blue</b>",
			"Зелёный 😀",
		} {
			e.Pass(time.Hour) // an address is invited only so often
			dir := t.TempDir()
			outbox, err := mail.NewOutbox(dir, "writ@example.org", slog.New(slog.DiscardHandler), e.Now)
			if err != nil {
				t.Fatal(err)
			}
			service := organization.New(e.DB, e.Log, outbox, "https://writ.example.org", nil)
			if _, err := service.Invite(t.Context(), e.create(t, name), "two@example.org",
				principal.Member); err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			sent, err := mail.ReadOutbox(dir)
			if err != nil || len(sent) != 1 {
				t.Fatalf("%s: outbox %v, %v", name, sent, err)
			}
			if sent[0].To != "two@example.org" || sent[0].Subject != "You are invited to an organization on Writ" ||
				!strings.HasPrefix(sent[0].Text, `You are invited to join the organization "`+name+`" on Writ.`) {
				t.Errorf("%s: to %q, subject %q, text %q", name, sent[0].To, sent[0].Subject, sent[0].Text)
			}
		}
	})
}

func TestInvites(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		owner := e.create(t, "Blue")
		if got, err := e.service.Invites(t.Context(), owner); err != nil || got == nil || len(got) != 0 {
			t.Errorf("Invites = %#v, %v; want an empty list", got, err)
		}
		e.invite(t, owner, "expired@example.org", principal.Member)
		e.Pass(time.Microsecond)
		oldest, _ := e.invite(t, owner, "oldest@example.org", principal.Owner)
		e.Pass(lifetime - time.Microsecond) // to the very end of the first
		withdrawn, _ := e.invite(t, owner, "withdrawn@example.org", principal.Member)
		if err := e.service.Withdraw(t.Context(), owner, withdrawn.ID); err != nil {
			t.Fatal(err)
		}
		_, token := e.invite(t, owner, "accepted@example.org", principal.Member)
		joiner := principal.Principal{Kind: principal.User, UserID: e.user(t, "accepted@example.org")}
		if _, err := e.service.Accept(t.Context(), joiner, "accepted@example.org", token); err != nil {
			t.Fatal(err)
		}
		newer, _ := e.invite(t, owner, "newer@example.org", principal.Member)
		newest, _ := e.invite(t, owner, "newest@example.org", principal.Viewer) // of the same instant: by id
		got, err := e.service.Invites(t.Context(), owner)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]organization.Invite{newest, newer, oldest}, got); diff != "" {
			t.Errorf("Invites (-want +got):\n%s", diff)
		}
	})
}

func TestWithdraw(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		owner := e.create(t, "Blue")
		invite, token := e.invite(t, owner, "two@example.org", principal.Member)
		testenv.WantFault(t, "withdraw", e.service.Withdraw(t.Context(), owner, invite.ID), "")
		_, err := e.service.InvitedEmail(t.Context(), token)
		wantFault(t, "its token", err, fault.NotFound, invalidInvite)
		wantFault(t, "again", e.service.Withdraw(t.Context(), owner, invite.ID), fault.NotFound, noSuchInvite)
		e.wantLog(t, owner.OrgID,
			entry{
				"invite.created", "user " + owner.UserID, "invite " + invite.ID,
				`{"email":"two@example.org","role":"member"}`,
			},
			entry{
				"invite.withdrawn", "user " + owner.UserID, "invite " + invite.ID,
				`{"email":"two@example.org","reason":"by request"}`,
			},
		)

		accepted, token := e.invite(t, owner, "two@example.org", principal.Member)
		joiner := principal.Principal{Kind: principal.User, UserID: e.user(t, "two@example.org")}
		if _, err := e.service.Accept(t.Context(), joiner, "two@example.org", token); err != nil {
			t.Fatal(err)
		}
		wantFault(t, "accepted", e.service.Withdraw(t.Context(), owner, accepted.ID), fault.NotFound, noSuchInvite)
		wantFault(t, "unknown", e.service.Withdraw(t.Context(), owner, database.NewID()), fault.NotFound, noSuchInvite)
	})
}
