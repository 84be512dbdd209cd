package canonical

import (
	"errors"
	"unicode/utf16"
	"unicode/utf8"
)

const hexDigits = "0123456789abcdef"

// isPlain reports whether a valid quoted string is its own canonical form:
// printable ASCII without any escape.
func isPlain(quoted []byte) bool {
	for _, c := range quoted {
		if c < ' ' || c > '~' || c == '\\' {
			return false
		}
	}
	return true
}

// AppendString appends text as a canonical JSON string, for who writes a form of
// known members and saves the detour through Marshal.
func AppendString(dst []byte, text string) ([]byte, error) {
	if !utf8.ValidString(text) {
		return nil, errors.New("canonical JSON: invalid UTF-8 in a string")
	}
	return appendQuoted(dst, []byte(text)), nil
}

// appendQuoted appends valid UTF-8 text as a canonical JSON string.
func appendQuoted(dst, text []byte) []byte {
	dst = append(dst, '"')
	for len(text) > 0 {
		c := text[0]
		if c < utf8.RuneSelf {
			dst = appendASCII(dst, c)
			text = text[1:]
			continue
		}
		r, size := utf8.DecodeRune(text)
		text = text[size:]
		if high, low := utf16.EncodeRune(r); high != utf8.RuneError {
			dst = appendUnit(dst, high)
			r = low
		}
		dst = appendUnit(dst, r)
	}
	return append(dst, '"')
}

func appendASCII(dst []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(dst, '\\', c)
	case '\b':
		return append(dst, '\\', 'b')
	case '\t':
		return append(dst, '\\', 't')
	case '\n':
		return append(dst, '\\', 'n')
	case '\f':
		return append(dst, '\\', 'f')
	case '\r':
		return append(dst, '\\', 'r')
	}
	if c < ' ' || c > '~' {
		return appendUnit(dst, rune(c))
	}
	return append(dst, c)
}

// appendUnit appends one UTF-16 code unit as \uxxxx.
func appendUnit(dst []byte, unit rune) []byte {
	return append(dst, '\\', 'u',
		hexDigits[unit>>12&0xf], hexDigits[unit>>8&0xf], hexDigits[unit>>4&0xf], hexDigits[unit&0xf])
}
