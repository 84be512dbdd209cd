package otlp

import (
	"strings"
)

// resourceSpans reads the spans of one resource, which may be described after them.
func (d decoder) resourceSpans() error {
	from, err := d.newResource()
	if err != nil {
		return err
	}
	return d.object(func(name string) error {
		switch name {
		case "resource":
			return d.resource(from)
		case "scopeSpans":
			return d.array(func() error { return d.scopeSpans(from) })
		}
		return d.SkipValue()
	})
}

func (d decoder) resource(to *resource) error {
	var attributes []attribute
	err := d.object(func(name string) (err error) {
		if name == "attributes" {
			attributes, to.bad, err = d.attributes(attributes)
			return err
		}
		return d.SkipValue()
	})
	if err == nil && to.bad == nil {
		d.setResource(to, attributes)
	}
	return err
}

func (d decoder) scopeSpans(from *resource) error {
	by, err := d.newScope()
	if err != nil {
		return err
	}
	return d.object(func(name string) error {
		switch name {
		case "scope":
			return d.scope(by)
		case "spans":
			return d.array(func() error {
				if err := d.begin(); err != nil {
					return err
				}
				if err := d.object(d.spanMember); err != nil {
					return err
				}
				return d.end(from, by)
			})
		}
		return d.SkipValue()
	})
}

func (d decoder) scope(to *scope) error {
	var attributes []attribute
	var text []byte
	err := d.object(func(name string) (err error) {
		switch name {
		case "name":
			text, err = d.text()
			to.name = short(text)
		case "version":
			text, err = d.text()
			to.version = short(text)
		case "attributes":
			attributes, to.bad, err = d.attributes(attributes)
		default:
			err = d.SkipValue()
		}
		return err
	})
	if err == nil && to.bad == nil {
		d.setScope(to, attributes)
	}
	return err
}

// Names of status codes and span kinds.
var (
	statusNames   = map[string]int64{"STATUS_CODE_UNSET": 0, "STATUS_CODE_OK": 1, "STATUS_CODE_ERROR": spanStatusError}
	spanKindNames = func() map[string]int64 {
		names := map[string]int64{}
		for n, name := range kindNames {
			names["SPAN_KIND_"+strings.ToUpper(name)] = int64(n)
		}
		return names
	}()
)

// spanMember reads a member of the current span.
func (d decoder) spanMember(name string) (err error) {
	s := &d.current
	var bad error
	switch name {
	case "traceId":
		s.traceID, err = d.hex()
	case "spanId":
		s.id, err = d.hex()
	case "parentSpanId":
		s.parent, err = d.hex()
	case "traceState":
		s.state, err = d.text()
	case "name":
		s.name, err = d.text()
	case "kind":
		s.kind, err = d.enum(spanKindNames)
	case "startTimeUnixNano":
		s.start, err = d.unsigned()
	case "endTimeUnixNano":
		s.end, err = d.unsigned()
	case "attributes":
		s.attributes, bad, err = d.attributes(s.attributes)
	case "events":
		err = d.array(func() error { return d.event(&s.events) })
	case "links":
		err = d.array(func() error { return d.event(&s.links) })
	case "status":
		err = d.status()
	default:
		err = d.SkipValue()
	}
	if bad != nil {
		s.bad = bad
	}
	return err
}

func (d decoder) status() error {
	s := &d.current
	return d.object(func(name string) (err error) {
		switch name {
		case "code":
			s.statusCode, err = d.enum(statusNames)
		case "message":
			s.statusMessage, err = d.text()
		default:
			err = d.SkipValue()
		}
		return err
	})
}

// event appends an event or a link to the list of its span.
func (d decoder) event(list *[]byte) error {
	e := event{attributes: d.inner[:0]}
	var bad error
	err := d.object(func(name string) (err error) {
		switch name {
		case "timeUnixNano":
			e.at, err = d.unsigned()
		case "name":
			e.name, err = d.text()
		case "traceId":
			e.traceID, err = d.hex()
		case "spanId":
			e.spanID, err = d.hex()
		case "attributes":
			e.attributes, bad, err = d.attributes(e.attributes)
		default:
			err = d.SkipValue()
		}
		return err
	})
	if bad != nil {
		d.current.bad = bad
	}
	*list = d.appendEvent(*list, e)
	return cmpErrors(err, d.checkScratch)
}
