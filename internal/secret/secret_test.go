package secret_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"strings"
	"testing"

	"writ/internal/secret"
)

func TestTextNeverShowsItself(t *testing.T) {
	t.Parallel()
	const value = "hunter2-hunter2"
	text := secret.NewText(value)
	holder := struct{ Password secret.Text }{text}
	encoded, err := json.Marshal(holder)
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "password", text, "holder", holder)
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", "password", text, "holder", holder)
	shown := fmt.Sprintf("%v %+v %#v %s %q %v %+v %#v", text, text, text, text, text, holder, holder, holder) +
		string(encoded) + log.String()
	if strings.Contains(shown, value) {
		t.Errorf("the secret leaks: %s", shown)
	}
	if text.Reveal() != value {
		t.Error("Reveal does not give the value")
	}
}

func TestLetters(t *testing.T) {
	t.Parallel()
	seen := map[rune]bool{}
	for range 200 {
		code := secret.Letters(8).Reveal()
		if len(code) != 8 || strings.Trim(code, secret.CodeLetters) != "" {
			t.Fatalf("code %q", code)
		}
		for _, letter := range code {
			seen[letter] = true
		}
	}
	if len(seen) != len(secret.CodeLetters) {
		t.Errorf("1600 letters are of %d kinds, want all %d", len(seen), len(secret.CodeLetters))
	}
}

func TestTextEqual(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, value, presented string
		want                   bool
	}{
		{"same", "abc", "abc", true},
		{"other", "abc", "abd", false},
		{"longer", "abc", "abcd", false},
		{"unset equals nothing", "", "", false},
	} {
		if got := secret.NewText(c.value).Equal(c.presented); got != c.want {
			t.Errorf("%s: Equal = %v, want %v", c.name, got, c.want)
		}
	}
}

func TestShapes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, got, pattern string
	}{
		{"token", secret.Token("ak_live_").Reveal(), `^ak_live_[0-9a-f]{64}$`},
		{"digits", secret.Digits(6).Reveal(), `^[0-9]{6}$`},
		{"password", secret.Password(20).Reveal(), `^[A-Za-z2-9]{20}$`},
	} {
		if !regexp.MustCompile(c.pattern).MatchString(c.got) {
			t.Errorf("%s = %q, want %s", c.name, c.got, c.pattern)
		}
	}
	if first, second := secret.Token(""), secret.Token(""); first == second {
		t.Error("two tokens are the same")
	}
}

func TestSeal(t *testing.T) {
	t.Parallel()
	key, err := secret.ParseMasterKey(secret.NewMasterKey().Reveal())
	if err != nil {
		t.Fatal(err)
	}
	sealer, err := secret.NewSealer(key)
	if err != nil {
		t.Fatal(err)
	}
	sealed := sealer.Seal("row/1", []byte("plain"))
	if bytes.Contains(sealed, []byte("plain")) {
		t.Error("sealed bytes show the plain text")
	}
	if got, err := sealer.Open("row/1", sealed); err != nil || string(got) != "plain" {
		t.Errorf("Open = %q, %v", got, err)
	}
	altered := bytes.Clone(sealed)
	altered[len(altered)-1] ^= 1
	other, _ := secret.NewSealer(bytes.Repeat([]byte{7}, secret.MasterKeySize))
	for name, open := range map[string]func() ([]byte, error){
		"another context":    func() ([]byte, error) { return sealer.Open("row/2", sealed) },
		"altered":            func() ([]byte, error) { return sealer.Open("row/1", altered) },
		"too short":          func() ([]byte, error) { return sealer.Open("row/1", sealed[:5]) },
		"another master key": func() ([]byte, error) { return other.Open("row/1", sealed) },
	} {
		if _, err := open(); !errors.Is(err, secret.ErrSealBroken) {
			t.Errorf("%s: err = %v, want ErrSealBroken", name, err)
		}
	}
}

func TestParseMasterKeyRefusesOtherLengths(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "short", strings.Repeat("ab", 31), strings.Repeat("zz", 32)} {
		if _, err := secret.ParseMasterKey(text); err == nil {
			t.Errorf("ParseMasterKey(%q) accepted", text)
		}
	}
	if _, err := secret.ParseMasterKey(strings.Repeat("ab", 32)); err != nil {
		t.Errorf("hex refused: %v", err)
	}
	if _, err := secret.NewSealer([]byte("short")); err == nil {
		t.Error("a short key makes a sealer")
	}
}
