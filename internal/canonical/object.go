package canonical

import "strconv"

// Object writes one object whose members its caller knows, in the order they are
// given: what every decision waits for, where a detour through Marshal would cost
// as much as storing it. It is canonical when the caller gives members in the order of
// their names. Names are the caller's own, and need no escape.
type Object struct {
	out []byte
	err error // the first
}

// NewObject begins an object that will have about so many bytes.
func NewObject(size int) *Object {
	return &Object{out: append(make([]byte, 0, size), '{')}
}

// name begins a member.
func (o *Object) name(name string) {
	if last := o.out[len(o.out)-1]; last != '{' {
		o.out = append(o.out, ',')
	}
	o.out = append(o.out, '"')
	o.out = append(o.out, name...)
	o.out = append(o.out, '"', ':')
}

// Text writes a text, which must be UTF-8.
func (o *Object) String(name, value string) {
	o.name(name)
	out, err := AppendString(o.out, value)
	if err != nil {
		if o.err == nil {
			o.err = err
		}
		return
	}
	o.out = out
}

// Optional writes a text unless it is empty.
func (o *Object) Optional(name, value string) {
	if value != "" {
		o.String(name, value)
	}
}

// Integer writes a number.
func (o *Object) Integer(name string, value int64) {
	o.name(name)
	o.out = strconv.AppendInt(o.out, value, 10)
}

// Truth writes a boolean.
func (o *Object) Bool(name string, value bool) {
	o.name(name)
	o.out = strconv.AppendBool(o.out, value)
}

// Null writes a null.
func (o *Object) Null(name string) {
	o.name(name)
	o.out = append(o.out, "null"...)
}

// Value has a member's value appended, which must be JSON.
func (o *Object) Value(name string, appendTo func(out []byte) []byte) {
	o.name(name)
	o.out = appendTo(o.out)
}

// Begin begins an object within, until End.
func (o *Object) Begin(name string) {
	o.name(name)
	o.out = append(o.out, '{')
}

// End ends the object that Begin began last.
func (o *Object) End() { o.out = append(o.out, '}') }

// Bytes ends the object and gives it, or says why there is none.
func (o *Object) Bytes() ([]byte, error) {
	if o.err != nil {
		return nil, o.err
	}
	return append(o.out, '}'), nil
}
