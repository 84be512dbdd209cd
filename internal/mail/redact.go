package mail

import (
	"errors"
	"strings"
	"unicode"
)

// minCodeLength is the length from which a word of a mail may be a code, in bytes.
const minCodeLength = 6

// redact removes secrets from an error, because mail servers quote what they were sent. An error without secrets is
// returned as it is; any other loses its chain, which would still contain the secret.
func redact(err error, secrets []string) error {
	text := err.Error()
	clean := text
	for _, s := range secrets {
		if s != "" {
			clean = strings.ReplaceAll(clean, s, "[redacted]")
		}
	}
	if clean == text {
		return err
	}
	return errors.New(clean)
}

// codes are the words of a mail that could let their reader in: a sign-up code, the token of a link. Ordinary long
// words contain no digits.
func (m Message) codes() []string {
	words := strings.FieldsFunc(m.Subject+" "+m.Text, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
	var codes []string
	for _, word := range words {
		if len(word) >= minCodeLength && strings.ContainsFunc(word, unicode.IsDigit) {
			codes = append(codes, word)
		}
	}
	return codes
}
