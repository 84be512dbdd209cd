package ledger

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"writ/internal/canonical"
)

// An export is text, a line ending in \n each: the header, then one line an
// entry, in order and without gaps, as many as the header's checkpoint says.
// Every line has exactly one spelling, so that no byte of it can change unseen.

// Header is the first line of an export.
type Header struct {
	Version    int    `json:"v"`
	From       int64  `json:"from"`       // the first entry that follows
	Frontier   []Hash `json:"frontier"`   // of the entries before it
	Checkpoint string `json:"checkpoint"` // of the whole log
	// Key is the public key the checkpoint is signed with, for convenience: a verifier
	// that trusts it checks only that the file is whole.
	Key string `json:"key"`
	// WithoutPayloads: the export is for a reader who may not see payloads, so that a
	// payload which is not there says nothing about its erasure.
	WithoutPayloads bool `json:"withoutPayloads,omitzero"`
}

// NewHeader makes the header of an export that begins after a frontier.
func NewHeader(before Frontier, checkpoint, key string) Header {
	return Header{From: before.size, Frontier: before.roots, Checkpoint: checkpoint, Key: key}
}

// Encode gives the header's line.
func (h Header) Encode() ([]byte, error) {
	h.Version = version
	text, err := canonical.Marshal(h)
	if err != nil {
		return nil, fmt.Errorf("encode the header: %w", err)
	}
	return append(text, '\n'), nil
}

func parseHeader(line []byte) (Header, error) {
	var h Header
	if err := json.Unmarshal(line, &h, json.RejectUnknownMembers(true)); err != nil {
		return Header{}, fmt.Errorf("this is not an export of an audit log: %w", quiet(err))
	}
	if h.Version != version {
		return Header{}, fmt.Errorf("the export has version %d, and this program knows version %d", h.Version, version)
	}
	again, err := h.Encode()
	if err != nil || !bytes.Equal(again, append(bytes.Clone(line), '\n')) {
		return Header{}, errors.New("the header is not in its canonical form")
	}
	return h, nil
}

// before is the frontier that the header gives.
func (h Header) before() (Frontier, error) {
	var packed bytes.Buffer
	for _, hash := range h.Frontier {
		packed.Write(hash[:])
	}
	return UnpackFrontier(h.From, packed.Bytes())
}

// AppendLine appends the line of an entry: the canonical bytes of its record, and of
// payload and salt, if there are any.
func AppendLine(dst, record, payload, salt []byte) []byte {
	dst = append(dst, '{')
	if len(payload) > 0 {
		dst = append(append(append(dst, `"payload":`...), payload...), ',')
	}
	dst = append(append(dst, `"record":`...), record...)
	if len(payload) > 0 {
		dst = append(dst, `,"salt":"`...)
		dst = append(hex.AppendEncode(dst, salt), '"')
	}
	return append(dst, '}', '\n')
}

// line is an entry in an export.
type line struct {
	record  []byte
	payload []byte // nil: absent
	salt    []byte
}

// parseLine reads what AppendLine wrote, and refuses any other spelling of it.
func parseLine(text []byte) (line, error) {
	var raw struct {
		Payload jsontext.Value `json:"payload"`
		Record  jsontext.Value `json:"record"`
		Salt    string         `json:"salt"`
	}
	if err := json.Unmarshal(text, &raw, json.RejectUnknownMembers(true)); err != nil {
		return line{}, fmt.Errorf("the line cannot be read: %w", quiet(err))
	}
	salt, err := hex.DecodeString(raw.Salt)
	if err != nil || raw.Salt != strings.ToLower(raw.Salt) {
		return line{}, errors.New("the salt is not lower-case hex")
	}
	l := line{record: raw.Record, payload: raw.Payload, salt: salt}
	if l.payload != nil { // ParseRecord does the same for the record
		if again, err := canonical.Transform(l.payload); err != nil || !bytes.Equal(again, l.payload) {
			return line{}, errors.New("the payload is not in its canonical form")
		}
	}
	if again := AppendLine(nil, l.record, l.payload, l.salt); !bytes.Equal(again[:len(again)-1], text) {
		return line{}, errors.New("the line is not in its canonical form")
	}
	return l, nil
}

// check reads the line's record and checks the payload against it.
func (l line) check() (r Record, erased bool, err error) {
	if r, err = ParseRecord(l.record); err != nil {
		return Record{}, false, err
	}
	switch {
	case l.payload == nil:
		return r, r.Payload != "", nil
	case r.Payload == "":
		return Record{}, false, errors.New("there is a payload that the record knows nothing of")
	case len(l.salt) != SaltSize || Commitment(l.salt, l.payload) != r.Payload:
		return Record{}, false, errors.New("the payload is not the one that the record commits to")
	}
	return r, false, nil
}
