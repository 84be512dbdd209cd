// Package email gives e-mail addresses one spelling, so that accounts and
// invitations can be compared: trimmed, in lower case, and bare ("name@example.org"),
// without a display name, quotes, comments or invisible characters. Mail goes only
// to that spelling, so only its owner can prove to own it.
package email

import (
	"net/mail"
	"strings"
	"unicode"
	"unicode/utf8"

	"writ/internal/fault"
)

// maxBytes is the longest address that mail servers must accept (RFC 5321,
// 4.5.3.1.3, without the angle brackets).
const maxBytes = 254

// Normalise gives the one spelling of an address that a person typed. Anything but a
// bare address is an Invalid fault about the field "email".
func Normalise(text string) (string, error) {
	invalid := fault.Field("email", "must be an e-mail address such as name@example.org")
	address := strings.ToLower(strings.TrimSpace(text))
	// Lower-casing replaces invalid bytes, so the text itself is checked for them.
	if !utf8.ValidString(text) || strings.ContainsFunc(address, unprintable) {
		return "", invalid
	}
	if len(address) > maxBytes {
		return "", fault.Field("email", "must be at most %d bytes long", maxBytes)
	}
	// The parsed address lacks names, quotes and comments.
	parsed, err := mail.ParseAddress(address)
	if err != nil || parsed.Address != address {
		return "", invalid
	}
	return address, nil
}

// unprintable finds control characters, which could forge a header, and invisible
// ones, which could make two addresses look alike.
func unprintable(r rune) bool { return !unicode.IsPrint(r) }
