package grounding

import (
	"strings"
	"time"
)

// Kind is what a value of an argument is.
type Kind string

// The kinds of arguments.
const (
	Scalar   Kind = "scalar"   // says how much, when, or yes or no
	Prose    Kind = "prose"    // is read by people
	Identity Kind = "identity" // says who, where or which
)

// Valid reports whether this is one of the kinds.
func (k Kind) Valid() bool { return k == Scalar || k == Prose || k == Identity }

// kindOf is the kind of a text. What a tool executes is never prose because it is long.
func kindOf(name, value string, class Class) Kind {
	if isDate(value) {
		return Scalar
	}
	runs := class == Execute && hasAnyWord(name, commandNames)
	switch {
	case addressOf(name, value) != noAddress:
		return Identity
	case !runs && namesProse(name):
		return Prose
	case !runs && countWords(value, longWords+1) > longWords:
		return Prose
	case isNumber(value) && hasAnyWord(name, amountNames):
		return Scalar
	}
	return Identity
}

// namesProse reports whether an argument's name says that people read it.
func namesProse(name string) bool { return hasAnyWord(name, proseNames) && !hasAnyWord(name, idNames) }

// kindOfNumber is the kind of a number, written as text. One that is long or named like
// an id says which, not how much.
func kindOfNumber(name, text string) Kind {
	if hasAnyWord(name, idNames) || isAccount(text) && !hasAnyWord(name, amountNames) {
		return Identity
	}
	return Scalar
}

// maxShortNumber is how long a number is that says how much.
const maxShortNumber = 12

// isNumber reports whether a text is a plain number, perhaps with a sign, a fraction, a
// percent sign or a currency in front.
func isNumber(text string) bool {
	text = strings.TrimLeft(strings.TrimSuffix(strings.TrimSpace(text), "%"), "+-$€£")
	if text == "" || len(text) > maxShortNumber {
		return false
	}
	digits := 0
	for i := range len(text) {
		switch c := text[i]; {
		case c >= '0' && c <= '9':
			digits++
		case c != '.' && c != ',':
			return false
		}
	}
	return digits > 0
}

// dateForms are the forms of dates and times that tools use.
var dateForms = []string{
	"2006-01-02", "2006-01-02 15:04", "2006-01-02 15:04:05", "2006-01-02T15:04", "2006-01-02T15:04:05",
	"2006-01-02 15:04:05.999999", "2006-01-02T15:04:05.999999", "2006-01-02T15:04:05Z07:00", "2006/01/02", "2006-01",
	"02.01.2006", "01/02/2006", "15:04", "15:04:05", "3:04 PM", "3 PM", "3:04PM", "3PM", "January 2, 2006",
	"Jan 2, 2006",
	"2 January 2006", "2 Jan 2006", "January 2",
}

var weekdays = map[string]bool{
	"monday": true, "tuesday": true, "wednesday": true, "thursday": true, "friday": true, "saturday": true,
	"sunday": true,
}

// dateWords are the words and letters within dates and times.
var dateWords = map[string]bool{
	"t": true, "z": true, "am": true, "pm": true, "jan": true, "january": true, "feb": true, "february": true,
	"mar": true, "march": true, "apr": true, "april": true, "may": true, "jun": true, "june": true, "jul": true,
	"july": true, "aug": true, "august": true, "sep": true, "september": true, "oct": true, "october": true,
	"nov": true, "november": true, "dec": true, "december": true,
}

// looksLikeDate reports whether a text has only what dates have: most values are told apart without trying each form.
func looksLikeDate(text string) bool {
	for i := range len(text) {
		if c := text[i]; !isNameByte(c) && strings.IndexByte(" .,:/+-", c) < 0 {
			return false
		}
	}
	for word := range strings.FieldsFuncSeq(text, func(r rune) bool { return r < 'A' }) {
		if !dateWords[strings.ToLower(word)] {
			return false
		}
	}
	return true
}

// isDate reports whether a text is a date or a time.
func isDate(text string) bool {
	text = strings.TrimSpace(text)
	if text == "" || len(text) > 40 || !strings.ContainsAny(text, "0123456789") && !weekdays[fold(text)] {
		return false
	}
	if weekdays[fold(text)] {
		return true
	}
	if !looksLikeDate(text) {
		return false
	}
	for _, form := range dateForms {
		if _, err := time.Parse(form, text); err == nil {
			return true
		}
	}
	return false
}
