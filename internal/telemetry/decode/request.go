package decode

import (
	"bytes"
	"errors"
	"io"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"writ/internal/fault"
)

// Request is an ingest request, its batches not yet parsed.
type Request struct {
	Product   string
	SessionID jsontext.Value // of batches without one; they check it
	Batches   []jsontext.Value
}

// ParseRequest splits a request into its batches. Only what concerns the whole request is an error: each batch is read
// strictly by itself.
func ParseRequest(body []byte) (Request, error) {
	// Lenient, because a duplicate name or an invalid character in one batch must not affect the others.
	dec := jsontext.NewDecoder(bytes.NewBuffer(body), jsontext.AllowDuplicateNames(true),
		jsontext.AllowInvalidUTF8(true))
	if dec.PeekKind() != '{' {
		return Request{}, fault.Field("body", "must be a JSON object")
	}
	m, err := readMembers(dec)
	if err != nil {
		return Request{}, err
	}
	r := Request{SessionID: m.sessionID, Batches: m.batches}
	switch {
	case m.seen["orgId"]:
		return Request{}, fault.Field("orgId", "must not be sent: the organization is that of the API key")
	case m.product.Kind() != '"' || json.Unmarshal(m.product, &r.Product) != nil:
		return Request{}, fault.Field("product", "is required and must be a string")
	case len(r.Batches) < 1 || len(r.Batches) > MaxBatches:
		return Request{}, fault.Field("batches", "must be an array of 1-%d batches", MaxBatches)
	}
	return r, nil
}

// requestMembers are the relevant members of a request, as parts of the body.
type requestMembers struct {
	seen               map[string]bool
	product, sessionID jsontext.Value
	batches            []jsontext.Value // none if it is not an array; one more than allowed if there are too many
}

// readMembers reads the members of the request in any order, each at most once.
func readMembers(dec *jsontext.Decoder) (requestMembers, error) {
	malformed := func(err error) (requestMembers, error) {
		malformed := fault.Field("body", "is not valid JSON (at byte %d)", dec.InputOffset())
		malformed.Cause = err
		return requestMembers{}, malformed
	}
	if _, err := dec.ReadToken(); err != nil {
		return malformed(err)
	}
	m := requestMembers{seen: map[string]bool{}}
	for dec.PeekKind() != '}' {
		token, err := dec.ReadToken()
		if err != nil {
			return malformed(err)
		}
		name := token.String()
		if err := m.read(name, dec); err != nil {
			return malformed(err)
		}
		switch name {
		case "orgId", "product", "sessionId", "batches":
			if m.seen[name] {
				return requestMembers{}, fault.Field(name, "appears twice")
			}
			m.seen[name] = true
		}
	}
	if _, err := dec.ReadToken(); err != nil {
		return malformed(err)
	}
	if _, err := dec.ReadToken(); !errors.Is(err, io.EOF) {
		return malformed(err)
	}
	return m, nil
}

func (m *requestMembers) read(name string, dec *jsontext.Decoder) (err error) {
	switch {
	case name == "product":
		m.product, err = dec.ReadValue()
	case name == "sessionId":
		m.sessionID, err = dec.ReadValue()
	case name == "batches" && dec.PeekKind() == '[':
		m.batches, err = readElements(dec)
	default:
		err = dec.SkipValue()
	}
	return err
}

// readElements returns the elements of an array, unparsed, and only one beyond the limit.
func readElements(dec *jsontext.Decoder) ([]jsontext.Value, error) {
	if _, err := dec.ReadToken(); err != nil {
		return nil, err
	}
	var elements []jsontext.Value
	for dec.PeekKind() != ']' {
		value, err := dec.ReadValue()
		if err != nil {
			return nil, err
		}
		if len(elements) <= MaxBatches {
			elements = append(elements, value)
		}
	}
	_, err := dec.ReadToken()
	return elements, err
}
