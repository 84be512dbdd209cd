package enforcement

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"time"

	"writ/internal/audit"
	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/intent"
	"writ/internal/principal"
	"writ/internal/verdict"
)

// Settings are the settings of an organization for decisions.
type Settings struct {
	IntentRequired bool          // a call without a plan is denied
	MaxPlanTTL     time.Duration // the longest life of a plan, in whole seconds
	// PlannedMayAllow: VerifyStep may allow a step because of the arguments that its plan states, else it holds it.
	PlannedMayAllow bool
	// Grounding says what is done about a call that only a text asks for.
	Grounding Grounding
	// UnplannedBeforeText: while only the user can have spoken, a call outside of its plan runs too. Else it is held.
	UnplannedBeforeText bool
	// CarryPlans: a turn of a guarded session may keep the plans of the turn before.
	CarryPlans bool
	// AllowMonitor: hooks of coding agents may log what they would deny, instead of denying it.
	AllowMonitor bool
	// Widening is what is done about a re-anchored plan that permits more than before.
	Widening intent.Widening
}

// Limits of MaxPlanTTL.
const (
	MinPlanTTL     = time.Second
	LongestPlanTTL = 30 * 24 * time.Hour
)

// Defaults are the settings of an organization that has changed none.
func Defaults() Settings {
	return Settings{MaxPlanTTL: intent.DefaultMaxLife, Grounding: GroundingObserve, Widening: intent.HoldWidening}
}

// PlannedArguments is what VerifyStep answers where only planned arguments make it an allow: hold or allow.
func (s Settings) PlannedArguments() string {
	if s.PlannedMayAllow {
		return verdict.Allow.String()
	}
	return verdict.Hold.String()
}

// Unplanned is what is done about a call outside of its plan before any running text: hold or allow.
func (s Settings) Unplanned() string {
	if s.UnplannedBeforeText {
		return verdict.Allow.String()
	}
	return verdict.Hold.String()
}

func (s Settings) check() error {
	if !s.Grounding.Valid() {
		return fault.Field("grounding", "must be off, observe or ask")
	}
	if !s.Widening.Valid() {
		return fault.Field("widening", "must be hold, allow or refuse")
	}
	if s.MaxPlanTTL < MinPlanTTL || s.MaxPlanTTL > LongestPlanTTL || s.MaxPlanTTL%time.Second != 0 {
		return fault.Field("maxPlanTtlSeconds", "must be from %.0f to %.0f", MinPlanTTL.Seconds(),
			LongestPlanTTL.Seconds())
	}
	return nil
}

// Settings reads the settings of an organization. The API checks that the caller belongs to it.
func (s *Service) Settings(ctx context.Context, orgID string) (Settings, error) {
	return readSettings(ctx, s.db, orgID)
}

// settingsAt is the cached settings, unless they are older than the version.
func (s *Service) settingsAt(ctx context.Context, orgID string, at audit.Version) (Settings, error) {
	if known, ok := s.settings.get(orgID, at); ok {
		return known, nil
	}
	settings, err := readSettings(ctx, s.db, orgID)
	if err == nil {
		s.settings.put(orgID, at, settings)
	}
	return settings, err
}

// SetSettings changes the settings of the caller's organization, for all later decisions on every replica.
func (s *Service) SetSettings(ctx context.Context, p principal.Principal, to Settings) (Settings, error) {
	if p.Kind != principal.User || p.OrgID == "" {
		return Settings{}, fault.New(fault.Forbidden, "only a person may change how calls are judged")
	}
	if err := p.Require(principal.ManagePolicies); err != nil {
		return Settings{}, err
	}
	to.Grounding, to.Widening = cmp.Or(to.Grounding, GroundingObserve), cmp.Or(to.Widening, intent.HoldWidening)
	if err := to.check(); err != nil {
		return Settings{}, err
	}
	err := s.db.Write(ctx, database.Change{Logs: []string{audit.LogOf(p.OrgID)}, Do: func(
		ctx context.Context, tx *database.Tx,
	) error {
		if err := writeSettings(ctx, tx, p.OrgID, to); err != nil {
			return err
		}
		_, err := s.log.Append(ctx, tx, audit.Entry{
			Log: audit.LogOf(p.OrgID), Action: "enforcement.settings_changed", Actor: p,
			Subject: audit.Subject{Type: "organization", ID: p.OrgID},
			Payload: map[string]any{
				"intentRequired": to.IntentRequired, "maxPlanTtlSeconds": int64(to.MaxPlanTTL / time.Second),
				"plannedArguments": to.PlannedArguments(), "grounding": string(to.Grounding),
				"unplannedBeforeText": to.Unplanned(), "carryPlans": to.CarryPlans, "allowMonitor": to.AllowMonitor,
				"widening": string(to.Widening),
			},
		})
		return err
	}})
	return to, err
}

func readSettings(ctx context.Context, r database.Reader, orgID string) (s Settings, err error) {
	var seconds int64
	var unplanned string
	err = r.QueryRow(ctx, `
		SELECT intent_required, max_plan_ttl_seconds, planned_may_allow, grounding, unplanned_before_text, carry_plans,
			allow_monitor, widening
		FROM enforcement_settings
		WHERE org_id = $1`, orgID).Scan(database.ToBool(&s.IntentRequired), &seconds,
		database.ToBool(&s.PlannedMayAllow), &s.Grounding, &unplanned, database.ToBool(&s.CarryPlans),
		database.ToBool(&s.AllowMonitor), &s.Widening)
	if errors.Is(err, sql.ErrNoRows) {
		return Defaults(), nil
	}
	s.MaxPlanTTL, s.UnplannedBeforeText = time.Duration(seconds)*time.Second, unplanned == verdict.Allow.String()
	return s, database.Wrap(err, "read the settings of organization %s", orgID)
}

func writeSettings(ctx context.Context, tx *database.Tx, orgID string, to Settings) error {
	_, err := tx.Exec(ctx, `
		INSERT INTO enforcement_settings (org_id, intent_required, max_plan_ttl_seconds, planned_may_allow, grounding,
			unplanned_before_text, carry_plans, allow_monitor, updated_at, widening)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
		ON CONFLICT (org_id) DO UPDATE
		SET intent_required = excluded.intent_required, max_plan_ttl_seconds = excluded.max_plan_ttl_seconds,
			planned_may_allow = excluded.planned_may_allow, grounding = excluded.grounding,
			unplanned_before_text = excluded.unplanned_before_text, carry_plans = excluded.carry_plans,
			allow_monitor = excluded.allow_monitor, updated_at = excluded.updated_at, widening = excluded.widening`,
		orgID, database.Bit(to.IntentRequired), int64(to.MaxPlanTTL/time.Second), database.Bit(to.PlannedMayAllow),
		string(to.Grounding), to.Unplanned(), database.Bit(to.CarryPlans), database.Bit(to.AllowMonitor),
		database.Micros(tx.Now()), string(to.Widening))
	return database.Wrap(err, "store the settings of organization %s", orgID)
}
