package webhook_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/notification/notice"
	"writ/internal/notification/webhook"
	"writ/internal/principal"
	"writ/internal/testenv"
)

// enqueue queues one event for the webhooks of its organization.
func (e *env) enqueue(event notice.Event) {
	e.T.Helper()
	e.write(func(ctx context.Context, tx *database.Tx) error {
		return e.hooks.Enqueue(ctx, tx, e.org, []notice.Event{event})
	})
}

func TestSecretsAreSealedAndShownOnce(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		made := e.create(webhook.New{URL: "https://hooks.example.org/T000/B000/very-secret"})
		if !strings.HasPrefix(made.Secret.Reveal(), "whsec_") || len(made.Secret.Reveal()) != 70 {
			t.Errorf("the secret has %d characters", len(made.Secret.Reveal()))
		}
		if made.Target != "https://hooks.example.org/…" {
			t.Errorf("target: %s", made.Target)
		}
		var stored string
		for _, query := range []string{
			`SELECT url FROM webhook`, `SELECT secret FROM webhook`,
			`SELECT payload FROM audit_entry WHERE action = 'webhook.created'`,
		} {
			var raw []byte
			if err := e.DB.QueryRow(t.Context(), query).Scan(&raw); err != nil {
				t.Fatal(err)
			}
			stored += string(raw)
		}
		if strings.Contains(stored, "very-secret") || strings.Contains(stored, made.Secret.Reveal()) {
			t.Errorf("a secret is stored as it is: %q", stored)
		}
		renewed, err := e.hooks.RenewSecret(t.Context(), e.admin, made.ID)
		if err != nil || renewed.Secret == made.Secret {
			t.Errorf("renewed: %v", err)
		}
		e.happen(notice.Opened, 1)
		e.deliver()
		sent := e.target.got[0]
		if want := webhook.Sign(renewed.Secret, sent.Header.Get("Writ-Timestamp"),
			sent.Body); sent.Header.Get("Writ-Signature") != want {
			t.Errorf("signed %s, want %s", sent.Header.Get("Writ-Signature"), want)
		}
		if sent.URL != "https://hooks.example.org/T000/B000/very-secret" ||
			sent.Header.Get("Writ-Event") != "approval.opened" ||
			sent.Header.Get("Writ-Timestamp") != fmt.Sprint(start.Unix()) {
			t.Errorf("sent to %s with %v", sent.URL, sent.Header)
		}
	})
}

func TestWhatIsRefused(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		good := webhook.New{Name: "ops", Kind: webhook.Generic, URL: "https://hooks.example.org/"}
		for name, spoil := range map[string]func(*webhook.New){
			"name":   func(n *webhook.New) { n.Name = "" },
			"name ":  func(n *webhook.New) { n.Name = "a\x00b" },
			"name  ": func(n *webhook.New) { n.Name = strings.Repeat("a", 101) },
			"kind":   func(n *webhook.New) { n.Kind = "carrier pigeon" },
			"url":    func(n *webhook.New) { n.URL = "https://10.0.0.1/" },
			"url ":   func(n *webhook.New) { n.URL = "https://a\x00b/" },
			"events": func(n *webhook.New) { n.Events = []notice.Kind{"test"} },
		} {
			n := good
			spoil(&n)
			_, err := e.hooks.Create(t.Context(), e.admin, n)
			testenv.WantFault(t, name, err, fault.Invalid)
			if err != nil && !strings.HasPrefix(err.Error(), strings.TrimSpace(name)+":") {
				t.Errorf("%s: complains with %v", name, err)
			}
		}
		hook := e.create(good)
		text := func(s string) *string { return &s }
		for field, c := range map[string]webhook.Change{
			"name": {Name: text("")}, "url": {URL: text("https://10.0.0.1/")},
			"events": {Events: []notice.Kind{"test"}},
		} {
			_, err := e.hooks.Update(t.Context(), e.admin, hook.ID, c)
			testenv.WantFault(t, "change of "+field, err, fault.Invalid)
		}
		for _, id := range []string{"x", database.NewID()} {
			_, err := e.hooks.Replay(t.Context(), e.admin, hook.ID, id)
			testenv.WantFault(t, "no delivery", err, fault.NotFound)
		}
		for range webhook.MaxPerOrganization - 1 {
			e.create(good)
		}
		_, err := e.hooks.Create(t.Context(), e.admin, good)
		testenv.WantFault(t, "one too many", err, fault.Conflict)
	})
}

