package grounding

import (
	"embed"
	"strings"
)

// The word lists, one entry a line; a line that begins with # is a comment.
//
//go:embed words/*.txt
var files embed.FS

var (
	proseNames   = wordList("prose")
	idNames      = wordList("id")
	amountNames  = wordList("amount")
	webNames     = wordList("web")
	commandNames = wordList("command")
	idMarks      = wordList("id-marks")
	doing        = wordList("doing")
	leadIns      = wordList("lead-ins")
	orderPhrases = phraseList("orders")
)

// wordList reads a list of words.
func wordList(name string) map[string]bool {
	set := map[string]bool{}
	for _, line := range phraseList(name) {
		set[line] = true
	}
	return set
}

// phraseList reads a list of phrases, as texts are folded.
func phraseList(name string) []string {
	text, err := files.ReadFile("words/" + name + ".txt")
	if err != nil {
		panic(err) // the lists are part of the program
	}
	var list []string
	for line := range strings.Lines(string(text)) {
		if line = fold(line); line != "" && line[0] != '#' {
			list = append(list, line)
		}
	}
	return list
}

// hasAnyWord reports whether a name has a word of the set: send_to, sendTo, SEND-TO.
func hasAnyWord(name string, set map[string]bool) bool {
	for _, word := range nameWords(name) {
		if set[word] {
			return true
		}
	}
	return false
}

// nameWords cuts the name of an argument into its words, in lower case.
func nameWords(name string) []string {
	var list []string
	start := -1
	for i := 0; i <= len(name); i++ {
		ends := i == len(name) || !isNameByte(name[i])
		if start >= 0 && (ends || isUpper(name[i]) && !isUpper(name[i-1])) {
			list = append(list, strings.ToLower(name[start:i]))
			start = -1
		}
		if !ends && start < 0 {
			start = i
		}
	}
	return list
}

func isUpper(c byte) bool { return c >= 'A' && c <= 'Z' }

func isNameByte(c byte) bool {
	return isUpper(c) || c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c >= 0x80
}
