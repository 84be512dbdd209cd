// Package transcript reads from the host's own record of a session how many tokens a turn took. Nothing else of the
// record is kept.
//
// The record is a file of lines, each a JSON object: messages, and changes of what describes the session. The host
// writes a message again when it learns more about it, so the last line of an id counts. The agent can write the file
// too. So it is read within limits, lines that cannot be read are passed over, and its figures are what the host says.
package transcript

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"time"

	"writ/internal/hook/private"
)

// Limits of what is read.
const (
	maxRead     = 64 << 20 // bytes of a turn
	maxLine     = 4 << 20  // longer lines are passed over
	maxMessages = 10_000   // of a turn
	maxModel    = 200      // bytes of a model's name
	maxRequests = 200      // that are told apart
	maxTokens   = 1e12     // of a message
)

// Request is one answer of a model. Input includes Cached, as the vendor counts.
type Request struct {
	Model  string
	At     time.Time
	Input  int64
	Output int64 // with what the model thought
	Cached int64
}

// Turn is what the host recorded of a turn.
type Turn struct {
	Requests []Request // at most 200: the tokens of further ones are added to the last of the same model
	Cut      bool      // there is more than was read
}

// Size is how long a transcript is now: where the next turn begins in it. A transcript that cannot be read has none.
func Size(path string) int64 {
	file, err := open(path)
	if err != nil {
		return 0
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return 0
	}
	return info.Size()
}

// Read reads a turn that begins at an offset and at a time.
func Read(path string, offset int64, since time.Time) (Turn, error) {
	file, err := open(path)
	if err != nil {
		return Turn{}, err
	}
	defer file.Close()
	if offset < 0 {
		return Turn{}, errors.New("the offset must not be negative")
	}
	if _, err := file.Seek(offset, io.SeekStart); err != nil {
		return Turn{}, errors.New("the transcript cannot be read where the turn begins")
	}
	return read(file, since), nil
}

// open opens a transcript: a file where the host keeps them, and no link or pipe in its place.
func open(path string) (*os.File, error) {
	name := filepath.Base(path)
	if !filepath.IsAbs(path) || filepath.Base(filepath.Dir(path)) != "chats" ||
		!strings.HasPrefix(name, "session-") || !strings.HasSuffix(name, ".jsonl") {
		return nil, errors.New("the path is not that of a transcript: .../chats/session-*.jsonl")
	}
	file, err := private.Open(path, os.O_RDONLY)
	if err != nil {
		return nil, fmt.Errorf("the transcript cannot be opened: %w", err)
	}
	return file, nil
}

// message is what counts of a line.
type message struct {
	ID        string    `json:"id"`
	Type      string    `json:"type"`
	Timestamp time.Time `json:"timestamp"`
	Model     string    `json:"model"`
	Tokens    *tokens   `json:"tokens"`
}

type tokens struct {
	Input    count `json:"input"`
	Output   count `json:"output"`
	Cached   count `json:"cached"`
	Thoughts count `json:"thoughts"`
	Tool     count `json:"tool"` // of prompts that tools of the vendor made; not in input
}

// count is a number of tokens. What is no such number counts as none.
type count int64

// UnmarshalJSON never fails: one bad figure must not hide the others.
func (c *count) UnmarshalJSON(text []byte) error {
	var number float64
	if json.Unmarshal(text, &number) == nil && number >= 0 && number <= maxTokens {
		*c = count(math.Round(number))
	}
	return nil
}

func read(in io.Reader, since time.Time) Turn {
	limited := &io.LimitedReader{R: in, N: maxRead}
	lines := lines{in: bufio.NewReaderSize(limited, 64<<10)}
	last, order := map[string]message{}, []string{}
	var turn Turn
	for {
		line, err := lines.next()
		if m, ok := parse(line); ok && !m.Timestamp.Before(since) {
			if _, known := last[m.ID]; !known {
				if len(order) == maxMessages {
					turn.Cut = true
					break
				}
				order = append(order, m.ID)
			}
			last[m.ID] = m
		}
		if err != nil {
			break
		}
	}
	turn.Cut = turn.Cut || limited.N == 0 || lines.passed > 0
	for _, id := range order {
		turn.add(last[id])
	}
	return turn
}

// parse reads a line that is a message of a model with its tokens.
func parse(line []byte) (m message, ok bool) {
	if !bytes.HasPrefix(bytes.TrimSpace(line), []byte("{")) || json.Unmarshal(line, &m) != nil {
		return m, false
	}
	return m, m.Type == "gemini" && m.ID != "" && len(m.ID) <= maxModel && m.Tokens != nil
}

func (t *Turn) add(m message) {
	model := strings.ToValidUTF8(m.Model, "")
	if len(model) > maxModel || strings.ContainsFunc(model, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		model = ""
	}
	at := len(t.Requests)
	if at < maxRequests {
		t.Requests = append(t.Requests, Request{Model: model, At: m.Timestamp})
	} else {
		at--
		for at > 0 && t.Requests[at].Model != model {
			at--
		}
	}
	r := &t.Requests[at]
	r.Input += int64(m.Tokens.Input) + int64(m.Tokens.Tool)
	r.Output += int64(m.Tokens.Output) + int64(m.Tokens.Thoughts)
	r.Cached += int64(m.Tokens.Cached)
}

// lines reads lines of bounded length.
type lines struct {
	in     *bufio.Reader
	line   []byte
	passed int // lines that were too long
}

// next is the next line, empty if it is too long. With an error it is the last.
func (l *lines) next() ([]byte, error) {
	l.line = l.line[:0]
	long := false
	for {
		part, err := l.in.ReadSlice('\n')
		if long = long || len(l.line)+len(part) > maxLine; !long {
			l.line = append(l.line, part...)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if long {
			l.passed++
			return nil, err
		}
		return l.line, err
	}
}
