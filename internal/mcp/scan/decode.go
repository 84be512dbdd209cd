package scan

import (
	"encoding/base32"
	"encoding/base64"
	"encoding/hex"
	"html"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The fewest characters and units that are worth decoding.
const (
	minEncoded = 16 // characters of base64, base32 or hexadecimal digits
	minUnits   = 4  // escapes such as %41
	minNumbers = 8  // character codes
)

// decode scans what a text holds in encoded form.
func (s *scanner) decode(t *text, value string, decoded int) {
	s.work += 3 * len(value)
	for _, plain := range blobs(value) {
		s.match(t, plain, decoded+1)
	}
	if plain, units := unescape(value); units >= minUnits {
		s.match(t, plain, decoded+1)
	}
	for _, plain := range []string{numbers(value), unmorse(value), unBase85(value)} {
		if plain != "" {
			s.match(t, plain, decoded+1)
		}
	}
	if isASCII(value) {
		return
	}
	if plain := unsymbol(value, fromBraille); plain != "" {
		s.match(t, plain, decoded+1)
	}
	if plain := unsymbol(value, fromUpsideDown); plain != "" {
		s.match(t, mirror(plain), decoded+1)
	}
}

// blobs are the readable texts that stand in base64, base32 or hexadecimal form in a text.
func blobs(text string) (plain []string) {
	unpacked := 0
	for i := 0; i < len(text); {
		if !isBlobByte(text[i]) {
			i++
			continue
		}
		end, parts := blobEnd(text, i)
		if end-i >= minEncoded {
			blob := text[i:end]
			if parts > 1 {
				blob = strings.Join(strings.Fields(blob), "")
			}
			found, packed := decodeBlob(blob, unpacked < maxPacked)
			if packed {
				unpacked++
			}
			if found != "" {
				plain = append(plain, found)
			}
		}
		i = end
	}
	return plain
}

// blobEnd is where encoded text that starts at an offset ends. It goes on over a single space or line break if as much
// follows as an encoder writes on a line.
func blobEnd(text string, start int) (end, parts int) {
	parts = 1
	for i := start; ; {
		from := i
		for i < len(text) && isBlobByte(text[i]) {
			i++
		}
		for i < len(text) && text[i] == '=' {
			i++
		}
		if i-from < minEncoded && parts > 1 && i < len(text) && isBlobByte(text[i-1]) && text[i] != '\n' {
			// A short part is the last one at most: what follows are words.
			return max(from-1, start), parts - 1
		}
		if i-from < minEncoded || i+1 >= len(text) {
			return i, parts
		}
		next := i + 1
		if text[i] == '\r' {
			next++
		}
		if text[i] != ' ' && text[i] != '\n' && text[i] != '\r' || next >= len(text) || !isBlobByte(text[next]) {
			return i, parts
		}
		i = next
		parts++
	}
}

func isBlobByte(c byte) bool { return isWordByte(c) || c == '+' || c == '/' || c == '-' || c == '_' }

// decodeBlob is what a text encodes; empty: nothing that can be read. packed: it was compressed.
func decodeBlob(blob string, mayUnpack bool) (plain string, packed bool) {
	trimmed := strings.TrimRight(blob, "=")
	tries := []func() ([]byte, error){
		func() ([]byte, error) { return hex.DecodeString(trimmed) },
		func() ([]byte, error) { return base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(trimmed) },
		func() ([]byte, error) { return base64.RawStdEncoding.DecodeString(trimmed) },
		func() ([]byte, error) { return base64.RawURLEncoding.DecodeString(trimmed) },
	}
	for _, try := range tries {
		bytes, err := try()
		if err != nil {
			continue
		}
		if isReadable(bytes) {
			return string(bytes), packed
		}
		if !mayUnpack || packed || !isPacked(bytes) {
			continue
		}
		packed = true
		if unpacked := unpack(bytes); isReadable(unpacked) {
			return string(unpacked), packed
		}
	}
	return "", packed
}

// isReadable reports whether bytes are text: valid, of letters and spaces mostly.
func isReadable(plain []byte) bool {
	if len(plain) < 8 || !utf8.Valid(plain) {
		return false
	}
	letters, count := 0, 0
	for _, r := range string(plain) {
		count++
		if unicode.IsLetter(r) || r == ' ' || r == '\n' {
			letters++
		}
	}
	return letters*4 >= count*3
}

// unescape is a text with its escapes replaced, and how many there were: %41, \x41, \u0041, U+0041, =41 and
// those of HTML.
func unescape(text string) (string, int) {
	if !strings.ContainsAny(text, `%\&=+`) {
		return "", 0
	}
	var b strings.Builder
	units := 0
	for i := 0; i < len(text); {
		r, length := escape(text[i:])
		if length == 0 {
			b.WriteByte(text[i])
			i++
			continue
		}
		b.WriteRune(r)
		i += length
		units++
		// Codes are often written with spaces in between.
		if strings.HasPrefix(text[i:], " U+") || strings.HasPrefix(text[i:], " 0x") {
			i++
		}
	}
	return b.String(), units
}

// escape reads the escape at the start of a text; length 0: there is none.
func escape(text string) (r rune, length int) {
	switch text[0] {
	case '%', '=':
		return number(text, 1, 2, 16)
	case '\\':
		return backslashed(text)
	case 'U':
		if strings.HasPrefix(text, "U+") {
			return number(text, 2, 4, 16)
		}
	case '0':
		if strings.HasPrefix(text, "0x") && len(text) > 4 && !isWordByte(text[4]) {
			return number(text, 2, 2, 16)
		}
	case '&':
		return entity(text)
	}
	return 0, 0
}

func backslashed(text string) (rune, int) {
	if len(text) < 4 {
		return 0, 0
	}
	switch text[1] {
	case 'x':
		return number(text, 2, 2, 16)
	case 'u':
		if text[2] == '{' {
			return braced(text, 3)
		}
		return number(text, 2, 4, 16)
	case 'U':
		return number(text, 2, 8, 16)
	case '0', '1':
		return number(text, 1, 3, 8)
	}
	return 0, 0
}

// number reads a number of so many digits behind the mark of an escape.
func number(text string, from, digits, base int) (rune, int) {
	if len(text) < from+digits {
		return 0, 0
	}
	n, err := strconv.ParseUint(text[from:from+digits], base, 32)
	if err != nil || n < ' ' || n > unicode.MaxRune {
		return 0, 0
	}
	return rune(n), from + digits
}

func braced(text string, from int) (rune, int) {
	end := strings.IndexByte(text[from:min(len(text), from+8)], '}')
	if end <= 0 {
		return 0, 0
	}
	r, length := number(text, from, end, 16)
	if length == 0 {
		return 0, 0
	}
	return r, length + 1
}

// maxEntity is the length of the longest escape of HTML that is read.
const maxEntity = 12

func entity(text string) (rune, int) {
	end := strings.IndexByte(text[:min(len(text), maxEntity)], ';')
	if end < 2 {
		return 0, 0
	}
	plain := html.UnescapeString(text[:end+1])
	r, size := utf8.DecodeRuneInString(plain)
	if size != len(plain) {
		return 0, 0
	}
	return r, end + 1
}

// numbers is the longest row of character codes of a text, read: in decimal, octal, hexadecimal or binary form.
func numbers(text string) string {
	if !hasDigits(text, minNumbers) {
		return ""
	}
	var row, longest []string
	for field := range strings.FieldsFuncSeq(text, func(r rune) bool { return strings.ContainsRune(" ,\n:;|-", r) }) {
		if isCode(field) {
			row = append(row, field)
			continue
		}
		if len(row) > len(longest) {
			longest = row
		}
		row = nil
	}
	if len(row) > len(longest) {
		longest = row
	}
	if len(longest) < minNumbers {
		return ""
	}
	for _, base := range []int{2, 16, 10, 8} {
		if plain := decodeNumbers(longest, base); plain != "" {
			return plain
		}
	}
	return ""
}

// isCode reports whether a word may be the code of a character.
func isCode(field string) bool {
	if len(field) < 2 || len(field) > 8 {
		return false
	}
	digits := 0
	for i := range len(field) {
		switch c := field[i]; {
		case c >= '0' && c <= '9':
			digits++
		case c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F':
		default:
			return false
		}
	}
	return digits > 0
}

func decodeNumbers(codes []string, base int) string {
	plain := make([]byte, 0, len(codes))
	for _, code := range codes {
		if base == 2 && len(code) < 7 {
			return ""
		}
		n, err := strconv.ParseUint(code, base, 8)
		if err != nil {
			return ""
		}
		plain = append(plain, byte(n))
	}
	if !isReadable(plain) {
		return ""
	}
	return string(plain)
}
