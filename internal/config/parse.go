package config

import (
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"writ/internal/secret"
)

// The parsers of this package say what they expect and never what they got.

// wholeNumber reads a decimal number in a range, without sign or leading zeros.
func wholeNumber(least, most int64) func(string) (int64, error) {
	return func(text string) (int64, error) {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || strconv.FormatInt(n, 10) != text || n < least || n > most {
			return 0, fmt.Errorf("must be a whole number from %d to %d", least, most)
		}
		return n, nil
	}
}

// oneOf reads one word of a closed list.
func oneOf[T ~string](words ...T) func(string) (T, error) {
	return func(text string) (T, error) {
		var names []string
		for _, word := range words {
			if text == string(word) {
				return word, nil
			}
			names = append(names, string(word))
		}
		last := len(names) - 1
		return "", fmt.Errorf("must be %s or %s", strings.Join(names[:last], ", "), names[last])
	}
}

// listOf reads items separated by commas, and reports every bad one.
func listOf[T any](parse func(string) (T, error)) func(string) ([]T, error) {
	return func(text string) ([]T, error) {
		var items []T
		var wrong []string
		for i, word := range strings.Split(text, ",") {
			item, err := parse(strings.TrimSpace(word))
			if err != nil {
				wrong = append(wrong, fmt.Sprintf("item %d %v", i+1, err))
			}
			items = append(items, item)
		}
		if wrong != nil {
			return nil, errors.New(strings.Join(wrong, "; "))
		}
		return items, nil
	}
}

func parseLogLevel(text string) (slog.Level, error) {
	word, err := oneOf("debug", "info", "warn", "error")(text)
	if err != nil {
		return 0, err
	}
	var level slog.Level
	err = level.UnmarshalText([]byte(word))
	return level, err
}

// token reads a secret that is sent in an HTTP header, so it must be visible ASCII.
func token(least int) func(string) (secret.Text, error) {
	return func(text string) (secret.Text, error) {
		invisible := func(c rune) bool { return c <= ' ' || c > '~' }
		if len(text) < least || strings.ContainsFunc(text, invisible) {
			return secret.Text{}, fmt.Errorf("must be at least %d characters, all visible ASCII without spaces", least)
		}
		return secret.NewText(text), nil
	}
}

// WitnessToken reads the token of a witness, for the server that sends it and for the witness.
func WitnessToken(text string) (secret.Text, error) { return token(16)(text) }

// strongToken is token for one that nobody must guess, and nobody chooses by themselves.
func strongToken(least int) func(string) (secret.Text, error) {
	return func(text string) (secret.Text, error) {
		read, err := token(least)(text)
		if err == nil && isWeak(text) {
			return secret.Text{}, errors.New("is easily guessed: make one, such as with `openssl rand -hex 32`")
		}
		return read, err
	}
}

// placeholders are in texts that stand for a secret until somebody replaces them.
var placeholders = []string{"changeme", "change-me", "change_me", "placeholder", "your-token", "your_token", "password"}

// isWeak reports whether a text repeats itself, has few different characters, or stands for a secret.
func isWeak(text string) bool {
	different := map[rune]bool{}
	for _, c := range text {
		different[c] = true
	}
	repeats := strings.Contains((text + text)[1:2*len(text)-1], text)
	lower := strings.ToLower(text)
	return len(different) < 10 || repeats ||
		slices.ContainsFunc(placeholders, func(word string) bool { return strings.Contains(lower, word) })
}

// webURL reads the base URL of an API, such as the example.
func webURL(example string) func(string) (string, error) {
	return func(text string) (string, error) {
		u, err := url.Parse(text)
		if err != nil || u.Host == "" || u.User != nil || u.Scheme != "https" && u.Scheme != "http" ||
			u.RawQuery != "" || u.Fragment != "" {
			return "", errors.New("must be a URL such as " + example)
		}
		return text, nil
	}
}

// parseWitnessURL reads the address of a witness, which may hold a secret.
func parseWitnessURL(text string) (secret.Text, error) {
	u, err := url.Parse(text)
	if err != nil || u.Hostname() == "" || u.User != nil || u.Scheme != "https" && u.Scheme != "http" ||
		strings.Contains(text, "#") {
		return secret.Text{}, errors.New("must be a URL such as https://witness.example.com/checkpoints, without a user name")
	}
	return secret.NewText(text), nil
}

func parseMasterKey(text string) (secret.Text, error) {
	if _, err := secret.ParseMasterKey(text); err != nil {
		return secret.Text{}, errors.New("must be 32 bytes as base64 or as 64 hex digits")
	}
	return secret.NewText(text), nil
}

func parseDatabaseURL(text string) (secret.Text, error) {
	u, err := url.Parse(text)
	// After a raw #, @, / or ? parts of a password would be taken for the host or the database, and stand in messages.
	_, authority, _ := strings.Cut(text, "://")
	authority, query, _ := strings.Cut(authority, "?")
	authority, name, _ := strings.Cut(authority, "/")
	if err != nil || u.Opaque != "" || u.Scheme != "postgres" && u.Scheme != "postgresql" ||
		strings.Contains(text, "#") || strings.Contains(name, "@") || strings.Count(authority, "@") > 1 ||
		strings.Contains(query, "@") && !strings.Contains(authority, "@") {
		return secret.Text{}, errors.New("must be a postgres:// or postgresql:// URL (with special characters of the password percent-encoded)")
	}
	return secret.NewText(text), nil
}
