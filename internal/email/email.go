// Package email says what an e-mail address is to Writ, so that accounts and
// invitations always mean the same one.
//
// An address is stored and compared in one spelling: trimmed and in lower case.
// It is bare ("name@example.org"), without a display name, quotes, comments or
// anything invisible. Mail goes to that spelling and no other, so two people
// whose addresses become one here cannot both prove to own it.
package email

import (
	"net/mail"
	"strings"
	"unicode"
	"unicode/utf8"

	"writ/internal/fault"
)

// maxBytes is the longest address a mail server must take (RFC 5321, 4.5.3.1.3,
// less the angle brackets).
const maxBytes = 254

// Normalise gives the one spelling of an address that a person typed. What is
// not a bare address is an Invalid fault about the field "email".
func Normalise(text string) (string, error) {
	// Before lower-casing, which would hide broken bytes behind a valid rune.
	if !utf8.ValidString(text) {
		return "", invalid()
	}
	address := strings.ToLower(strings.TrimSpace(text))
	if len(address) > maxBytes {
		return "", fault.Field("email", "must be at most %d bytes long", maxBytes)
	}
	if strings.ContainsFunc(address, unprintable) {
		return "", invalid()
	}
	// Names, quotes and comments are all left out of what is parsed.
	parsed, err := mail.ParseAddress(address)
	if err != nil || parsed.Address != address {
		return "", invalid()
	}
	return address, nil
}

// unprintable finds controls, which could forge a header, and what a reader
// cannot see, with which two addresses would look like one.
func unprintable(r rune) bool { return !unicode.IsPrint(r) }

func invalid() error {
	return fault.Field("email", "must be an e-mail address such as name@example.org")
}
