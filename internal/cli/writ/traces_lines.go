package writ

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// exportEnd is what the last line of an export says.
type exportEnd struct {
	Complete bool   `json:"complete"`
	Lines    int64  `json:"lines"`
	Message  string `json:"message,omitempty"`
	Cursor   string `json:"cursor,omitempty"`
}

// exportLines joins the parts of an export: one header, and one last line that counts
// the lines of all parts.
type exportLines struct {
	out   io.Writer
	csv   bool
	begun bool // the header is written
	lines int64
	told  func(lines int64) // is told how many there are so far; nil: nobody is
}

// How the last line begins, and no other: a line begins with an id, and a quote
// within a cell is doubled.
var (
	endOfLines = []byte(`{"end":`)
	endOfTable = [][]byte{[]byte(`"# complete",`), []byte(`"# cut",`)}
)

// maxEnd bounds the last line; the others can be as long as a trace.
const maxEnd = 64 << 10

// copy copies a part without its last line, and returns what that says. Without a
// last line the part is cut off, and the error may say why.
func (l *exportLines) copy(part io.Reader) (exportEnd, error) {
	reader := bufio.NewReaderSize(part, maxEnd)
	if l.csv && l.begun {
		if err := copyLine(io.Discard, reader); err != nil {
			return exportEnd{}, err
		}
	}
	l.begun = true
	for copied := int64(0); ; {
		start, err := reader.Peek(len(endOfTable[0]))
		if len(start) == 0 {
			if err == io.EOF {
				err = nil // it ended without a last line
			}
			return exportEnd{}, err
		}
		if l.isEnd(start) {
			return l.finish(reader)
		}
		if err := copyLine(l.out, reader); err != nil {
			return exportEnd{}, err
		}
		if copied++; l.told != nil {
			l.told(l.lines + copied)
		}
	}
}

func (l *exportLines) isEnd(start []byte) bool {
	if !l.csv {
		return bytes.HasPrefix(start, endOfLines)
	}
	return bytes.HasPrefix(start, endOfTable[0]) || bytes.HasPrefix(start, endOfTable[1])
}

// copyLine copies a line of any length, with its line break.
func copyLine(out io.Writer, reader *bufio.Reader) error {
	for {
		some, err := reader.ReadSlice('\n')
		if _, writeErr := out.Write(some); writeErr != nil {
			return fmt.Errorf("write the export: %w", writeErr)
		}
		switch err {
		case nil:
			return nil
		case bufio.ErrBufferFull:
		case io.EOF:
			return io.ErrUnexpectedEOF
		default:
			return err
		}
	}
}

// finish reads the last line, and writes it if the export is complete.
func (l *exportLines) finish(reader *bufio.Reader) (exportEnd, error) {
	line, err := reader.ReadSlice('\n') // no longer than maxEnd
	if err != nil {
		return exportEnd{}, fmt.Errorf("read the last line: %w", err)
	}
	text := string(line)
	end, err := l.parse(text)
	if err != nil {
		return exportEnd{}, fmt.Errorf("read the last line: %w", err)
	}
	l.lines += end.Lines
	if !end.Complete {
		return end, nil
	}
	switch _, err := reader.Peek(1); err {
	case io.EOF:
	case nil:
		return exportEnd{}, errors.New("the server goes on after the last line")
	default:
		return exportEnd{}, err
	}
	_, err = io.WriteString(l.out, l.lastLine(text, end))
	return end, err
}

func (l *exportLines) parse(text string) (exportEnd, error) {
	if !l.csv {
		var last struct {
			End exportEnd `json:"end"`
		}
		err := json.Unmarshal([]byte(text), &last)
		return last.End, err
	}
	cells, err := csv.NewReader(strings.NewReader(text)).Read()
	if err != nil {
		return exportEnd{}, err
	}
	if len(cells) < 4 { // lines, message and cursor follow the first
		return exportEnd{}, errors.New("it is not that of an export")
	}
	lines, err := strconv.ParseInt(cells[1], 10, 64)
	return exportEnd{Complete: cells[0] == "# complete", Lines: lines, Message: cells[2], Cursor: cells[3]}, err
}

// lastLine is the last line of all parts together.
func (l *exportLines) lastLine(text string, end exportEnd) string {
	if l.csv {
		return strings.Replace(text, fmt.Sprintf(",%d,", end.Lines), fmt.Sprintf(",%d,", l.lines), 1)
	}
	return fmt.Sprintf("{\"end\":{\"complete\":true,\"lines\":%d}}\n", l.lines)
}
