package mail

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"mime"
	netmail "net/mail"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"writ/internal/fault"
	"writ/internal/secret"
)

// outboxSuffix ends the name of every finished mail. Mail programs open it.
const outboxSuffix = ".eml"

// Outbox writes each mail to a file of its own, which only the owner of the process may read. A file appears complete
// or not at all.
type Outbox struct {
	dir     string
	from    *netmail.Address
	log     *slog.Logger
	now     func() time.Time
	written atomic.Uint64 // orders mails of the same moment
}

// NewOutbox creates the folder if needed, readable only for its owner. An existing folder keeps its mode.
func NewOutbox(dir, from string, log *slog.Logger, now func() time.Time) (*Outbox, error) {
	address, err := parseFrom(from)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make outbox folder: %w", err)
	}
	return &Outbox{dir: dir, from: address, log: log, now: now}, nil
}

// Send writes the mail, and logs its file but not its content.
func (o *Outbox) Send(ctx context.Context, m Message) error {
	if err := m.validate(); err != nil {
		return err
	}
	now := o.now().UTC()
	name := fmt.Sprintf("%s-%06d-%s%s",
		now.Format("20060102T150405.000000000Z"), o.written.Add(1), secret.Token("").Reveal()[:16], outboxSuffix)
	path := filepath.Join(o.dir, name)
	if err := writeFile(path, o.encode(m, now)); err != nil {
		return fault.Wrap(fmt.Errorf("write outbox file: %w", err), fault.Unavailable, notSent)
	}
	o.log.InfoContext(ctx, "mail written to the outbox", "file", path)
	return nil
}

// encode leaves the text unencoded (8bit), so that a developer can copy a long link out of the file.
func (o *Outbox) encode(m Message, now time.Time) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "From: %s\r\n", o.from)
	fmt.Fprintf(&b, "To: %s\r\n", m.To)
	fmt.Fprintf(&b, "Subject: %s\r\n", mime.QEncoding.Encode("utf-8", m.Subject))
	fmt.Fprintf(&b, "Date: %s\r\n", now.Format(time.RFC1123Z))
	b.WriteString("MIME-Version: 1.0\r\n")
	b.WriteString("Content-Type: text/plain; charset=utf-8\r\n")
	b.WriteString("Content-Transfer-Encoding: 8bit\r\n\r\n")
	b.WriteString(strings.ReplaceAll(m.Text, "\n", "\r\n"))
	return b.Bytes()
}

// writeFile writes a temporary file and renames it. The temporary name begins with a dot, and its mode is 0600.
func writeFile(path string, content []byte) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), ".unfinished-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			os.Remove(f.Name())
		}
	}()
	if _, err := f.Write(content); err != nil {
		f.Close()
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// ReadOutbox reads the mails of an outbox folder, the oldest first.
func ReadOutbox(dir string) ([]Message, error) {
	entries, err := os.ReadDir(dir) // sorted by name, which begins with the time
	if err != nil {
		return nil, fmt.Errorf("read outbox: %w", err)
	}
	var messages []Message
	for _, entry := range entries {
		if !strings.HasSuffix(entry.Name(), outboxSuffix) {
			continue
		}
		m, err := readMessage(filepath.Join(dir, entry.Name()))
		if err != nil {
			return nil, fmt.Errorf("read outbox file %s: %w", entry.Name(), err)
		}
		messages = append(messages, m)
	}
	return messages, nil
}

func readMessage(path string) (Message, error) {
	f, err := os.Open(path)
	if err != nil {
		return Message{}, err
	}
	defer f.Close()
	letter, err := netmail.ReadMessage(f)
	if err != nil {
		return Message{}, err
	}
	subject, err := new(mime.WordDecoder).DecodeHeader(letter.Header.Get("Subject"))
	if err != nil {
		return Message{}, fmt.Errorf("decode subject: %w", err)
	}
	text, err := io.ReadAll(letter.Body)
	if err != nil {
		return Message{}, err
	}
	return Message{
		To:      letter.Header.Get("To"),
		Subject: subject,
		Text:    strings.ReplaceAll(string(text), "\r\n", "\n"),
	}, nil
}
