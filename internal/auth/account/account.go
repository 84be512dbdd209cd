// Package account is what people do with their account as a whole: their profile and preferences, another e-mail
// address, all of their data as a file, and its end.
//
// An address is changed by proof of both: one code is mailed to the old address and one to the new one, and only a
// request of the signed-in person that has both changes anything. Other sessions end then, and both addresses are
// told. Whether the new address has an account is told to its owner alone.
//
// A deleted account leaves nothing behind that tells who it was: its row keeps the id, which entries of logs and keys
// name, and loses everything else, in one change with its memberships, keys, sessions and whatever other areas hold of
// the person. What the system's log said of the person is erased as payloads are, so that the log still verifies.
// Keys of agents end with the account, unless they are handed over to another member. The last owner of an organization
// has to make another one first.
package account

import (
	"context"
	"regexp"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"writ/internal/audit"
	"writ/internal/auth"
	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/principal"
)

// Options are what a Service needs.
type Options struct {
	Database  *database.DB
	Log       *audit.Log
	Auth      *auth.Service
	PublicURL string
	Parts     Parts
}

// Service changes whole accounts.
type Service struct{ Options }

// New makes a Service.
func New(o Options) *Service { return &Service{o} }

// Profile is what a person tells of themselves.
type Profile struct {
	Name     string
	Locale   string // a language tag; empty: not said
	TimeZone string // of the IANA database; empty: not said
}

// ProfileChange has what is to change; nil: not that.
type ProfileChange struct{ Name, Locale, TimeZone *string }

// Initials are the letters that stand for a person where a picture would: of the first and the last word of their
// name, or else of the address.
func Initials(name, address string) string {
	words := strings.FieldsFunc(name, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) })
	if len(words) == 0 {
		words = []string{address}
	}
	first, _ := utf8.DecodeRuneInString(words[0])
	initials := string(first)
	if len(words) > 1 {
		last, _ := utf8.DecodeRuneInString(words[len(words)-1])
		initials += string(last)
	}
	return strings.ToUpper(initials)
}

// Profile reads the caller's profile.
func (s *Service) Profile(ctx context.Context, p principal.Principal) (Profile, error) {
	return findProfile(ctx, s.Database, p.UserID)
}

// localeForm is a language, perhaps with a script and a region: de, pt-BR, zh-Hant-TW.
var localeForm = regexp.MustCompile(`^[a-z]{2,3}(-[A-Z][a-z]{3})?(-([A-Z]{2}|[0-9]{3}))?$`)

func (c ProfileChange) check() error {
	if c.Locale != nil && *c.Locale != "" && !localeForm.MatchString(*c.Locale) {
		return fault.Field("locale", "must be a language tag such as de or pt-BR")
	}
	if c.TimeZone != nil && *c.TimeZone != "" {
		if _, err := time.LoadLocation(*c.TimeZone); err != nil || *c.TimeZone == "Local" {
			return fault.Field("timeZone", "must be a time zone such as Europe/Berlin")
		}
	}
	return nil
}

// ChangeProfile changes the caller's profile. The log says which parts, and not to what.
func (s *Service) ChangeProfile(ctx context.Context, p principal.Principal, c ProfileChange) (Profile, error) {
	if err := c.check(); err != nil {
		return Profile{}, err
	}
	if c.Name != nil {
		*c.Name = strings.TrimSpace(*c.Name)
		if err := auth.CheckName(*c.Name); err != nil {
			return Profile{}, err
		}
	}
	var changed Profile
	err := s.change(ctx, func(ctx context.Context, tx *database.Tx) (err error) {
		if changed, err = findProfile(ctx, tx, p.UserID); err != nil {
			return err
		}
		fields := []string{}
		for _, part := range []struct {
			name       string
			to, stored *string
		}{
			{"name", c.Name, &changed.Name},
			{"locale", c.Locale, &changed.Locale},
			{"timeZone", c.TimeZone, &changed.TimeZone},
		} {
			if part.to != nil && *part.to != *part.stored {
				*part.stored, fields = *part.to, append(fields, part.name)
			}
		}
		if len(fields) == 0 {
			return nil
		}
		if err := updateProfile(ctx, tx, p.UserID, changed); err != nil {
			return err
		}
		return s.record(ctx, tx, p, "profile.changed", map[string]any{"fields": fields})
	})
	return changed, err
}

// Preferences are how a person wants the dashboard to look. What they want to be mailed is package notification's,
// because it differs by organization.
type Preferences struct {
	Theme   string // system, light, dark
	Density string // compact, roomy
}

// Preferences reads those of the caller: the usual ones if they never chose.
func (s *Service) Preferences(ctx context.Context, p principal.Principal) (Preferences, error) {
	return findPreferences(ctx, s.Database, p.UserID)
}

// SetPreferences stores those of the caller. They give and take no right, so that the log says nothing of them.
func (s *Service) SetPreferences(ctx context.Context, p principal.Principal, chosen Preferences) error {
	return s.Database.Write(ctx, database.Change{Do: func(ctx context.Context, tx *database.Tx) error {
		if err := auth.RequireLive(ctx, tx, p); err != nil {
			return err // the account may have been deleted meanwhile
		}
		return storePreferences(ctx, tx, p.UserID, chosen)
	}})
}

// change runs a transaction that may append to the system log.
func (s *Service) change(ctx context.Context, do func(ctx context.Context, tx *database.Tx) error) error {
	return s.Database.Write(ctx, database.Change{Logs: []string{audit.System}, Do: do})
}

func (s *Service) record(
	ctx context.Context, tx *database.Tx, p principal.Principal, action string, payload any,
) error {
	_, err := s.Log.Append(ctx, tx, audit.Entry{
		Log:         audit.System,
		Action:      action,
		Actor:       p,
		Subject:     audit.Subject{Type: "user", ID: p.UserID},
		Payload:     payload,
		Observation: true,
	})
	return err
}
