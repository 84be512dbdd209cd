package auth

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/principal"
	"writ/internal/secret"
)

// Lifetimes and sizes of a terminal's sign-in (RFC 8628).
const (
	DeviceLife     = 10 * time.Minute // from the request until the terminal collects the answer
	DeviceInterval = 5 * time.Second  // between two polls of a terminal
	// deviceLeeway is how much too early a poll may come: network delays vary.
	deviceLeeway  = time.Second
	deviceMemory  = 24 * time.Hour // how long an expired code is reported as expired; later it is unknown
	userCodeWidth = 8              // letters, 34 bits: ten guesses a minute for ten minutes do not find it
	maxProduct    = 80
)

type deviceStatus string

const (
	devicePending  deviceStatus = "pending"
	deviceApproved deviceStatus = "approved"
	deviceDenied   deviceStatus = "denied"
	deviceUsed     deviceStatus = "used"
)

// NewDevice describes a terminal that asks to sign in, in its own words.
type NewDevice struct {
	Product      string
	WantsSession bool // it wants a session beside its key
	From         Device
}

// DeviceLogin is a terminal's request to sign in.
type DeviceLogin struct {
	ID           string
	Product      string // as the terminal says
	WantsSession bool
	From         Device
	CreatedAt    time.Time
	ExpiresAt    time.Time

	// The person's answer.
	UserID         string
	OrgID          string
	SessionAllowed bool
	Limited        bool // key and session are limited to OrgID, as the approving session was

	SessionID string // of the terminal, once it is granted; empty: it gets none

	status   deviceStatus
	polledAt *time.Time
	provedAt *time.Time // when who approved it last proved their second factor
	hash     []byte     // of the terminal's secret
}

// DeviceCodes are the two codes of a request: the secret that the terminal polls
// with, and the code that it shows to the person.
type DeviceCodes struct {
	Device secret.Text
	User   string
}

// StartDevice begins a sign-in from a terminal. It grants nothing, so it is not in
// the audit log.
func (s *Service) StartDevice(ctx context.Context, n NewDevice) (DeviceCodes, error) {
	if len(n.Product) > maxProduct {
		return DeviceCodes{}, fault.Field("product", "must have at most %d bytes", maxProduct)
	}
	letters := secret.Letters(userCodeWidth).Reveal()
	codes := DeviceCodes{Device: secret.Token("dc_"), User: ShownUserCode(letters)}
	login := DeviceLogin{
		ID:           database.NewID(),
		Product:      n.Product,
		WantsSession: n.WantsSession,
		From:         Device{Address: n.From.Address, UserAgent: cut(n.From.UserAgent, maxUserAgent)},
		status:       devicePending,
		hash:         secret.Hash(codes.Device.Reveal()),
	}
	err := s.db.Write(ctx, database.Change{Do: func(ctx context.Context, tx *database.Tx) error {
		login.CreatedAt, login.ExpiresAt = tx.Now(), tx.Now().Add(DeviceLife)
		return insertDevice(ctx, tx, login, secret.Hash(letters))
	}})
	if err != nil {
		return DeviceCodes{}, fmt.Errorf("store the sign-in of a terminal: %w", err)
	}
	return codes, nil
}

// refusedUserCode is the one answer to a user code that does not work.
func refusedUserCode() error {
	return fault.Field("userCode", "is wrong, answered already or expired; begin again in the terminal")
}

// ShownUserCode is a code as terminals show it, however a person typed it.
func ShownUserCode(typed string) string {
	letters := lettersOf(typed)
	if len(letters) != userCodeWidth {
		return ""
	}
	return letters[:userCodeWidth/2] + "-" + letters[userCodeWidth/2:]
}

func lettersOf(typed string) string {
	return strings.ToUpper(strings.NewReplacer("-", "", " ", "").Replace(typed))
}

// FindDevice gives the pending request with a user code, for a signed-in person to
// judge.
func (s *Service) FindDevice(ctx context.Context, userCode string) (DeviceLogin, error) {
	return findPendingDevice(ctx, s.db, userCode)
}

func findPendingDevice(ctx context.Context, r clock, userCode string) (DeviceLogin, error) {
	letters := lettersOf(userCode)
	if len(letters) != userCodeWidth || strings.Trim(letters, secret.CodeLetters) != "" {
		return DeviceLogin{}, refusedUserCode()
	}
	login, err := findDeviceByUserCode(ctx, r, secret.Hash(letters))
	if err != nil {
		return DeviceLogin{}, err
	}
	if login.status != devicePending || !r.Now().Before(login.ExpiresAt) {
		return DeviceLogin{}, refusedUserCode()
	}
	return login, nil
}

// ApproveDevice lets a terminal sign in to the organization the caller acts in. The
// edge has checked that the caller may have keys there. withSession also lets the
// terminal act as the person, if it asked for that when it began: only then was the
// person shown it.
func (s *Service) ApproveDevice(ctx context.Context, p principal.Principal, userCode string, withSession bool) error {
	return s.answerDevice(ctx, p, userCode, func(login *DeviceLogin) string {
		login.status, login.OrgID, login.SessionAllowed = deviceApproved, p.OrgID, withSession && login.WantsSession
		login.Limited = p.LimitedTo != ""
		if at := p.SecondFactor.ProvedAt; !at.IsZero() {
			login.provedAt = &at
		}
		return "device.approved"
	})
}

// DenyDevice refuses a terminal.
func (s *Service) DenyDevice(ctx context.Context, p principal.Principal, userCode string) error {
	return s.answerDevice(ctx, p, userCode, func(login *DeviceLogin) string {
		login.status = deviceDenied
		return "device.denied"
	})
}

func (s *Service) answerDevice(
	ctx context.Context, p principal.Principal, userCode string, answer func(*DeviceLogin) (action string),
) error {
	if p.Kind != principal.User {
		return fault.New(fault.Forbidden, "only a person can answer a terminal")
	}
	// Wrong codes are refused before the write queue: a change that fails slows down
	// those committed with it.
	if _, err := s.FindDevice(ctx, userCode); err != nil {
		return err
	}
	return s.change(ctx, func(ctx context.Context, tx *database.Tx) error {
		if err := RequireLive(ctx, tx, p); err != nil {
			return err
		}
		login, err := findPendingDevice(ctx, tx, userCode)
		if err != nil {
			return err
		}
		login.UserID = p.UserID
		action := answer(&login)
		if answered, err := setAnswer(ctx, tx, login); err != nil || !answered {
			return cmp.Or(err, refusedUserCode())
		}
		_, err = s.log.Append(ctx, tx, userEntry(action, p, p.UserID, map[string]any{
			"device":       login.ID,
			"product":      login.Product,
			"address":      login.From.Address,
			"userAgent":    login.From.UserAgent,
			"organization": login.OrgID,
			"session":      login.SessionAllowed,
		}))
		return err
	})
}

// RequireLive refuses a caller whose session has ended since the edge checked it:
// a person who was signed out must not come back through a terminal or a client.
func RequireLive(ctx context.Context, tx *database.Tx, p principal.Principal) error {
	session, err := findSession(ctx, tx, p.SessionID)
	if err != nil {
		return err
	}
	if session.UserID != p.UserID || !session.live(tx.Now()) {
		return refusedToken(nil)
	}
	return nil
}
