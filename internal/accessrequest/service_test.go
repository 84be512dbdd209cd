package accessrequest_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"writ/internal/accessrequest"
	"writ/internal/audit"
	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/mail"
	"writ/internal/principal"
	"writ/internal/testenv"
)

// broken is a sender that fails, and remembers to whom.
type broken struct{ to []string }

func (b *broken) Send(_ context.Context, m mail.Message) error {
	b.to = append(b.to, m.To)
	return errors.New("away")
}

type env struct {
	*testenv.Env
	service *accessrequest.Service
	mails   *broken
	// refuse refuses operators where a change is made, and not where something is read.
	refuse bool
}

func each(t *testing.T, body func(t *testing.T, e *env)) {
	t.Helper()
	testenv.Each(t, func(t *testing.T, base *testenv.Env) {
		e := &env{Env: base, mails: &broken{}}
		e.service = accessrequest.NewService(accessrequest.Options{
			Database:  base.DB,
			Log:       base.Log,
			Mail:      e.mails,
			Logger:    slog.New(slog.DiscardHandler),
			PublicURL: "https://writ.example.org/",
			Require: func(_ context.Context, r database.Reader, _ principal.Principal) error {
				if _, inChange := r.(*database.Tx); inChange && e.refuse {
					return fault.New(fault.Forbidden, "no operator any more")
				}
				return nil
			},
			Addresses: func(context.Context) ([]string, error) {
				var addresses []string
				for i := range 25 {
					addresses = append(addresses, fmt.Sprintf("operator%d@example.org", i))
				}
				return addresses, nil
			},
		})
		body(t, e)
	})
}

func (e *env) ask(address string) error {
	return e.service.Ask(e.T.Context(), accessrequest.New{Email: address})
}

// TestMailIsAway: the list shows what no mail told, and operators are not mailed about everything.
func TestMailIsAway(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		for _, address := range []string{"a@example.org", "b@example.org", "A@example.org"} {
			testenv.WantFault(t, "ask", e.ask(address), "")
		}
		if len(e.mails.to) != 1+20+1 || e.mails.to[0] != "a@example.org" || e.mails.to[21] != "b@example.org" {
			t.Errorf("mails to %v, want one to each and the first to 20 operators", e.mails.to)
		}
		found, err := e.service.List(t.Context(), principal.Principal{}, accessrequest.Pending, "", 0)
		if err != nil || len(found.Items) != 2 {
			t.Errorf("%+v, %v", found, err)
		}
		if log := e.Actions(audit.System); !slices.Equal(log, []string{"access.requested", "access.requested"}) {
			t.Errorf("the log: %v", log)
		}
	})
}

// TestRemovedWhileAnswering: who is no operator when the answer is stored has not answered.
func TestRemovedWhileAnswering(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		testenv.WantFault(t, "ask", e.ask("a@example.org"), "")
		found, err := e.service.List(t.Context(), principal.Principal{}, "", "", 0)
		if err != nil {
			t.Fatal(err)
		}
		id, p := found.Items[0].ID, principal.Principal{Kind: principal.User, UserID: "u"}
		before := e.Text("access_request")
		e.refuse = true
		_, err = e.service.Approve(t.Context(), p, id)
		testenv.WantFault(t, "approve", err, fault.Forbidden)
		_, err = e.service.Reject(t.Context(), p, id, "r")
		testenv.WantFault(t, "reject", err, fault.Forbidden)
		_, err = e.service.Invited(t.Context(), p, id, accessrequest.Invitation{OrgID: "o", Role: principal.Member})
		testenv.WantFault(t, "invite", err, fault.Forbidden)
		if after := e.Text("access_request"); after != before {
			t.Errorf("changed from %s to %s", before, after)
		}
	})
}

// TestFullList refuses known and new addresses alike.
func TestFullList(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		testenv.WantFault(t, "ask", e.ask("a@example.org"), "")
		e.Write("", func(ctx context.Context, tx *database.Tx) error {
			var rows [][]any
			for i := range 9_999 {
				address := fmt.Sprintf("p%d@example.org", i)
				rows = append(rows, []any{database.NewID(), address, "", "", "", "pending", 1, "", "", "", ""})
			}
			return tx.Insert(ctx, `INSERT INTO access_request (id, email, name, company, message, status, created_at,
				decided_by, reason, org_id, role)`, rows, "")
		})
		for _, address := range []string{"a@example.org", "new@example.org"} {
			testenv.WantFault(t, address, e.ask(address), fault.TooMany)
		}
	})
}

// TestTokensAreNotStored: who reads the database cannot register with it.
func TestTokensAreNotStored(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		testenv.WantFault(t, "ask", e.ask("a@example.org"), "")
		found, err := e.service.List(t.Context(), principal.Principal{}, "", "", 0)
		if err != nil {
			t.Fatal(err)
		}
		_, err = e.service.Approve(t.Context(), principal.Principal{Kind: principal.User, UserID: "u"},
			found.Items[0].ID)
		if err == nil { // the operator must know, and may approve again
			t.Error("approved without a mail that says so")
		}
		if text := e.Text("access_request"); text == "" || strings.Contains(text, "acc_") {
			t.Errorf("stored: %s", text)
		}
		_, err = e.service.MayRegister(t.Context(), "")
		testenv.WantFault(t, "without a token", err, fault.NotFound)
		e.Write("", func(ctx context.Context, tx *database.Tx) error {
			n, err := accessrequest.EndLinks(ctx, tx)
			if n != 1 {
				t.Errorf("%d links ended", n)
			}
			return err
		})
	})
}
