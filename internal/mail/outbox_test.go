package mail_test

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"writ/internal/fault"
	"writ/internal/mail"
)

func newOutbox(t testing.TB, dir string, log *slog.Logger) *mail.Outbox {
	t.Helper()
	outbox, err := mail.NewOutbox(dir, "Writ <writ@example.org>", log, fixedNow)
	if err != nil {
		t.Fatalf("NewOutbox: %v", err)
	}
	return outbox
}

func TestOutboxFile(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data", "outbox")
	outbox := newOutbox(t, dir, slog.New(slog.DiscardHandler))
	if err := outbox.Send(t.Context(), welcome); err != nil {
		t.Fatalf("Send: %v", err)
	}
	folder, err := os.Stat(dir)
	if err != nil {
		t.Fatal(err)
	}
	if got := folder.Mode().Perm(); got != 0o700 {
		t.Errorf("folder mode = %o, want 700", got)
	}
	name := onlyFile(t, dir)
	if !strings.HasPrefix(name, "20260304T050607.000000000Z-000001-") || !strings.HasSuffix(name, ".eml") {
		t.Errorf("file name = %q", name)
	}
	file, err := os.Stat(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	if got := file.Mode().Perm(); got != 0o600 {
		t.Errorf("file mode = %o, want 600", got)
	}
	content, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	want := "From: \"Writ\" <writ@example.org>\r\n" +
		"To: ada@example.org\r\n" +
		"Subject: =?utf-8?q?Gr=C3=BC=C3=9Fe:_your_code?=\r\n" +
		"Date: Wed, 04 Mar 2026 05:06:07 +0000\r\n" +
		"MIME-Version: 1.0\r\n" +
		"Content-Type: text/plain; charset=utf-8\r\n" +
		"Content-Transfer-Encoding: 8bit\r\n" +
		"\r\n" +
		"Hello Ada,\r\n.\r\nyour code is 493817.\r\n"
	if diff := cmp.Diff(want, string(content)); diff != "" {
		t.Errorf("file (-want +got):\n%s", diff)
	}
}

// onlyFile also proves that no unfinished file is left.
func onlyFile(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != 1 {
		t.Fatalf("the outbox holds %v, want one file", entries)
	}
	return entries[0].Name()
}

func TestOutboxLogsTheFileOnly(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	dir := t.TempDir()
	outbox := newOutbox(t, dir, slog.New(slog.NewTextHandler(&log, nil)))
	m := welcome
	m.Subject = "771204 is your code"
	if err := outbox.Send(t.Context(), m); err != nil {
		t.Fatalf("Send: %v", err)
	}
	if name := onlyFile(t, dir); !strings.Contains(log.String(), name) ||
		!strings.Contains(log.String(), "level=INFO") {
		t.Errorf("log = %s, want the file's name %s at info", log.String(), name)
	}
	for _, hidden := range []string{"493817", "771204", "Hello", "your code"} {
		if strings.Contains(log.String(), hidden) {
			t.Errorf("the log shows %q: %s", hidden, log.String())
		}
	}
}

func TestOutboxKeepsTheOrder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	outbox := newOutbox(t, dir, slog.New(slog.DiscardHandler)) // its clock stands still
	var want []mail.Message
	for _, subject := range []string{"first", "second", "third", "fourth", "fifth"} {
		m := mail.Message{To: "ada@example.org", Subject: subject, Text: "text of " + subject}
		if err := outbox.Send(t.Context(), m); err != nil {
			t.Fatalf("Send: %v", err)
		}
		want = append(want, m)
	}
	for _, foreign := range []string{".unfinished-1", "notes.txt"} {
		if err := os.WriteFile(filepath.Join(dir, foreign), []byte("half a ma"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := mail.ReadOutbox(dir)
	if err != nil {
		t.Fatalf("ReadOutbox: %v", err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("mails (-want +got):\n%s", diff)
	}
}

func TestOutboxRoundTrips(t *testing.T) {
	t.Parallel()
	visible := rapid.RuneFrom([]rune{' ', '=', '?', ':', '_'}, unicode.L, unicode.N, unicode.P, unicode.S)
	subjects := rapid.Map(rapid.StringOf(visible), strings.TrimSpace).Filter(func(s string) bool {
		return s != "" && !strings.Contains(s, "=?")
	})
	texts := rapid.String().Filter(func(s string) bool { return !strings.Contains(s, "\r") })
	root := t.TempDir()
	rapid.Check(t, func(rt *rapid.T) {
		dir, err := os.MkdirTemp(root, "")
		if err != nil {
			rt.Fatal(err)
		}
		want := mail.Message{
			To: rapid.StringMatching(`[a-zé0-9+._-]?[a-z0-9]{1,70}@[a-z]{1,9}\.example`).Filter(func(s string) bool {
				return s[0] != '.'
			}).Draw(rt, "to"),
			Subject: subjects.Draw(rt, "subject"),
			Text:    texts.Draw(rt, "text"),
		}
		if err := newOutbox(t, dir, slog.New(slog.DiscardHandler)).Send(t.Context(), want); err != nil {
			rt.Fatalf("Send: %v", err)
		}
		got, err := mail.ReadOutbox(dir)
		if err != nil {
			rt.Fatalf("ReadOutbox: %v", err)
		}
		if diff := cmp.Diff([]mail.Message{want}, got); diff != "" {
			rt.Fatalf("mail (-want +got):\n%s", diff)
		}
	})
}

func TestOutboxFailures(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "outbox")
	outbox := newOutbox(t, dir, slog.New(slog.DiscardHandler))
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	err := outbox.Send(t.Context(), welcome)
	checkNotSent(t, err)
	if _, err := mail.ReadOutbox(dir); err == nil {
		t.Error("ReadOutbox of a missing folder gives no error")
	}
	if err := os.WriteFile(dir, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := mail.NewOutbox(dir, "writ@example.org", slog.New(slog.DiscardHandler), fixedNow); err == nil {
		t.Error("NewOutbox accepts a file as its folder")
	}
	if _, err := mail.NewOutbox(t.TempDir(), "writ", slog.New(slog.DiscardHandler), fixedNow); err == nil ||
		fault.Is(err, fault.Unavailable) {
		t.Errorf("NewOutbox with a wrong sender: %v", err)
	}
}
