// Package referral keeps which organization was referred by which, and the credit that this earned.
//
// An organization has one code, which is no secret. Another organization claims it once, for good, and the one whose
// code it is gets a fixed credit. Nobody refers themselves: not an organization, not a person who made the code or
// belongs to the organization that it is of, not organizations with a common owner, and not two that refer each other.
// A person who claimed a code does not claim it again for another of their organizations, which cost nothing to make.
//
// Credit is a ledger of entries that only grows; a balance is their sum. Billing spends it. Nothing here touches a
// decision. It is off unless the installation says how much a referral earns.
package referral

import (
	"context"
	"crypto/rand"
	"slices"
	"strings"
	"time"

	"writ/internal/audit"
	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/principal"
)

// codeLength is how many characters of base32 a code has: 60 bits, so that nobody finds one by trying.
const codeLength = 12

// Code is the code of an organization.
type Code struct {
	Code      string
	OrgID     string
	MadeBy    string
	CreatedAt time.Time
}

// Stats are what referrals brought an organization.
type Stats struct {
	Referred    int        // organizations that claimed its code
	CreditCents int64      // the balance of its ledger
	ClaimedAt   *time.Time // when it claimed a code itself; nil: it has not
}

// Sources are what other areas know.
type Sources struct {
	// Role is that of a person in an open organization; without one a Forbidden fault.
	Role func(ctx context.Context, r database.Reader, orgID, userID string) (principal.Role, error)
	// Owners are those of an open organization; a closed one has none.
	Owners func(ctx context.Context, r database.Reader, orgID string) ([]string, error)
}

// Service keeps referrals.
type Service struct {
	db    *database.DB
	log   *audit.Log
	cents int64 // what a referral earns; 0: referrals are off
	Sources
}

// New makes a Service.
func New(db *database.DB, log *audit.Log, cents int64, from Sources) *Service {
	return &Service{db, log, cents, from}
}

// IsOn reports whether referrals earn something here.
func (s *Service) IsOn() bool { return s.cents > 0 }

func (s *Service) checkOn() error {
	if !s.IsOn() {
		return fault.New(fault.NotFound, "referrals are off on this server (WRIT_REFERRAL_CREDIT_CENTS)")
	}
	return nil
}

// Code is the code of the caller's organization.
func (s *Service) Code(ctx context.Context, p principal.Principal) (Code, error) {
	if err := s.checkOn(); err != nil {
		return Code{}, err
	}
	if err := p.Require(principal.ReadOrganization); err != nil {
		return Code{}, err
	}
	code, err := codeOf(ctx, s.db, p.OrgID)
	if err == nil && code.Code == "" {
		err = fault.New(fault.NotFound, "this organization has no code yet")
	}
	return code, err
}

// MakeCode makes the code of the caller's organization, unless it has one.
func (s *Service) MakeCode(ctx context.Context, p principal.Principal) (code Code, err error) {
	if err := s.checkOn(); err != nil {
		return Code{}, err
	}
	fresh := rand.Text()[:codeLength]
	err = s.change(ctx, p, []string{p.OrgID}, func(ctx context.Context, tx *database.Tx) error {
		if code, err = codeOf(ctx, tx, p.OrgID); err != nil || code.Code != "" {
			return err
		}
		code = Code{Code: fresh, OrgID: p.OrgID, MadeBy: p.UserID, CreatedAt: tx.Now()}
		if err := insertCode(ctx, tx, code); err != nil {
			return err
		}
		return s.record(ctx, tx, p, p.OrgID, "referral.code_made", map[string]any{"code": code.Code})
	})
	return code, err
}

