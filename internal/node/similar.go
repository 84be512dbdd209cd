package node

import "strings"

// expected says what could stand in place of an unknown word: the known one that was
// probably meant, else all of them.
func expected(word string, known []string) string {
	if meant := closest(word, known); meant != "" {
		return "did you mean " + meant + "?"
	}
	return "expected " + Words(known)
}

// closest is the known word that differs from the word in the fewest letters: at most
// in two, and in less than half of them.
func closest(word string, known []string) (meant string) {
	if len(word) > maxKey {
		return ""
	}
	best := min(2, (len(word)-1)/2) + 1
	for _, candidate := range known {
		a, b := strings.ToLower(word), strings.ToLower(candidate)
		if d := distance(strings.ReplaceAll(a, "-", "_"), strings.ReplaceAll(b, "-", "_")); d < best {
			meant, best = candidate, d
		}
	}
	return meant
}

// distance counts the letters that must be added, removed, changed or swapped with their
// neighbour to turn one word into the other.
func distance(a, b string) int {
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
