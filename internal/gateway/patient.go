package gateway

import (
	"net/http"
	"time"
)

// patience is how long a client may take to read a part of an answer.
const patience = 10 * time.Second

// patient writes answers of any length: the server's own limits are for requests that end soon.
type patient struct {
	http.ResponseWriter
	controller *http.ResponseController
}

func newPatient(w http.ResponseWriter) *patient {
	return &patient{w, http.NewResponseController(w)}
}

// listen lifts the limit on reading the request, which is read: the connection stays to tell when the client leaves.
func (p *patient) listen() { _ = p.controller.SetReadDeadline(time.Time{}) }

// Write writes a part.
func (p *patient) Write(part []byte) (int, error) {
	_ = p.controller.SetWriteDeadline(time.Now().Add(patience))
	return p.ResponseWriter.Write(part)
}

// FlushError sends what was written.
func (p *patient) FlushError() error {
	_ = p.controller.SetWriteDeadline(time.Now().Add(patience))
	return p.controller.Flush()
}

// Flush sends what was written.
func (p *patient) Flush() { _ = p.FlushError() }
