package cli

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// IsTerminal reports whether a stream shows what is written to a person. Streams of tests are none.
func IsTerminal(stream any) bool {
	file, ok := stream.(*os.File)
	if !ok {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// colours reports whether to colour what is written there. NO_COLOR and dumb terminals want none.
func colours(out io.Writer) bool {
	return IsTerminal(out) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

// Codes that change how a terminal writes.
const (
	plain, bold        = "\x1b[0m", "\x1b[1m"
	red, green, yellow = "\x1b[31m", "\x1b[32m", "\x1b[33m"
)

// codeOf is the colour of a word that says how something stands; empty: none.
func codeOf(word string) string {
	switch word {
	case "allow", "ok", "active", "approved", "ready", "delivered", "completed":
		return green
	case "deny", "denied", "error", "rejected", "killed", "dead", "failed", "critical", "high", "revoked":
		return red
	case "hold", "ask", "pending", "suspended", "waiting", "expired", "medium", "draft":
		return yellow
	}
	return ""
}

// coloured is a word in its colour, if the stream takes colours.
func coloured(word string, on bool) string {
	if code := codeOf(word); on && code != "" {
		return code + word + plain
	}
	return word
}

// WriteText writes a text of somebody else: byte for byte into a file, and on a terminal without what could steer it.
func WriteText(out io.Writer, text string) error {
	if IsTerminal(out) {
		text = Printable(text)
	}
	_, err := io.WriteString(out, text)
	return err
}

// progressEvery is how often a line of progress changes.
const progressEvery = 200 * time.Millisecond

// Progress shows how far long work has come, on one line that changes. Where nobody looks it shows nothing.
type Progress struct {
	out   io.Writer
	on    bool
	shown time.Time
	width int
}

// NewProgress makes the progress of one piece of work.
func NewProgress(s Streams) *Progress { return &Progress{out: s.Err, on: IsTerminal(s.Err)} }

// Say replaces the line.
func (p *Progress) Say(format string, args ...any) {
	if !p.on || time.Since(p.shown) < progressEvery {
		return
	}
	p.shown = time.Now()
	line := Line(fmt.Sprintf(format, args...))
	blank := strings.Repeat(" ", max(p.width-len([]rune(line)), 0))
	p.width = len([]rune(line))
	fmt.Fprintf(p.out, "\r%s%s", line, blank)
}

// End takes the line away.
func (p *Progress) End() {
	if p.width > 0 {
		fmt.Fprintf(p.out, "\r%s\r", strings.Repeat(" ", p.width))
		p.width = 0
	}
}
