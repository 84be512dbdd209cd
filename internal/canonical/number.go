package canonical

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strconv"
)

// MaxIntegerDigits is how long an integer may be in its canonical form: enough for every
// key size in use, and 1e999999999 does not fill the memory.
const MaxIntegerDigits = 1000

var (
	errIntegerTooLong = fmt.Errorf("integer of more than %d digits", MaxIntegerDigits)
	errDecimalRange   = errors.New("decimal outside the range of float64")
)

// appendNumber appends a valid JSON number by its value.
func appendNumber(dst, text []byte) ([]byte, error) {
	if !bytes.ContainsAny(text, ".eE") {
		return appendInteger(dst, text)
	}
	d := parseDecimal(text)
	if len(d.digits) == 0 {
		return append(dst, '0'), nil
	}
	if d.exponent < 0 {
		return appendFraction(dst, text)
	}
	if int64(len(d.digits))+d.exponent > MaxIntegerDigits {
		return nil, errIntegerTooLong
	}
	if d.negative {
		dst = append(dst, '-')
	}
	dst = append(dst, d.digits...)
	for range d.exponent {
		dst = append(dst, '0')
	}
	return dst, nil
}

// appendInteger appends an integer without point and exponent. JSON allows it
// no leading zeros, so only -0 is not canonical yet.
func appendInteger(dst, text []byte) ([]byte, error) {
	digits := bytes.TrimPrefix(text, []byte("-"))
	if len(digits) > MaxIntegerDigits {
		return nil, errIntegerTooLong
	}
	if digits[0] == '0' {
		return append(dst, '0'), nil
	}
	return append(dst, text...), nil
}

// appendFraction appends a number that is not an integer: its nearest float64,
// in the shortest form. Below the smallest float64 that is 0.
func appendFraction(dst, text []byte) ([]byte, error) {
	f, err := strconv.ParseFloat(string(text), 64)
	if err != nil {
		return nil, errDecimalRange
	}
	if f == 0 {
		return append(dst, '0'), nil // also for -0
	}
	if math.Abs(f) >= 1e-6 {
		// JavaScript uses exponents from 1e21 on. So large a number has lost its fraction
		// and must look like the integer that it now is.
		return strconv.AppendFloat(dst, f, 'f', -1, 64), nil
	}
	dst = strconv.AppendFloat(dst, f, 'e', -1, 64)
	if n := len(dst); dst[n-2] == '0' && dst[n-3] == '-' { // Go writes 1e-07, JavaScript 1e-7
		dst = append(dst[:n-2], dst[n-1])
	}
	return dst, nil
}

// decimal is a number as ±digits × 10^exponent. Digits have no zeros at either
// end, and zero has none at all; so it is an integer unless exponent < 0.
type decimal struct {
	negative bool
	digits   []byte
	exponent int64
}

func parseDecimal(text []byte) decimal {
	var d decimal
	if text[0] == '-' {
		d.negative, text = true, text[1:]
	}
	if i := bytes.IndexAny(text, "eE"); i >= 0 {
		d.exponent = parseExponent(text[i+1:])
		text = text[:i]
	}
	whole, fraction, _ := bytes.Cut(text, []byte("."))
	digits := make([]byte, 0, len(text))
	digits = append(append(digits, whole...), fraction...)
	d.digits = bytes.TrimRight(digits, "0")
	d.exponent += int64(len(digits)-len(d.digits)) - int64(len(fraction))
	d.digits = bytes.TrimLeft(d.digits, "0")
	return d
}

// parseExponent reads an exponent. Beyond the bound it is too large to matter
// exactly, and within it sums with lengths of texts cannot overflow.
func parseExponent(text []byte) int64 {
	const bound = 1 << 48
	n, _ := strconv.ParseInt(string(text), 10, 64) // out of range gives the nearest value
	return min(max(n, -bound), bound)
}
