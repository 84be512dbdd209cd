package forwarding

import (
	"context"
	"fmt"
	"time"

	"writ/internal/audit"
	"writ/internal/database"
	"writ/internal/decision"
	"writ/internal/dispatch"
	"writ/internal/fault"
	"writ/internal/outbound"
	"writ/internal/principal"
	"writ/internal/secret"
	"writ/internal/telemetry"
)

// Poster calls endpoints. It is the outbound client, or a fake in tests.
type Poster interface {
	Check(target string) error
	IsPermitted(target string) bool
	Post(ctx context.Context, r outbound.Request) (outbound.Answer, error)
}

type Options struct {
	Database  *database.DB // with settings and decisions
	Log       *audit.Log
	Telemetry *telemetry.Service
	Sealer    *secret.Sealer
	Poster    Poster
	Version   string // of this program, sent to receivers
}

// Service manages where organizations forward to, and sends.
type Service struct {
	db        *database.DB
	log       *audit.Log
	telemetry *telemetry.Service
	sealer    *secret.Sealer
	poster    Poster
	version   string
	holder    string // names this process in leases
	sending   *dispatch.Dispatcher[Forwarding]
}

func New(o Options) *Service {
	s := &Service{
		db:        o.Database,
		log:       o.Log,
		telemetry: o.Telemetry,
		sealer:    o.Sealer,
		poster:    o.Poster,
		version:   o.Version,
		holder:    database.NewID(),
	}
	s.sending = s.dispatcher()
	return s
}

// Audit actions.
const (
	set     = "forwarding.set"
	deleted = "forwarding.deleted"
)

// recorded is the payload of audit entries. It holds no values of headers, and not the endpoint's path, which some
// receivers use as a key.
type recorded struct {
	Target      string   `json:"target"`
	Headers     []string `json:"headers"`
	Traces      bool     `json:"traces"`
	Decisions   bool     `json:"decisions"`
	Content     Content  `json:"content"`
	MaxAgeHours int      `json:"maxAgeHours"`
	Enabled     bool     `json:"enabled"`
}

// Get reads where the caller's organization forwards to.
func (s *Service) Get(ctx context.Context, p principal.Principal) (Forwarding, error) {
	if err := p.Require(principal.ManageForwarding); err != nil {
		return Forwarding{}, err
	}
	return selectForwarding(ctx, s.db, p.OrgID)
}

// Put sets or changes where the caller's organization forwards to. What is switched on starts at the present: what
// happened while it was off was not meant to be sent.
func (s *Service) Put(ctx context.Context, p principal.Principal, n Settings) (Forwarding, error) {
	if err := p.Require(principal.ManageForwarding); err != nil {
		return Forwarding{}, err
	}
	n, err := s.check(n)
	if err != nil {
		return Forwarding{}, err
	}
	var after Forwarding
	err = s.change(ctx, p, func(ctx context.Context, tx *database.Tx) error {
		before, err := selectForwarding(ctx, tx, p.OrgID)
		if err != nil && !fault.Is(err, fault.NotFound) {
			return err
		}
		if after, err = s.apply(before, n, p.OrgID, tx.Now()); err != nil {
			return err
		}
		if err := startAtPresent(ctx, tx, before, &after); err != nil {
			return err
		}
		if err := putForwarding(ctx, tx, &after); err != nil {
			return err
		}
		return s.record(ctx, tx, p, set, &after)
	})
	return after, err
}

// apply is a forwarding with new settings. They end the wait for a retry: the change may be the fix it waited for.
func (s *Service) apply(before Forwarding, n Settings, orgID string, now time.Time) (Forwarding, error) {
	after := before
	if before.OrgID == "" {
		after.OrgID, after.CreatedAt, after.Span = orgID, now, nothingSent
	}
	after.Endpoint, after.Traces, after.Decisions, after.Content = n.Endpoint, n.Traces, n.Decisions, n.Content
	after.MaxAge, after.Enabled, after.DisabledReason, after.UpdatedAt = n.MaxAge, n.Enabled, "", now
	after.RetryAt, after.Attempts = now, 0
	after.revision++
	moved := before.OrgID != "" && origin(before.Endpoint) != origin(n.Endpoint)
	if n.Headers == nil && moved && len(before.HeaderNames) > 0 {
		return Forwarding{}, fault.Field("headers",
			"must be given with an endpoint on another host: the old ones must not be sent there")
	}
	if n.Headers == nil && before.OrgID != "" {
		return after, nil
	}
	var err error
	after.sealedHeaders, after.HeaderNames, err = s.seal(orgID, n.Headers)
	return after, err
}

