package decode

import (
	"cmp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// checker checks fields and keeps the first error.
type checker struct {
	prefix string
	bad    *Rejection
}

func (c *checker) fail(field, format string, args ...any) {
	if c.bad == nil {
		c.bad = reject(c.prefix+field, format, args...)
	}
}

// IsUUID reports whether text is a UUID in lower case, as it is stored.
func IsUUID(text string) bool {
	if len(text) != len("00000000-0000-0000-0000-000000000000") {
		return false
	}
	for i := range len(text) {
		if isHex[text[i]] {
			continue
		}
		if i != 8 && i != 13 && i != 18 && i != 23 || text[i] != '-' {
			return false
		}
	}
	return text[8] == '-' && text[13] == '-' && text[18] == '-' && text[23] == '-'
}

// TraceID is the id under which a trace is stored: a UUID, or the same 16 bytes as OpenTelemetry writes them, 32
// hexadecimal digits.
func TraceID(text string) (id string, ok bool) {
	id = strings.ToLower(text)
	if len(id) == 32 {
		id = id[:8] + "-" + id[8:12] + "-" + id[12:16] + "-" + id[16:20] + "-" + id[20:]
	}
	return id, IsUUID(id)
}

var isHex = func() (digits [256]bool) {
	for _, c := range []byte("0123456789abcdef") {
		digits[c] = true
	}
	return digits
}()

func (c *checker) uuid(field, text string, required bool) string {
	if text == "" && required {
		c.fail(field, "is required and must be a UUID")
		return ""
	}
	if IsUUID(text) {
		return text // nearly always
	}
	lower := strings.ToLower(text)
	if !IsUUID(lower) {
		c.fail(field, "must be a UUID")
	}
	return lower
}

// optionalID reads an id that may be absent. An empty text is not an id.
func (c *checker) optionalID(field string, value raw) string {
	if isAbsent(value) {
		return ""
	}
	return c.uuid(field, unquoted(value), false)
}

// isAbsent reports whether a member is missing or null.
func isAbsent(value raw) bool { return value == "" || value.kind() == 'n' }

// unquoted is the text of a JSON string, and empty for anything else.
func unquoted(value raw) string {
	if value.kind() != '"' {
		return ""
	}
	if strings.IndexByte(string(value), '\\') < 0 {
		return string(value[1 : len(value)-1])
	}
	text, err := jsontext.AppendUnquote(nil, value)
	if err != nil {
		return ""
	}
	return string(text)
}

func (c *checker) name(text string) string {
	if n := utf8.RuneCountInString(text); n < 1 || n > MaxName {
		c.fail("name", "must be 1-%d characters", MaxName)
	}
	return c.noNUL("name", text)
}

func (c *checker) required(field, text string) string {
	if text == "" {
		c.fail(field, "is required")
	}
	return c.text(field, text)
}

// text limits what is indexed and grouped by.
func (c *checker) text(field, text string) string {
	if len(text) > MaxText {
		c.fail(field, "must have at most %d bytes", MaxText)
	}
	return c.noNUL(field, text)
}

// noNUL refuses a character that PostgreSQL cannot store.
func (c *checker) noNUL(field, text string) string {
	if strings.IndexByte(text, 0) >= 0 {
		c.fail(field, "must not contain the character U+0000")
	}
	return text
}

func (c *checker) status(text string, required bool) string {
	switch text {
	case StatusOK, StatusError, StatusDenied:
		return text
	case "":
		if !required {
			return StatusOK
		}
	}
	c.fail("status", "must be ok, error or denied")
	return text
}

func (c *checker) object(value raw) string {
	switch value.kind() {
	case '{':
		return string(value)
	case 'n', 0:
		return "{}"
	}
	c.fail("attributes", "must be an object")
	return ""
}

func (c *checker) tags(tags texts) string { return cmp.Or(string(tags), "[]") }

// times reads start, end and duration. A missing duration is computed from start and end, unless it exceeds the limit.
func (c *checker) times(start string, end, duration raw) (from int64, to, ms *int64) {
	from, err := parseInstant(start)
	if err != nil {
		c.fail("startTime", "is required and %s", err)
	}
	if !isAbsent(end) {
		at, err := parseInstant(unquoted(end))
		if err != nil {
			c.fail("endTime", "%s", err)
		}
		to = &at
	}
	if n, given := c.number("durationMs", duration, MaxDuration); given {
		ms = &n
	} else if to != nil {
		if computed := (*to - from) / 1000; *to >= from && computed <= MaxDuration {
			ms = &computed
		}
	}
	return from, to, ms
}

// number reads a whole number from 0 to a limit. Null means not given.
func (c *checker) number(field string, value raw, limit float64) (n int64, given bool) {
	switch value.kind() {
	case 'n', 0:
		return 0, false
	case '0':
		if n, err := strconv.ParseInt(string(value), 10, 64); err == nil && n >= 0 && float64(n) <= limit {
			return n, true
		}
		// 12.0 and 1e3 are whole numbers too.
		if f, err := strconv.ParseFloat(string(value), 64); err == nil && f >= 0 && f <= limit &&
			f == float64(int64(f)) {
			return int64(f), true
		}
	}
	c.fail(field, "must be a whole number from 0 to %.0f", limit)
	return 0, false
}
