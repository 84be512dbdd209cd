// Package duration reads lengths of time as people write them on a command line: 90s, 8h, 30d, 2w, 1d12h. It links
// little, because writ run starts before every command of an agent.
package duration

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"time"
)

// A day has 24 hours and a week seven days, whatever clocks do meanwhile: so does the server count.
const (
	day  = 24 * time.Hour
	week = 7 * day
)

var errForm = errors.New("must be a time such as 90s, 10m, 8h, 30d or 2w")

// Parse reads numbers with their units: those of Go, d and w. No length is negative.
func Parse(text string) (time.Duration, error) {
	if text == "0" {
		return 0, nil
	}
	whole := time.Duration(0)
	for rest := text; rest != "" || text == ""; {
		digits := strings.TrimLeft(rest, "0123456789.")
		number := rest[:len(rest)-len(digits)]
		end := strings.IndexAny(digits, "0123456789.")
		if end < 0 {
			end = len(digits)
		}
		part, err := parsePart(number, digits[:end])
		if err != nil || part > math.MaxInt64-whole {
			return 0, errForm
		}
		whole, rest = whole+part, digits[end:]
	}
	return whole, nil
}

func parsePart(number, unit string) (time.Duration, error) {
	length := map[string]time.Duration{"d": day, "w": week}[unit]
	if length == 0 {
		part, err := time.ParseDuration(number + unit)
		if err != nil || number == "" {
			return 0, errForm
		}
		return part, nil
	}
	count, err := strconv.ParseFloat(number, 64)
	if err != nil || count*float64(length) >= math.MaxInt64 {
		return 0, errForm
	}
	return time.Duration(count * float64(length)), nil
}

// Format writes a length as Parse reads it, and as short as people do: 1h, not 1h0m0s; days are days.
func Format(length time.Duration) string {
	if length > day && length%day == 0 {
		return strconv.FormatInt(int64(length/day), 10) + "d"
	}
	text := length.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}