// startAtPresent moves the positions of what is switched on to the present.
func startAtPresent(ctx context.Context, tx *database.Tx, before Forwarding, after *Forwarding) error {
	if after.Enabled && after.Traces && !(before.Enabled && before.Traces) {
		after.Trace, after.Span = telemetry.Cursor{At: tx.Now()}, nothingSent
	}
	if after.Enabled && after.Decisions && !(before.Enabled && before.Decisions) {
		head, err := audit.ReadHead(ctx, tx, audit.LogOf(after.OrgID))
		if err != nil {
			return err
		}
		after.Decision = head.Size
	}
	return nil
}

// Delete removes the forwarding of the caller's organization, and sends no more.
func (s *Service) Delete(ctx context.Context, p principal.Principal) error {
	if err := p.Require(principal.ManageForwarding); err != nil {
		return err
	}
	return s.change(ctx, p, func(ctx context.Context, tx *database.Tx) error {
		before, err := selectForwarding(ctx, tx, p.OrgID)
		if err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `DELETE FROM forwarding WHERE org_id = $1`, p.OrgID); err != nil {
			return fmt.Errorf("delete the forwarding of %s: %w", p.OrgID, err)
		}
		before.Enabled = false
		return s.record(ctx, tx, p, deleted, &before)
	})
}

// Status says how far sending has come, and what waits.
func (s *Service) Status(ctx context.Context, p principal.Principal) (Status, error) {
	f, err := s.Get(ctx, p)
	if err != nil || !f.Enabled {
		return Status{Forwarding: f}, err
	}
	status := Status{Forwarding: f}
	if f.Traces {
		waiting, _, err := s.telemetry.Arrived(ctx, f.OrgID, f.Trace, 1)
		if err != nil {
			return Status{}, err
		}
		if len(waiting) > 0 {
			status.TracesSince = &waiting[0].At
		}
	}
	if f.Decisions {
		waiting, err := decision.Read(ctx, s.db, f.OrgID, f.Decision, 1)
		if err != nil {
			return Status{}, err
		}
		if len(waiting) > 0 {
			status.DecisionsSince = &waiting[0].At
		}
	}
	for _, since := range []*time.Time{status.TracesSince, status.DecisionsSince} {
		if since != nil {
			status.Lag = max(status.Lag, s.db.Now().Sub(*since))
		}
	}
	return status, nil
}

// Failing counts the organizations whose receiver does not accept what is sent.
func (s *Service) Failing(ctx context.Context) (n int64, err error) {
	err = s.db.QueryRow(ctx, `SELECT COUNT(*) FROM forwarding WHERE enabled = 1 AND failing_since IS NOT NULL`).Scan(&n)
	if err != nil {
		return 0, fmt.Errorf("count the receivers that fail: %w", err)
	}
	return n, nil
}

func (s *Service) change(
	ctx context.Context, p principal.Principal, do func(ctx context.Context, tx *database.Tx) error,
) error {
	return s.db.Write(ctx, database.Change{Logs: []string{audit.LogOf(p.OrgID)}, Do: do})
}

// record appends to the organization's log. No decision depends on forwarding.
func (s *Service) record(
	ctx context.Context, tx *database.Tx, p principal.Principal, action string, f *Forwarding,
) error {
	_, err := s.log.Append(ctx, tx, audit.Entry{
		Log:         audit.LogOf(f.OrgID),
		Action:      action,
		Actor:       p,
		Subject:     audit.Subject{Type: "forwarding", ID: f.OrgID},
		Observation: true,
		Payload: recorded{
			Target:      origin(f.Endpoint),
			Headers:     f.HeaderNames,
			Traces:      f.Traces,
			Decisions:   f.Decisions,
			Content:     f.Content,
			MaxAgeHours: int(f.MaxAge.Hours()),
			Enabled:     f.Enabled,
		},
	})
	return err
}
