package carrier

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// isComposed reports whether a JSON text is one that has members.
func isComposed(text []byte) bool {
	kind := jsontext.Value(text).Kind()
	return kind == jsontext.KindBeginObject || kind == jsontext.KindBeginArray
}

func redactText(ctx context.Context, text string, members []string) string {
	if !isComposed([]byte(text)) {
		return withheld
	}
	made, err := redactJSON(ctx, []byte(text), members, nil)
	if err != nil {
		return withheld
	}
	return string(made)
}

// redactJSON is a JSON text without the values of members. A member is named by its name, or by that of the member that
// it is directly in and its own, with a dot between; a star is any name. Arrays are looked through, and so are texts
// that are JSON themselves: servers put what a tool returns into a member as it is. Texts that are hidden elsewhere are
// withheld here too. It fails when the context ends.
func redactJSON(ctx context.Context, text []byte, members []string, hidden map[string]bool) ([]byte, error) {
	r := &redactor{ctx: ctx, hidden: hidden}
	for _, member := range members {
		names := strings.Split(member, ".")
		r.members, r.longest = append(r.members, names), max(r.longest, len(names))
	}
	return r.redact(text)
}

// redactor copies a JSON text, and leaves members out.
type redactor struct {
	ctx     context.Context
	in      *jsontext.Decoder
	to      *jsontext.Encoder
	members [][]string
	longest int             // how many names the longest of them has
	hidden  map[string]bool // a server may send many, and many texts beside them
	within  int             // how many texts this one is in
	path    []string        // the names of the members that this is in
	parts   []string        // the same, cut at their dots: of each name its last, as many as the longest member has
}

// Limits of a result where members are left out: how many arrays and objects may be within each other, and how many
// texts that are JSON.
const (
	maxDepth  = 128
	maxWithin = 4
)

// redact is a whole text without the members.
func (r *redactor) redact(text []byte) ([]byte, error) {
	var out bytes.Buffer
	lenient := []jsontext.Options{jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(false)}
	r.in, r.to = jsontext.NewDecoder(bytes.NewReader(text), lenient...), jsontext.NewEncoder(&out, lenient...)
	if err := r.value(); err != nil {
		return nil, err
	}
	if _, err := r.in.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something is behind the value")
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), nil
}

// value copies the next value.
func (r *redactor) value() error {
	if err := r.ctx.Err(); err != nil {
		return err
	}
	if r.in.StackDepth() > maxDepth {
		return errors.New("is nested too deep")
	}
	switch r.in.PeekKind() {
	case jsontext.KindBeginObject:
		return r.object()
	case jsontext.KindBeginArray:
		if err := r.token(); err != nil {
			return err
		}
		for r.in.PeekKind() != jsontext.KindEndArray {
			if err := r.value(); err != nil {
				return err
			}
		}
		return r.token()
	}
	value, err := r.in.ReadValue()
	if err != nil {
		return err
	}
	if value.Kind() == jsontext.KindString {
		return r.text(value)
	}
	return r.to.WriteValue(value)
}

// text copies a text. One that is JSON has members too; what begins as such and cannot be read is withheld if there may
// be members in it.
func (r *redactor) text(quoted jsontext.Value) error {
	plain, err := jsontext.AppendUnquote(nil, quoted)
	if err != nil {
		return err
	}
	if r.hidden[string(plain)] {
		return r.to.WriteToken(jsontext.String(withheld))
	}
	plain = bytes.TrimPrefix(plain, []byte("\uFEFF")) // some write it before JSON, and readers pass over it
	if !isComposed(plain) && jsontext.Value(plain).Kind() != jsontext.KindString {
		return r.to.WriteValue(quoted)
	}
	if r.within < maxWithin {
		inner := *r
		inner.within++
		if made, err := inner.redact(plain); err == nil {
			return r.to.WriteToken(jsontext.String(string(made)))
		}
	}
	if mayHaveMembers(plain) {
		return r.to.WriteToken(jsontext.String(withheld))
	}
	return r.to.WriteValue(quoted)
}

// mayHaveMembers reports whether a text that begins as JSON, and cannot be read, may have members in another spelling:
// Python and JavaScript print objects with other quotes than JSON, or without. In a text of a text a backslash may
// stand for what begins an object.
func mayHaveMembers(text []byte) bool {
	switch jsontext.Value(text).Kind() {
	case jsontext.KindBeginObject:
		return true
	case jsontext.KindBeginArray:
		return bytes.ContainsAny(text, `{"`)
	}
	return bytes.ContainsAny(text, `{\`)
}

func (r *redactor) object() error {
	if err := r.token(); err != nil {
		return err
	}
	for r.in.PeekKind() != jsontext.KindEndObject {
		name, err := r.in.ReadToken()
		if err != nil {
			return err
		}
		if err := r.member(name.String()); err != nil {
			return err
		}
	}
	return r.token()
}

// member copies a member whose name has been read, or leaves it out.
func (r *redactor) member(name string) error {
	if err := r.to.WriteToken(jsontext.String(name)); err != nil {
		return err
	}
	path, parts := len(r.path), len(r.parts)
	r.path, r.parts = append(r.path, name), appendParts(r.parts, name, r.longest)
	defer func() { r.path, r.parts = r.path[:path], r.parts[:parts] }()
	if !r.leavesOut() {
		return r.value()
	}
	if err := r.in.SkipValue(); err != nil {
		return err
	}
	return r.to.WriteValue(jsontext.Value(redacted))
}

// appendParts appends the parts of a name between its dots; of more than most the last.
func appendParts(parts []string, name string, most int) []string {
	from := len(parts)
	for len(parts)-from < most-1 {
		dot := strings.LastIndexByte(name, '.')
		if dot < 0 {
			break
		}
		parts, name = append(parts, name[dot+1:]), name[:dot]
	}
	parts = append(parts, name[strings.LastIndexByte(name, '.')+1:])
	slices.Reverse(parts[from:])
	return parts
}

func (r *redactor) token() error {
	token, err := r.in.ReadToken()
	if err != nil {
		return err
	}
	return r.to.WriteToken(token)
}

// leavesOut reports whether the member at the path is one of those. A name with a dot in it may be meant as one name,
// or as that of a member and the one that it is in. Only the ends of the path are looked at, and they were made once
// for all members that are in it: a server chooses how long the names are, and how many dots are in them.
func (r *redactor) leavesOut() bool {
	for _, member := range r.members {
		if endsWith(r.path, member) || endsWith(r.parts, member) {
			return true
		}
	}
	return false
}

// endsWith reports whether the last names of a path are those of a member.
func endsWith(path, member []string) bool {
	if len(member) > len(path) {
		return false
	}
	last := path[len(path)-len(member):]
	for i, name := range member {
		if name != "*" && name != last[i] {
			return false
		}
	}
	return true
}
