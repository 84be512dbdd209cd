package canonical

import (
	"cmp"
	"strconv"
)

// Object writes one object whose members its caller knows, in the given order. For a
// decision, Marshal would cost as much as storing it. The object is canonical if members
// come in the order of their names. Names must need no escape.
type Object struct {
	out []byte
	err error // the first
}

// NewObject begins an object of about so many bytes.
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

// String writes a text, which must be UTF-8.
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

// Texts writes a list of texts unless it is empty.
func (o *Object) Texts(name string, values []string) {
	if len(values) == 0 {
		return
	}
	o.name(name)
	for i, value := range values {
		o.out = append(o.out, "[,"[min(i, 1)])
		out, err := AppendString(o.out, value)
		if err != nil {
			o.err = cmp.Or(o.err, err)
			return
		}
		o.out = out
	}
	o.out = append(o.out, ']')
}

// Integer writes a number.
func (o *Object) Integer(name string, value int64) {
	o.name(name)
	o.out = strconv.AppendInt(o.out, value, 10)
}

// Bool writes a boolean.
func (o *Object) Bool(name string, value bool) {
	o.name(name)
	o.out = strconv.AppendBool(o.out, value)
}

// Null writes a null.
func (o *Object) Null(name string) {
	o.name(name)
	o.out = append(o.out, "null"...)
}

// Value writes what appendTo appends, which must be JSON.
func (o *Object) Value(name string, appendTo func(out []byte) []byte) {
	o.name(name)
	o.out = appendTo(o.out)
}

// Begin begins an inner object, until End.
func (o *Object) Begin(name string) {
	o.name(name)
	o.out = append(o.out, '{')
}

// End ends the object that Begin began last.
func (o *Object) End() { o.out = append(o.out, '}') }

// Bytes ends the object and returns it, or the first error.
func (o *Object) Bytes() ([]byte, error) {
	if o.err != nil {
		return nil, o.err
	}
	return append(o.out, '}'), nil
}
