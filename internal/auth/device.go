package auth

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/principal"
	"writ/internal/secret"
)

// Lifetimes and sizes of a terminal's sign-in (RFC 8628).
const (
	DeviceLife     = 10 * time.Minute // from the request to the answer and its collection
	DeviceInterval = 5 * time.Second  // between two questions of a terminal
	// deviceLeeway is how much too soon a question may come: clients time their own
	// clock, and the way here takes them unevenly long.
	deviceLeeway  = time.Second
	deviceMemory  = 24 * time.Hour // how long an expired code is called so; after that it is merely unknown
	userCodeWidth = 8              // letters, 34 bits: guessed at ten a minute, and gone in ten
	maxProduct    = 80
)

type deviceStatus string

const (
	devicePending  deviceStatus = "pending"
	deviceApproved deviceStatus = "approved"
	deviceDenied   deviceStatus = "denied"
	deviceUsed     deviceStatus = "used"
)

// NewDevice is what a terminal says of itself when it asks to sign in.
type NewDevice struct {
	Product      string
	WantsSession bool // it will ask for a session as well as a key
	From         Device
}

// DeviceLogin is a terminal that asks to sign in.
type DeviceLogin struct {
	ID           string
	Product      string // as the terminal says
	WantsSession bool
	From         Device
	CreatedAt    time.Time
	ExpiresAt    time.Time

	// What a person answered.
	UserID         string
	OrgID          string
	SessionAllowed bool
	Limited        bool // what comes of it is good for OrgID alone, as was the session that said yes

	status   deviceStatus
	polledAt *time.Time
	hash     []byte // of the terminal's secret
}

// DeviceCodes are the two halves of a request: the secret that the terminal
// keeps, and the code that a person compares with what the terminal shows.
type DeviceCodes struct {
	Device secret.Text
	User   string
}

// StartDevice begins a sign-in from a terminal. It gives nobody any right, and is
// not in the log.
func (s *Service) StartDevice(ctx context.Context, n NewDevice) (DeviceCodes, error) {
	if len(n.Product) > maxProduct {
		return DeviceCodes{}, fault.Field("product", "must have at most %d bytes", maxProduct)
	}
	letters := secret.Letters(userCodeWidth).Reveal()
	codes := DeviceCodes{Device: secret.Token("dc_"), User: ShownUserCode(letters)}
	login := DeviceLogin{
		ID: database.NewID(), Product: n.Product, WantsSession: n.WantsSession,
		From:   Device{Address: n.From.Address, UserAgent: cut(n.From.UserAgent, maxUserAgent)},
		status: devicePending, hash: secret.Hash(codes.Device.Reveal()),
	}
	err := s.db.Write(ctx, database.Change{Do: func(ctx context.Context, tx *database.Tx) error {
		login.CreatedAt, login.ExpiresAt = tx.Now(), tx.Now().Add(DeviceLife)
		return insertDevice(ctx, tx, login, secret.Hash(letters))
	}})
	if err != nil {
		return DeviceCodes{}, fmt.Errorf("begin the sign-in of a terminal: %w", err)
	}
	return codes, nil
}

// refusedUserCode is the one answer to a user code that does not work.
func refusedUserCode() *fault.Error {
	return fault.Field("userCode", "is wrong, answered already or expired; begin again in the terminal")
}

// readUserCode is the hash of a code as a person types it, or none.
func readUserCode(typed string) []byte {
	letters := lettersOf(typed)
	foreign := func(r rune) bool { return !strings.ContainsRune(secret.CodeLetters, r) }
	if len(letters) != userCodeWidth || slices.ContainsFunc([]rune(letters), foreign) {
		return nil
	}
	return secret.Hash(letters)
}

// ShownUserCode is a code as it is shown, however it was typed.
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

// FindDevice is the request that waits behind a user code, for a signed-in person
// to judge.
func (s *Service) FindDevice(ctx context.Context, userCode string) (DeviceLogin, error) {
	return findWaiting(ctx, s.db, userCode)
}

func findWaiting(ctx context.Context, r clock, userCode string) (DeviceLogin, error) {
	hash := readUserCode(userCode)
	if hash == nil {
		return DeviceLogin{}, refusedUserCode()
	}
	login, err := findDeviceByUserCode(ctx, r, hash)
	if err != nil {
		return DeviceLogin{}, fmt.Errorf("look for the sign-in of a terminal: %w", err)
	}
	if login.status != devicePending || !r.Now().Before(login.ExpiresAt) {
		return DeviceLogin{}, refusedUserCode()
	}
	return login, nil
}

// ApproveDevice says yes to a terminal, in the organization the caller acts in. The
// edge has checked that they may have keys there. withSession lets the terminal
// act as the person, if it asks to, and only if it said so when it began: that is
// what the person was shown.
func (s *Service) ApproveDevice(ctx context.Context, p principal.Principal, userCode string, withSession bool) error {
	return s.answerDevice(ctx, p, userCode, func(login *DeviceLogin) string {
		login.status, login.OrgID, login.SessionAllowed = deviceApproved, p.OrgID, withSession && login.WantsSession
		login.Limited = p.LimitedTo != ""
		return "device.approved"
	})
}

// DenyDevice says no.
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
		return fault.New(fault.Forbidden, "only a person answers a terminal")
	}
	// A wrong code is refused before the queue: a change that fails costs those
	// beside it.
	if _, err := s.FindDevice(ctx, userCode); err != nil {
		return err
	}
	return s.change(ctx, func(ctx context.Context, tx *database.Tx) error {
		if err := requireLive(ctx, tx, p); err != nil {
			return err
		}
		login, err := findWaiting(ctx, tx, userCode)
		if err != nil {
			return err
		}
		login.UserID = p.UserID
		action := answer(&login)
		if answered, err := setAnswer(ctx, tx, login); err != nil || !answered {
			return orInvalid(err, refusedUserCode())
		}
		_, err = s.log.Append(ctx, tx, userEntry(action, p, p.UserID, map[string]any{
			"device": login.ID, "product": login.Product, "address": login.From.Address,
			"userAgent":    login.From.UserAgent,
			"organization": login.OrgID, "session": login.SessionAllowed,
		}))
		return err
	})
}

// requireLive refuses a caller whose session has ended since the edge let them in:
// who was turned out meanwhile must not come back through a terminal.
func requireLive(ctx context.Context, tx *database.Tx, p principal.Principal) error {
	session, err := findSession(ctx, tx, p.SessionID)
	if err != nil {
		return fmt.Errorf("load the session: %w", err)
	}
	if session.UserID != p.UserID || !session.live(tx.Now()) {
		return refusedToken(nil)
	}
	return nil
}
