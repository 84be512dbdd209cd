package redaction

import "strings"

const (
	minCardDigits = 13
	maxCardDigits = 19
)

// withoutCards removes card numbers from a text. A number counts only if it stands alone, perhaps in groups with
// single spaces or hyphens between them. Ids, hashes and UUIDs, in which digits touch letters, stay.
func withoutCards(text string) string {
	var out strings.Builder
	done := 0
	for i := 0; i < len(text); {
		if !isDigit(text[i]) {
			i++
			continue
		}
		end := endOfNumber(text, i)
		if standsAlone(text, i, end) && isCard(text[i:end]) {
			out.WriteString(text[done:i])
			out.WriteString(Mark)
			done = end
		}
		i = end
	}
	if done == 0 {
		return text
	}
	out.WriteString(text[done:])
	return out.String()
}

// endOfNumber is where the digits that begin at i end, including single spaces and hyphens between them.
func endOfNumber(text string, i int) int {
	for end := i; end < len(text); end++ {
		if isDigit(text[end]) {
			i = end + 1
		} else if end != i || text[end] != ' ' && text[end] != '-' {
			break
		}
	}
	return i
}

func standsAlone(text string, start, end int) bool {
	return (start == 0 || !isWord(text[start-1])) && (end == len(text) || !isWord(text[end]) || text[end] == '.')
}

// isCard reports whether a number has the length, the first digits and the check digit of a payment card.
func isCard(number string) bool {
	sum, n, group := 0, 0, 0
	for i := len(number) - 1; i >= 0; i-- {
		c := number[i]
		if c == ' ' || c == '-' {
			if group < 4 && n > group { // dates have groups of two; only the last group of a card is short
				return false
			}
			group = 0
			continue
		}
		if !isDigit(c) || n == maxCardDigits {
			return false
		}
		d := int(c - '0')
		if n%2 == 1 {
			if d *= 2; d > 9 {
				d -= 9
			}
		}
		sum += d
		n++
		group++
	}
	// The first digit: 2 to 6 are banks and travel; 0, 1, 7, 8 and 9 are not payment cards. This spares times in
	// milliseconds, which begin with 1.
	return n >= minCardDigits && group >= 4 && sum%10 == 0 && number[0] >= '2' && number[0] <= '6'
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// isWord reports whether c, next to digits, makes them part of something longer.
func isWord(c byte) bool {
	return isDigit(c) || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c == '.' || c == '-' ||
		c == '+' || c >= 0x80
}
