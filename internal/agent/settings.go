package agent

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"writ/internal/audit"
	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/principal"
)

// Settings are what an organization says about agents.
type Settings struct {
	UnregisteredMayAct bool // calls that name no registered agent are judged like others, not denied
	ApproversMayKill   bool // approvers use the kill switch, beside owners and admins
	Trips              Trips
	LeaseLife          time.Duration // the longest of a lease; zero: none are given
}

// DefaultSettings are those of an organization that has set none.
func DefaultSettings() Settings { return Settings{UnregisteredMayAct: true} }

// Settings are those of an organization. It checks no right: the edge has.
func (s *Service) Settings(ctx context.Context, orgID string) (Settings, error) {
	return readSettings(ctx, s.db, orgID)
}

// SettingsChange replaces settings. Nil: as they are.
type SettingsChange struct {
	UnregisteredMayAct, ApproversMayKill bool
	Trips                                *Trips
	LeaseLife                            *time.Duration
}

func (c SettingsChange) check(kinds []string) error {
	if c.LeaseLife != nil && (*c.LeaseLife < 0 || *c.LeaseLife > MaxLease || *c.LeaseLife%time.Second != 0) {
		return fault.Field("leaseSeconds", "must be from 0 (no leases) to %.0f", MaxLease.Seconds())
	}
	if c.Trips == nil {
		return nil
	}
	return c.Trips.check(kinds)
}

// SetSettings changes those of the caller's organization, for all later decisions.
func (s *Service) SetSettings(ctx context.Context, p principal.Principal, c SettingsChange) (to Settings, err error) {
	if err := requireManager(p); err != nil {
		return Settings{}, err
	}
	if err := c.check(s.sources.FindingKinds); err != nil {
		return Settings{}, err
	}
	err = s.write(ctx, p.OrgID, func(ctx context.Context, tx *database.Tx) error {
		if to, err = readSettings(ctx, tx, p.OrgID); err != nil {
			return err
		}
		to.UnregisteredMayAct, to.ApproversMayKill = c.UnregisteredMayAct, c.ApproversMayKill
		if c.Trips != nil {
			to.Trips = *c.Trips
		}
		if c.LeaseLife != nil {
			to.LeaseLife = *c.LeaseLife
		}
		if err := writeSettings(ctx, tx, p.OrgID, to); err != nil {
			return err
		}
		_, err = s.log.Append(ctx, tx, audit.Entry{
			Log: audit.LogOf(p.OrgID), Action: settingsChanged, Actor: p,
			Subject: audit.Subject{Type: "organization", ID: p.OrgID},
			Payload: map[string]any{
				"unregisteredMayAct": to.UnregisteredMayAct, "approversMayKill": to.ApproversMayKill, "trips": to.Trips,
				"leaseSeconds": int64(to.LeaseLife / time.Second),
			},
		})
		return err
	})
	return to, err
}

func writeSettings(ctx context.Context, tx *database.Tx, orgID string, to Settings) error {
	trips, err := to.Trips.text()
	if err != nil {
		return fmt.Errorf("store trips: %w", err)
	}
	_, err = tx.Exec(ctx, `
		INSERT INTO agent_settings (org_id, unregistered_may_act, updated_at, approvers_may_kill, trips, lease_seconds)
		VALUES ($1, $2, $3, $4, $5, $6)
		ON CONFLICT (org_id) DO UPDATE
		SET unregistered_may_act = excluded.unregistered_may_act, updated_at = excluded.updated_at,
			approvers_may_kill = excluded.approvers_may_kill, trips = excluded.trips,
			lease_seconds = excluded.lease_seconds`,
		orgID, database.Bit(to.UnregisteredMayAct), database.Micros(tx.Now()), database.Bit(to.ApproversMayKill), trips,
		int64(to.LeaseLife/time.Second))
	return database.Wrap(err, "store what organization %s says about agents", orgID)
}

func readSettings(ctx context.Context, r database.Reader, orgID string) (s Settings, err error) {
	var trips string
	var leaseSeconds int64
	err = r.QueryRow(ctx, `
		SELECT unregistered_may_act, approvers_may_kill, trips, lease_seconds FROM agent_settings WHERE org_id = $1`,
		orgID).Scan(database.ToBool(&s.UnregisteredMayAct), database.ToBool(&s.ApproversMayKill), &trips,
		&leaseSeconds)
	if errors.Is(err, sql.ErrNoRows) {
		return DefaultSettings(), nil
	}
	if err == nil {
		s.LeaseLife = time.Duration(leaseSeconds) * time.Second
		s.Trips, err = parseTrips(trips)
	}
	return s, database.Wrap(err, "read what organization %s says about agents", orgID)
}

// requireManager admits people whose role manages agents.
func requireManager(p principal.Principal) error {
	if p.Kind != principal.User || p.OrgID == "" {
		return fault.New(fault.Forbidden, "only a person may change agents")
	}
	return p.Require(principal.ManageAgents)
}
