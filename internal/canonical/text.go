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

// AppendString appends text as a canonical JSON string.
func AppendString(dst []byte, text string) ([]byte, error) {
	if !utf8.ValidString(text) {
		return nil, errors.New("canonical JSON: invalid UTF-8 in a string")
	}
	return appendQuoted(dst, text), nil
}

// appendQuoted appends valid UTF-8 text as a canonical JSON string. It copies what needs
// no escape a run at a time.
func appendQuoted[T string | []byte](dst []byte, text T) []byte {
	dst = append(dst, '"')
	run := 0 // beginning of what is not yet appended
	for i := 0; i < len(text); {
		c := text[i]
		if plain[c] {
			i++
			continue
		}
		dst = append(dst, text[run:i]...)
		if c < utf8.RuneSelf {
			dst = appendASCII(dst, c)
			i++
		} else {
			r, size := utf8.DecodeRuneInString(string(text[i:min(i+utf8.UTFMax, len(text))]))
			dst = appendRune(dst, r)
			i += size
		}
		run = i
	}
	return append(append(dst, text[run:]...), '"')
}

// plain are the bytes that need no escape.
var plain = func() (is [256]bool) {
	for c := ' '; c <= '~'; c++ {
		is[c] = c != '"' && c != '\\'
	}
	return is
}()

// appendRune appends a character beyond ASCII as one or two code units.
func appendRune(dst []byte, r rune) []byte {
	if high, low := utf16.EncodeRune(r); high != utf8.RuneError {
		dst = appendUnit(dst, high)
		r = low
	}
	return appendUnit(dst, r)
}

// appendASCII appends a character of ASCII that is escaped.
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
	return appendUnit(dst, rune(c))
}

// appendUnit appends one UTF-16 code unit as \uxxxx.
func appendUnit(dst []byte, unit rune) []byte {
	return append(dst, '\\', 'u',
		hexDigits[unit>>12&0xf], hexDigits[unit>>8&0xf], hexDigits[unit>>4&0xf], hexDigits[unit&0xf])
}
