package page

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"strings"
	"unicode/utf8"

	"writ/internal/fault"
)

const (
	maxText = 512 // bytes of an encoded cursor; the longest we make has 290
	maxID   = 200 // bytes
)

// An encoded cursor is the base64url of a version, a checksum, the time as eight bytes big-endian, and the id.
const (
	version      = 2 // 1 had no checksum of time and id
	checksumSize = 8
	microsAt     = 1 + checksumSize
	idAt         = microsAt + 8
)

// Cursor is the position of a row in a list: the page after it begins with the next row.
// The zero cursor is before the first row.
type Cursor struct {
	List   string // which list, a constant of the area that owns it
	Scope  string // whose list, in most cases the id of the organization
	Micros int64  // the row's time, in microseconds since 1970
	ID     string // 1 to 200 bytes of UTF-8 without NUL
}

// IsZero reports whether the cursor is before the first row.
func (c Cursor) IsZero() bool { return c.ID == "" }

// Encode is the cursor as opaque text; empty for the zero cursor.
func (c Cursor) Encode() string {
	if c.IsZero() {
		return ""
	}
	raw := make([]byte, 0, idAt+len(c.ID))
	raw = append(raw, version)
	raw = append(raw, c.checksum()...)
	raw = binary.BigEndian.AppendUint64(raw, uint64(c.Micros))
	raw = append(raw, c.ID...)
	return base64.RawURLEncoding.EncodeToString(raw)
}

// Decode reads the cursor that a caller sent for a list and a scope. Empty text is the
// zero cursor. What Encode did not make for the same list and scope is an Invalid fault.
func Decode(text, list, scope string) (Cursor, error) {
	if text == "" {
		return Cursor{}, nil
	}
	c, ok := parse(text)
	c.List, c.Scope = list, scope
	// Encoding again checks version, checksum and spelling at once.
	if !ok || c.Encode() != text {
		return Cursor{}, fault.New(fault.Invalid, "Invalid cursor")
	}
	return c, nil
}

// parse reads time and id, and does not check the rest.
func parse(text string) (Cursor, bool) {
	if len(text) > maxText {
		return Cursor{}, false
	}
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || len(raw) <= idAt {
		return Cursor{}, false
	}
	c := Cursor{Micros: int64(binary.BigEndian.Uint64(raw[microsAt:])), ID: string(raw[idAt:])}
	// The caller may have made this up, and it goes to the database next.
	return c, len(c.ID) <= maxID && utf8.ValidString(c.ID) && !strings.Contains(c.ID, "\x00")
}

// checksum is a short hash of everything: a cursor of another list or scope does not match, nor one of which letters
// were cut or changed. The lengths keep ("ab", "c") and ("a", "bc") apart.
func (c Cursor) checksum() []byte {
	text := make([]byte, 0, len(c.List)+len(c.Scope)+len(c.ID)+32)
	for _, part := range []string{c.List, c.Scope} {
		text = append(binary.AppendUvarint(text, uint64(len(part))), part...)
	}
	text = binary.BigEndian.AppendUint64(text, uint64(c.Micros))
	sum := sha256.Sum256(append(text, c.ID...))
	return sum[:checksumSize]
}
