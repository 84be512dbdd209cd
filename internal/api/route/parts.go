package route

import (
	"fmt"
	"net/http"
	"time"
)

// PartTimeout is how long a reader may take for a part of a long answer, whose whole may take longer than the server
// gives other answers.
const PartTimeout = 30 * time.Second

// Parts is a long answer that is written in parts, each of which the reader must take in time.
type Parts struct {
	w          http.ResponseWriter
	controller *http.ResponseController
}

// NewParts begins a long answer. It lifts the server's own limit, which is for requests that end soon: when that is
// reached in the middle of an answer, it is taken for a reader who left.
func NewParts(w http.ResponseWriter) (*Parts, error) {
	p := &Parts{w: w, controller: http.NewResponseController(w)}
	if err := p.controller.SetReadDeadline(time.Time{}); err != nil {
		return nil, fmt.Errorf("begin a long answer: %w", err)
	}
	return p, nil
}

func (p *Parts) Write(part []byte) (int, error) {
	if err := p.controller.SetWriteDeadline(time.Now().Add(PartTimeout)); err != nil {
		return 0, fmt.Errorf("write a part of a long answer: %w", err)
	}
	n, err := p.w.Write(part)
	if err != nil {
		return n, fmt.Errorf("write a part of a long answer: %w", err)
	}
	return n, nil
}

// Flush sends what was written.
func (p *Parts) Flush() error { return p.controller.Flush() }
