package webhook

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"writ/internal/audit"
	"writ/internal/database"
	"writ/internal/dispatch"
	"writ/internal/fault"
	"writ/internal/notification/notice"
	"writ/internal/outbound"
	"writ/internal/principal"
	"writ/internal/secret"
)

// Poster calls targets: the outbound client, or a fake in tests.
type Poster interface {
	Check(target string) error
	Post(ctx context.Context, r outbound.Request) (outbound.Answer, error)
}

// Service manages the webhooks of organizations and sends deliveries.
type Service struct {
	db        *database.DB
	log       *audit.Log
	sealer    *secret.Sealer
	poster    Poster
	publicURL string
	holder    string // names this process in leases
	sending   *dispatch.Dispatcher[dispatch.Target]
}

// NewService makes a Service. Links to requests begin with publicURL.
func NewService(
	db *database.DB, log *audit.Log, sealer *secret.Sealer, poster Poster, publicURL string,
) *Service {
	s := &Service{
		db:        db,
		log:       log,
		sealer:    sealer,
		poster:    poster,
		publicURL: publicURL,
		holder:    database.NewID(),
	}
	s.sending = s.newDispatcher()
	return s
}

// Actions in the audit log.
const (
	created  = "webhook.created"
	updated  = "webhook.updated"
	renewed  = "webhook.secret_renewed"
	deleted  = "webhook.deleted"
	disabled = "webhook.disabled"
	replayed = "webhook.replayed"
)

// recorded is a webhook in the audit log. The path of its URL is secret.
type recorded struct {
	Name          string        `json:"name"`
	Kind          Kind          `json:"kind"`
	Target        string        `json:"target"`
	Events        []notice.Kind `json:"events"`
	SendArguments bool          `json:"sendArguments"`
	Enabled       bool          `json:"enabled"`
	Reason        string        `json:"reason,omitzero"`
	Delivery      string        `json:"delivery,omitzero"`
}

// Create makes a webhook and its secret.
func (s *Service) Create(ctx context.Context, p principal.Principal, n New) (Issued, error) {
	if len(n.Events) == 0 {
		n.Events = defaultEvents()
	}
	for _, err := range []error{
		p.Require(principal.ManageWebhooks), checkName(n.Name), checkKind(n.Kind), checkEvents(n.Events),
		s.checkURL(n.URL),
	} {
		if err != nil {
			return Issued{}, err
		}
	}
	key := secret.Token(secretPrefix)
	w := s.newWebhook(p, n, key)
	err := s.change(ctx, p, func(ctx context.Context, tx *database.Tx) error {
		count, err := countWebhooks(ctx, tx, p.OrgID)
		if err != nil {
			return err
		}
		if count >= MaxPerOrganization {
			return fault.New(fault.Conflict, "the organization has %d webhooks already; delete one to add another",
				MaxPerOrganization)
		}
		w.CreatedAt, w.UpdatedAt = tx.Now(), tx.Now()
		if err := insertWebhook(ctx, tx, &w); err != nil {
			return err
		}
		return s.record(ctx, tx, p, created, &w, recorded{})
	})
	if err != nil {
		return Issued{}, err
	}
	return Issued{Webhook: w, Secret: key}, nil
}

// newWebhook is a webhook as it is stored: its URL and secret sealed under its id.
func (s *Service) newWebhook(p principal.Principal, n New, key secret.Text) Webhook {
	id := database.NewID()
	return Webhook{
		ID:            id,
		OrgID:         p.OrgID,
		Name:          n.Name,
		Kind:          n.Kind,
		Target:        displayURL(n.URL),
		Events:        sortKinds(n.Events),
		SendArguments: n.SendArguments,
		CreatedBy:     p.UserID,
		sealedURL:     s.sealer.Seal(urlContext(id), []byte(n.URL)),
		sealedSecret:  s.sealer.Seal(secretContext(id), []byte(key.Reveal())),
	}
}

// List gives the webhooks of the organization, oldest first.
func (s *Service) List(ctx context.Context, p principal.Principal) ([]Webhook, error) {
	if err := p.Require(principal.ManageWebhooks); err != nil {
		return nil, err
	}
	return selectWebhooks(ctx, s.db, p.OrgID, columnsWithCounts)
}

// Get gives one webhook.
func (s *Service) Get(ctx context.Context, p principal.Principal, id string) (Webhook, error) {
	if err := p.Require(principal.ManageWebhooks); err != nil {
		return Webhook{}, err
	}
	return selectWebhook(ctx, s.db, p.OrgID, id)
}

// Update changes a webhook. Enabling it again does not revive dead deliveries: a
// person can replay them.
func (s *Service) Update(ctx context.Context, p principal.Principal, id string, c Change) (Webhook, error) {
	if err := s.checkChange(p, c); err != nil {
		return Webhook{}, err
	}
	return s.changeOne(ctx, p, id, updated, func(ctx context.Context, tx *database.Tx, w *Webhook) error {
		if c.Name != nil {
			w.Name = *c.Name
		}
		if c.URL != nil {
			w.Target, w.sealedURL = displayURL(*c.URL), s.sealer.Seal(urlContext(id), []byte(*c.URL))
		}
		if c.Events != nil {
			w.Events = sortKinds(c.Events)
		}
		if c.SendArguments != nil {
			w.SendArguments = *c.SendArguments
		}
		switch {
		case c.Enabled == nil || *c.Enabled == w.Enabled():
		case *c.Enabled:
			w.DisabledAt, w.Disabled, w.FailingSince = nil, "", nil
		default:
			now := tx.Now()
			w.DisabledAt, w.Disabled = &now, "by a person"
		}
		if err := updateWebhook(ctx, tx, w); err != nil || w.Enabled() {
			return err
		}
		return killWaiting(ctx, tx, w.ID, tx.Now(), "the webhook was disabled")
	})
}