// Claim says that the caller's organization was referred by the one whose code it is, which gets the credit.
func (s *Service) Claim(ctx context.Context, p principal.Principal, text string) error {
	if err := s.checkOn(); err != nil {
		return err
	}
	// Read before the change, which must declare the logs of both organizations. A code never changes its owner.
	code, err := findCode(ctx, s.db, strings.ToUpper(strings.TrimSpace(text)))
	if err != nil {
		return err
	}
	if code.OrgID == p.OrgID {
		return selfReferral()
	}
	creditID := database.NewID()
	return s.change(ctx, p, []string{p.OrgID, code.OrgID}, func(ctx context.Context, tx *database.Tx) error {
		if err := s.check(ctx, tx, p, code); err != nil {
			return err
		}
		if err := insertReferral(ctx, tx, p, code.OrgID); err != nil {
			return err
		}
		if err := insertCredit(ctx, tx, creditID, code.OrgID, s.cents, p.OrgID); err != nil {
			return err
		}
		if err := s.record(ctx, tx, p, p.OrgID, "referral.claimed", map[string]any{"code": code.Code}); err != nil {
			return err
		}
		// Whom it was earned with is the other organization's own business.
		return s.record(ctx, tx, principal.Operator(), code.OrgID, "referral.credited",
			map[string]any{"code": code.Code, "cents": s.cents})
	})
}

func selfReferral() error {
	return fault.New(fault.Conflict, "this organization cannot claim this code: nobody refers themselves")
}

// check refuses a second claim and whoever refers themselves.
func (s *Service) check(ctx context.Context, tx *database.Tx, p principal.Principal, code Code) error {
	if at, _, err := referralOf(ctx, tx, p.OrgID); err != nil || at != nil {
		return orConflict(err, "this organization has claimed a code already")
	}
	theirs, err := s.Owners(ctx, tx, code.OrgID)
	if err != nil {
		return err
	}
	if len(theirs) == 0 {
		return noSuchCode() // closed
	}
	ours, err := s.Owners(ctx, tx, p.OrgID)
	if err != nil {
		return err
	}
	_, err = s.Role(ctx, tx, code.OrgID, p.UserID)
	if err != nil && !fault.Is(err, fault.Forbidden) {
		return err
	}
	isMember := err == nil
	_, referrer, err := referralOf(ctx, tx, code.OrgID)
	if err != nil {
		return err
	}
	isCommon := func(owner string) bool { return slices.Contains(theirs, owner) }
	if isMember || code.MadeBy == p.UserID || referrer == p.OrgID || slices.ContainsFunc(ours, isCommon) ||
		slices.Contains(ours, code.MadeBy) {
		return selfReferral()
	}
	claimed, err := claimedBy(ctx, tx, code.OrgID, append(ours, p.UserID))
	if err != nil || claimed {
		return orConflict(err, "you have claimed this code for another organization already")
	}
	return nil
}

func orConflict(err error, message string) error {
	if err != nil {
		return err
	}
	return fault.New(fault.Conflict, "%s", message)
}

// Stats are those of the caller's organization.
func (s *Service) Stats(ctx context.Context, p principal.Principal) (stats Stats, err error) {
	if err := s.checkOn(); err != nil {
		return Stats{}, err
	}
	if err := p.Require(principal.ReadOrganization); err != nil {
		return Stats{}, err
	}
	if stats.Referred, stats.CreditCents, err = totals(ctx, s.db, p.OrgID); err != nil {
		return Stats{}, err
	}
	stats.ClaimedAt, _, err = referralOf(ctx, s.db, p.OrgID)
	return stats, err
}

// change is one of somebody who may change the organization, and may still when it is made.
func (s *Service) change(
	ctx context.Context, p principal.Principal, logs []string, do func(ctx context.Context, tx *database.Tx) error,
) error {
	if err := p.Require(principal.UpdateOrganization); err != nil {
		return err
	}
	return s.db.Write(ctx, database.Change{Logs: logs, Do: func(ctx context.Context, tx *database.Tx) error {
		role, err := s.Role(ctx, tx, p.OrgID, p.UserID)
		if err != nil {
			return err
		}
		now := p
		now.Role = role
		if err := now.Require(principal.UpdateOrganization); err != nil {
			return err
		}
		return do(ctx, tx)
	}})
}

func (s *Service) record(
	ctx context.Context, tx *database.Tx, actor principal.Principal, orgID, action string, payload map[string]any,
) error {
	_, err := s.log.Append(ctx, tx, audit.Entry{
		Log:         orgID,
		Action:      action,
		Actor:       actor,
		Subject:     audit.Subject{Type: "organization", ID: orgID},
		Payload:     payload,
		Observation: true, // no decision depends on it
	})
	return err
}
