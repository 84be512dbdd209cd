package otlp

import (
	"context"

	"writ/internal/fault"
	"writ/internal/telemetry/decode"
)

// reader collects the spans of a request in either encoding.
type reader struct {
	Options
	ended       func() error // why the request has ended; nil: it has not
	spans       []span
	refused     int
	reason      string
	containers  int   // resources and scopes
	storedBytes int64 // of what would be stored

	names   map[string]string // keys of attributes, each once
	current rawSpan           // being read
	arena   []byte            // its values; reused by the next span
	inner   []attribute       // of an event or link
	written members           // by the object that is being written
}

func newReader(ctx context.Context, o Options) *reader {
	return &reader{Options: o, ended: ctx.Err, names: map[string]string{}, written: members{}}
}

// maxNames limits how many keys are cached, and maxNameLength how long they are.
const (
	maxNames      = 1000
	maxNameLength = 64
)

// name is a key as text. The same few keys come with every span.
func (r *reader) name(key []byte) string {
	if known, ok := r.names[string(key)]; ok {
		return known
	}
	text := string(key)
	if len(text) <= maxNameLength && len(r.names) < maxNames {
		r.names[text] = text
	}
	return text
}

// resource is what produced spans: a process of a service.
type resource struct {
	sense      sense
	attributes string // JSON
	bad        error  // why none of its spans can be stored
}

// scope is the library that made spans.
type scope struct {
	name, version string
	attributes    string // JSON; empty: none
	bad           error
}

// setScope fills a scope. Its attributes are stored with every span.
func (r *reader) setScope(to *scope, attributes []attribute) {
	if len(attributes) == 0 {
		return
	}
	text := r.written.appendObject(nil, attributes)
	if len(text) > maxShared {
		to.bad = errSharedTooLarge
		return
	}
	to.attributes = string(text)
}

// newResource and newScope refuse more of them than there can be spans: an empty one is two bytes of a body.
func (r *reader) newResource() (*resource, error) { return &resource{}, r.countContainer() }

func (r *reader) newScope() (*scope, error) { return &scope{}, r.countContainer() }

func (r *reader) countContainer() error {
	if r.containers++; r.containers > MaxSpans {
		return fault.New(fault.TooLarge, "a request must have at most %d resources and scopes", MaxSpans)
	}
	return nil
}

// setResource fills a resource. Its attributes are stored with every trace, so they must be small.
func (r *reader) setResource(to *resource, attributes []attribute) {
	text := r.written.appendObject(nil, attributes)
	if len(text) > maxShared {
		to.bad = errSharedTooLarge
		return
	}
	to.attributes = string(text)
	for i := range attributes { // they outlive the arena
		attributes[i].value.text = append([]byte(nil), attributes[i].value.text...)
	}
	to.sense = senseOf(attributes)
}

// rawSpan is a span while it is read, in whatever order its fields come.
type rawSpan struct {
	traceID, id, parent []byte
	name, state         []byte
	start, end          uint64
	kind                int64
	statusCode          int64
	statusMessage       []byte
	attributes          []attribute
	events, links       []byte // JSON, without the brackets
	dropped             int64  // attributes, events and links that the sender dropped
	bad                 error  // why it cannot be stored
}

// begin prepares for the next span.
func (r *reader) begin() error {
	if err := r.ended(); err != nil {
		return requestEnded(err)
	}
	if len(r.spans)+r.refused >= MaxSpans {
		return tooManySpans()
	}
	r.arena = r.arena[:0]
	r.current = rawSpan{attributes: r.current.attributes[:0], events: r.current.events[:0], links: r.current.links[:0]}
	return nil
}

func add(list []attribute, a attribute) ([]attribute, error) {
	if len(list) >= maxAttributes {
		return list, errAttributes
	}
	return append(list, a), nil
}

// end finishes the current span, or refuses it.
func (r *reader) end(from *resource, by *scope) error {
	s, err := r.finish(from, by)
	if err != nil {
		r.refuse(err)
		return nil
	}
	r.spans = append(r.spans, s)
	return r.store(spanBytes, int64(len(s.attributes)))
}

// spanBytes is about the memory of a span beside its attributes.
const spanBytes = 700

// store counts what would be stored, and the memory that it and its overhead take until then.
func (r *reader) store(overhead, bytes int64) error {
	if r.storedBytes += bytes; r.storedBytes > r.MaxBytes {
		return r.tooLarge()
	}
	if r.Take == nil {
		return nil
	}
	return r.Take(overhead + bytes)
}

func (r *reader) refuse(why error) {
	if r.refused++; r.reason == "" {
		r.reason = why.Error()
	}
}

// checkScratch limits what one span may write while it is read.
func (r *reader) checkScratch() error {
	if int64(len(r.arena)+len(r.current.events)+len(r.current.links))+r.storedBytes > r.MaxBytes {
		return r.tooLarge()
	}
	return nil
}

// members are the names that an object has already. If a key is repeated, the first stays.
type members map[string]bool

func (m members) appendObject(dst []byte, attributes []attribute) []byte {
	return append(m.begin(dst, attributes), '}')
}

// begin writes attributes as a JSON object that is still open.
func (m members) begin(dst []byte, attributes []attribute) []byte {
	clear(m)
	dst = append(dst, '{')
	for _, a := range attributes {
		dst = m.append(dst, a.key, a.value)
	}
	return dst
}

// append writes one more member, unless its name is there already.
func (m members) append(dst []byte, key string, v value) []byte {
	if m[key] {
		return dst
	}
	m[key] = true
	if dst[len(dst)-1] != '{' {
		dst = append(dst, ',')
	}
	return v.appendTo(append(appendText(dst, key), ':'))
}

// span is a span that was read, without what its resource and scope add.
type span struct {
	decode.Span
	traceID    [16]byte
	isRoot     bool
	attributes []byte // JSON, the object still open
	namesScope bool   // among its own attributes
	sense      spanSense
	resource   *resource
	scope      *scope
}

// spanSense is what a span says about its trace.
type spanSense struct {
	session, user, agent string
	input, output        *string
}
