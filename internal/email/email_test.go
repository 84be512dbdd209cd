package email_test

import (
	"errors"
	"net/mail"
	"strings"
	"testing"

	"writ/internal/email"
	"writ/internal/fault"
)

// longest has the given number of bytes.
func longest(bytes int) string {
	const domain = "@example.org"
	return strings.Repeat("a", bytes-len(domain)) + domain
}

func TestNormalise(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, give, want string }{
		{"bare", "name@example.org", "name@example.org"},
		{"upper case", "Name.Last+Tag@EXAMPLE.Org", "name.last+tag@example.org"},
		{"space around", " \t name@example.org\r\n", "name@example.org"},
		{"beyond ASCII", "NÄME@exämple.org", "näme@exämple.org"},
		{"one label", "root@localhost", "root@localhost"},
		{"longest", longest(254), longest(254)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := email.Normalise(tt.give)
			if err != nil || got != tt.want {
				t.Errorf("Normalise(%q) = %q, %v; want %q", tt.give, got, err, tt.want)
			}
		})
	}
}

func TestNormaliseRefuses(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, give string }{
		{"nothing", ""},
		{"spaces", "   "},
		{"no domain", "name"},
		{"empty domain", "name@"},
		{"empty local part", "@example.org"},
		{"with a name", "Name <name@example.org>"},
		{"in brackets", "<name@example.org>"},
		{"with a comment", "name@example.org (Name)"},
		{"quoted", `"name"@example.org`},
		{"quoted space", `"na me"@example.org`},
		{"space inside", "name @example.org"},
		{"two", "name@example.org, other@example.org"},
		{"group", "all: name@example.org;"},
		{"two at signs", "name@other@example.org"},
		{"header after it", "name@example.org\r\nBcc: other@example.org"},
		{"line feed inside quotes", "\"name\n\"@example.org"},
		{"NUL", "name\x00@example.org"},
		{"zero-width space", "na\u200bme@example.org"},
		{"no-break space", "na\u00a0me@example.org"},
		{"right-to-left override", "na\u202eme@example.org"},
		{"line separator", "na\u2028me@example.org"},
		{"not UTF-8", "na\xffme@example.org"},
		{"too long", longest(255)},
		{"too long in lower case", strings.Repeat("Ⱥ", 121) + "@example.org"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := email.Normalise(tt.give)
			f, ok := errors.AsType[*fault.Error](err)
			if !ok || f.Kind != fault.Invalid || len(f.Details) != 1 || f.Details[0].Field != "email" {
				t.Errorf("Normalise(%q) = %q, %#v; want an Invalid fault about email", tt.give, got, err)
			}
			if got != "" {
				t.Errorf("Normalise(%q) = %q beside the fault", tt.give, got)
			}
		})
	}
}

func FuzzNormalise(f *testing.F) {
	for _, seed := range []string{
		"", "name@example.org", " Name@EXAMPLE.org\n", "Name <name@example.org>", `"a b"@example.org`,
		"a@[127.0.0.1]", "name@example.org (x)", "ȺİK@example.org", "\xff@example.org", "a@b\r\nBcc: c@d",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := email.Normalise(text)
		if err != nil {
			if !fault.Is(err, fault.Invalid) || got != "" {
				t.Fatalf("Normalise(%q) = %q, %v; want nothing and an Invalid fault", text, got, err)
			}
			return
		}
		if again, err := email.Normalise(got); err != nil || again != got {
			t.Fatalf("Normalise(%q) = %q, whose own spelling is %q, %v", text, got, again, err)
		}
		parsed, err := mail.ParseAddress(got)
		if err != nil || parsed.Address != got || parsed.Name != "" {
			t.Fatalf("Normalise(%q) = %q, which parses to %v, %v", text, got, parsed, err)
		}
		if len(got) > 254 || strings.ToLower(got) != got || strings.ContainsAny(got, " \t\r\n\x00<>\"(),;") {
			t.Fatalf("Normalise(%q) = %q, which is not bare, in lower case and short", text, got)
		}
	})
}