func TestOnlyWhoAdministers(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		hook := e.create(webhook.New{})
		e.happen(notice.Opened, 1)
		e.deliver()
		delivery := e.deliveries(hook.ID, "")[0].ID
		approver, elsewhere := e.admin, e.admin
		approver.Role = principal.Approver
		elsewhere.OrgID = database.NewID()
		for name, call := range map[string]func(p principal.Principal) error{
			"get": func(p principal.Principal) error { _, err := e.hooks.Get(t.Context(), p, hook.ID); return err },
			"update": func(p principal.Principal) error {
				_, err := e.hooks.Update(t.Context(), p, hook.ID, webhook.Change{})
				return err
			},
			"renew": func(p principal.Principal) error {
				_, err := e.hooks.RenewSecret(t.Context(), p, hook.ID)
				return err
			},
			"delete": func(p principal.Principal) error { return e.hooks.Delete(t.Context(), p, hook.ID) },
			"test":   func(p principal.Principal) error { _, err := e.hooks.Test(t.Context(), p, hook.ID); return err },
			"replay": func(p principal.Principal) error {
				_, err := e.hooks.Replay(t.Context(), p, hook.ID, delivery)
				return err
			},
			"listing": func(p principal.Principal) error {
				_, err := e.hooks.Deliveries(t.Context(), p, hook.ID, "", "", 0)
				return err
			},
		} {
			testenv.WantFault(t, name+" by an approver", call(approver), fault.Forbidden)
			testenv.WantFault(t, name+" from elsewhere", call(elsewhere), fault.NotFound)
		}
		if list, err := e.hooks.List(t.Context(), elsewhere); err != nil || len(list) != 0 {
			t.Errorf("listed elsewhere: %+v, %v", list, err)
		}
	})
}

func TestWhatAWebhookHears(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		hook := e.create(webhook.New{})
		for _, kind := range notice.Kinds() {
			e.happen(kind, 1)
		}
		if got := e.get(hook.ID).Waiting; got != 4 {
			t.Errorf("%d events wait, want opened, approved, rejected and expired", got)
		}
		off, events := false, []notice.Kind{notice.Used, notice.Used}
		changed, err := e.hooks.Update(t.Context(), e.admin, hook.ID, webhook.Change{Events: events, Enabled: &off})
		if err != nil || len(changed.Events) != 1 || changed.Enabled() || changed.Disabled != "by a person" {
			t.Errorf("changed: %+v, %v", changed, err)
		}
		e.happen(notice.Used, 1)
		if got := e.get(hook.ID); got.Waiting != 0 || got.Dead != 4 {
			t.Errorf("disabled: %d wait, %d dead", got.Waiting, got.Dead)
		}
		_, err = e.hooks.Replay(t.Context(), e.admin, hook.ID, e.deliveries(hook.ID, webhook.Dead)[0].ID)
		testenv.WantFault(t, "replay while disabled", err, fault.Conflict)
		_, err = e.hooks.Update(t.Context(), e.admin, hook.ID, webhook.Change{Events: []notice.Kind{}})
		testenv.WantFault(t, "no events", err, fault.Invalid)
		if err := e.hooks.Delete(t.Context(), e.admin, hook.ID); err != nil {
			t.Fatal(err)
		}
		_, err = e.hooks.Get(t.Context(), e.admin, hook.ID)
		testenv.WantFault(t, "deleted", err, fault.NotFound)
	})
}

