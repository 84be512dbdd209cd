// Package misspelling finds the word that was probably meant by somebody who wrote another one: a member of a document,
// a setting, a part of a call.
package misspelling

import "strings"

// longest is how long a word may be whose meaning is looked for, in bytes.
const longest = 256

// Of is the known word that differs from the word in the fewest letters: at most in two, and in less than half of them.
// Empty: it is no misspelling of any.
func Of(word string, known []string) (meant string) {
	if len(word) > longest {
		return ""
	}
	word = plain(word)
	best := min(2, (len(word)-1)/2) + 1
	for _, candidate := range known {
		if abs(len(candidate)-len(word)) >= best {
			continue // at least as many letters differ
		}
		if d := Distance(word, plain(candidate)); d < best {
			meant, best = candidate, d
		}
	}
	return meant
}

// plain is a word as people compare it: whatever the case, and how its parts are joined.
func plain(word string) string { return strings.ReplaceAll(strings.ToLower(word), "-", "_") }

func abs(n int) int { return max(n, -n) }

// Distance counts the letters that must be added, removed, changed or swapped with their neighbour to turn one word
// into the other.
func Distance(a, b string) int {
	rows := [3][]int{make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)}
	before, last, now := rows[0], rows[1], rows[2]
	for j := range now {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		now[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			now[j] = min(last[j]+1, now[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				now[j] = min(now[j], before[j-2]+1)
			}
		}
		before, last, now = last, now, before
	}
	return last[len(b)]
}
