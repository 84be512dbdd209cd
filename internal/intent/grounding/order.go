package grounding

import "strings"

// ordered reports whether the sentence of a text at an offset, or the one before it,
// orders something.
func ordered(text string, from, to int) bool {
	start := sentenceStart(text, from)
	for end := start; start > 0; {
		start = sentenceStart(text, start-1)
		if countWords(text[start:end], sentenceWords) >= sentenceWords {
			break // else the dot was that of an abbreviation
		}
	}
	end := to + sentenceEnd(text[to:])
	return orders(text[start:end])
}

// sentenceWords are the fewest words of a sentence.
const sentenceWords = 4

// sentenceStart is where the sentence begins that holds the offset.
func sentenceStart(text string, at int) int {
	for i := at - 1; i > 0; i-- {
		if text[i] == ' ' && endsSentence(text[i-1]) && i < at {
			return i + 1
		}
	}
	return 0
}

// sentenceEnd is where the first sentence of a text ends.
func sentenceEnd(text string) int {
	for i := range len(text) {
		if endsSentence(text[i]) && (i+1 == len(text) || text[i+1] == ' ') {
			return i + 1
		}
	}
	return len(text)
}

func endsSentence(c byte) bool { return c == '.' || c == '!' || c == '?' }

// orders reports whether a folded text tells its reader to do something: by a phrase
// such as "please", or by a clause that begins with a verb of doing.
func orders(text string) bool {
	if asks(text) {
		return true
	}
	begins := true
	for word := range strings.FieldsSeq(text) {
		bare := strings.Trim(word, clauseMarks)
		if bare == "" {
			begins = true
			continue
		}
		if strings.IndexByte(clauseMarks, word[0]) >= 0 {
			begins = true
		}
		if begins && doing[bare] {
			return true
		}
		begins = begins && leadIns[bare] || leadIns[bare] || strings.IndexByte(clauseMarks, word[len(word)-1]) >= 0
	}
	return false
}

// asks reports whether a folded text holds a phrase that orders.
func asks(text string) bool {
	for _, phrase := range orderPhrases {
		if isWide([]rune(phrase)[0]) && strings.Contains(text, phrase) || mentions(text, phrase) {
			return true
		}
	}
	return false
}

// clauseMarks are the characters around the words of a clause.
const clauseMarks = ".,;:!?()[]{}<>\"'`*-_=#|/\\~+&"