// TestDeliveryLogHasPages and forgets what is long done.
func TestDeliveryLogHasPages(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		hook := e.create(webhook.New{})
		for range 5 {
			e.happen(notice.Opened, 1)
			e.Pass(time.Second)
		}
		e.deliver()
		seen, cursor := map[string]bool{}, ""
		for range 3 {
			got, err := e.hooks.Deliveries(t.Context(), e.admin, hook.ID, webhook.Delivered, cursor, 2)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range got.Items {
				seen[d.ID] = true
			}
			cursor = got.NextCursor
		}
		if len(seen) != 5 || cursor != "" {
			t.Errorf("%d deliveries on three pages", len(seen))
		}
		_, err := e.hooks.Deliveries(t.Context(), e.admin, hook.ID, "lost", "", 2)
		testenv.WantFault(t, "an unknown status", err, fault.Invalid)
		e.happen(notice.Opened, 1) // waits, however old it gets
		e.Pass(31 * 24 * time.Hour)
		if err := e.hooks.Prune(t.Context()); err != nil {
			t.Fatal(err)
		}
		if left := e.deliveries(hook.ID, ""); len(left) != 1 || left[0].Status != webhook.Waiting {
			t.Errorf("left: %+v", left)
		}
	})
}

// TestErasedContentIsNotSent, neither from the queue nor by hand.
func TestErasedContentIsNotSent(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		hook := e.create(webhook.New{SendArguments: true})
		e.happen(notice.Opened, 1)
		e.deliver()
		e.happen(notice.Opened, 1)
		request := e.event(notice.Opened).Request.ID
		e.write(func(ctx context.Context, tx *database.Tx) error {
			return webhook.EraseBodies(ctx, tx, database.NewID(), []string{request})
		})
		if got := e.get(hook.ID); got.Waiting != 1 {
			t.Errorf("what another organization erases: %d wait", got.Waiting)
		}
		e.write(func(ctx context.Context, tx *database.Tx) error {
			return webhook.EraseBodies(ctx, tx, e.org, []string{request})
		})
		e.deliver()
		if got := e.get(hook.ID); len(e.target.got) != 1 || got.Waiting != 0 || got.Dead != 1 {
			t.Errorf("%d arrived, %d wait, %d dead", len(e.target.got), got.Waiting, got.Dead)
		}
		for _, d := range e.deliveries(hook.ID, "") {
			_, err := e.hooks.Replay(t.Context(), e.admin, hook.ID, d.ID)
			testenv.WantFault(t, "replay of a "+string(d.Status)+" one", err, fault.Conflict)
		}
		var left int
		if err := e.DB.QueryRow(t.Context(),
			`SELECT COUNT(*) FROM webhook_delivery WHERE body <> ''`).Scan(&left); err != nil || left != 0 {
			t.Errorf("%d bodies are left, %v", left, err)
		}
	})
}

// TestSealsBelongToTheirWebhook: what was moved to another row is not sent there.
func TestSealsBelongToTheirWebhook(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		hook, other := e.create(webhook.New{}), e.elsewhere().create(webhook.New{URL: "https://evil.example/"})
		e.write(func(ctx context.Context, tx *database.Tx) error {
			_, err := tx.Exec(ctx,
				`UPDATE webhook SET url = (SELECT o.url FROM webhook o WHERE o.id = $2) WHERE id = $1`, hook.ID,
				other.ID)
			return err
		})
		e.happen(notice.Opened, 1)
		e.deliver()
		got := e.deliveries(hook.ID, webhook.Waiting)
		if e.target.tried() != 0 || len(got) != 1 || got[0].Attempts != 1 ||
			!strings.Contains(got[0].Problem, "cannot be read") {
			t.Errorf("%d tries, %+v", e.target.tried(), got)
		}
	})
}
