package ledger

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// A witness keeps the checkpoints that it has seen in a file: one JSON object a line, in
// the order in which they came.

// Sighting is a line of a witness's file.
type Sighting struct {
	SeenAt     string `json:"seenAt"` // RFC 3339, by the clock of the witness
	Checkpoint string `json:"checkpoint"`
}

// Encode gives the line.
func (s Sighting) Encode() ([]byte, error) {
	line, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("encode a checkpoint for the witness: %w", err)
	}
	return append(line, '\n'), nil
}

// maxSighting is how long a line of a witness may be.
const maxSighting = 64 << 10

// ReadSightings reads the file of a witness. A line that a crash has cut off does not
// count.
func ReadSightings(r io.Reader, each func(Sighting) error) error {
	lines := bufio.NewReaderSize(r, maxSighting)
	for number := 1; ; number++ {
		text, err := lines.ReadSlice('\n')
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case errors.Is(err, bufio.ErrBufferFull):
			return fmt.Errorf("line %d of the witness is too long", number)
		case err != nil:
			return fmt.Errorf("read the witness: %w", err)
		}
		var s Sighting
		err = json.Unmarshal(text, &s)
		if _, cut := errors.AsType[*jsontext.SyntacticError](err); cut {
			continue
		}
		if err != nil || strings.TrimSpace(s.Checkpoint) == "" {
			return fmt.Errorf("line %d of the witness is not a checkpoint that was seen", number)
		}
		if err := each(s); err != nil {
			return err
		}
	}
}