func (s *Service) checkChange(p principal.Principal, c Change) error {
	if err := p.Require(principal.ManageWebhooks); err != nil {
		return err
	}
	if c.Name != nil {
		if err := checkName(*c.Name); err != nil {
			return err
		}
	}
	if c.URL != nil {
		if err := s.checkURL(*c.URL); err != nil {
			return err
		}
	}
	if c.Events != nil && len(c.Events) == 0 {
		return fault.Field("events", "must name at least one kind of event")
	}
	return checkEvents(c.Events)
}

// RenewSecret replaces the secret. Waiting deliveries are signed with the new one.
func (s *Service) RenewSecret(ctx context.Context, p principal.Principal, id string) (Issued, error) {
	if err := p.Require(principal.ManageWebhooks); err != nil {
		return Issued{}, err
	}
	key := secret.Token(secretPrefix)
	w, err := s.changeOne(ctx, p, id, renewed, func(ctx context.Context, tx *database.Tx, w *Webhook) error {
		w.sealedSecret = s.sealer.Seal(secretContext(id), []byte(key.Reveal()))
		return updateWebhook(ctx, tx, w)
	})
	if err != nil {
		return Issued{}, err
	}
	return Issued{Webhook: w, Secret: key}, nil
}

// Delete removes a webhook with its deliveries; waiting ones are not sent.
func (s *Service) Delete(ctx context.Context, p principal.Principal, id string) error {
	if err := p.Require(principal.ManageWebhooks); err != nil {
		return err
	}
	_, err := s.changeOne(ctx, p, id, deleted, func(ctx context.Context, tx *database.Tx, w *Webhook) error {
		return deleteWebhook(ctx, tx, w.OrgID, w.ID)
	})
	return err
}

// changeOne changes a webhook of the caller's organization, and records it.
func (s *Service) changeOne(
	ctx context.Context, p principal.Principal, id, action string,
	do func(ctx context.Context, tx *database.Tx, w *Webhook) error,
) (Webhook, error) {
	var after Webhook
	err := s.change(ctx, p, func(ctx context.Context, tx *database.Tx) error {
		w, err := selectWebhook(ctx, tx, p.OrgID, id)
		if err != nil {
			return err
		}
		w.UpdatedAt = tx.Now()
		if err := do(ctx, tx, &w); err != nil {
			return err
		}
		after = w
		return s.record(ctx, tx, p, action, &w, recorded{})
	})
	return after, err
}

func (s *Service) change(
	ctx context.Context, p principal.Principal, do func(ctx context.Context, tx *database.Tx) error,
) error {
	return s.db.Write(ctx, database.Change{Logs: []string{audit.LogOf(p.OrgID)}, Do: do})
}

// record appends to the organization's log. No decision depends on webhooks.
func (s *Service) record(
	ctx context.Context, tx *database.Tx, p principal.Principal, action string, w *Webhook, more recorded,
) error {
	more.Name, more.Kind, more.Target, more.Events = w.Name, w.Kind, w.Target, w.Events
	more.SendArguments, more.Enabled = w.SendArguments, w.Enabled()
	_, err := s.log.Append(ctx, tx, audit.Entry{
		Log:         audit.LogOf(w.OrgID),
		Action:      action,
		Actor:       p,
		Subject:     audit.Subject{Type: "webhook", ID: w.ID},
		Payload:     more,
		Observation: true,
	})
	return err
}

// checkURL refuses a target that cannot be called. The fault does not repeat the URL,
// which may be secret.
func (s *Service) checkURL(target string) error {
	if strings.ContainsRune(target, 0) {
		return fault.Field("url", "must be a URL")
	}
	if err := s.poster.Check(target); err != nil {
		return fault.Field("url", "%s", publicReason(err))
	}
	return nil
}

// sortKinds gives the kinds in the order of notice.Kinds, each once.
func sortKinds(kinds []notice.Kind) []notice.Kind {
	return slices.DeleteFunc(notice.Kinds(), func(k notice.Kind) bool { return !slices.Contains(kinds, k) })
}

func urlContext(id string) string    { return "webhook-url/" + id }
func secretContext(id string) string { return "webhook-secret/" + id }

// open gives the URL and the secret of a webhook.
func (s *Service) open(w *Webhook) (target string, key secret.Text, err error) {
	plain, err := s.sealer.Open(urlContext(w.ID), w.sealedURL)
	if err != nil {
		return "", secret.Text{}, fmt.Errorf("open the URL of webhook %s: %w", w.ID, err)
	}
	opened, err := s.sealer.Open(secretContext(w.ID), w.sealedSecret)
	if err != nil {
		return "", secret.Text{}, fmt.Errorf("open the secret of webhook %s: %w", w.ID, err)
	}
	return string(plain), secret.NewText(string(opened)), nil
}
