package redaction

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// neighbor is a value's neighbor that names it, when the name is not its key: {"name": "DB_PASSWORD", "value": ...},
// as lists of headers and variables are written, or ["--password", ...], as commands are.
type neighbor struct {
	says sensitivity // what the name says
	role role        // of the member that is being copied
}

// role is what a member of an object means for its neighbors.
type role int

const (
	other role = iota
	naming
	named
)

// namingKeys hold a name, and namedKeys its value. Names are written before values, also in canonical JSON.
var (
	namingKeys = []string{`"name"`, `"key"`, `"header"`, `"variable"`, `"field"`, `"parameter"`, `"param"`}
	namedKeys  = []string{`"value"`, `"values"`, `"val"`}
)

// at takes the key of the next member, in quotes.
func (n *neighbor) at(quoted []byte) {
	n.role = other
	if len(quoted) > len(`"parameter"`) {
		return
	}
	isQuoted := func(key string) bool { return strings.EqualFold(key, string(quoted)) }
	switch {
	case slices.ContainsFunc(namingKeys, isQuoted):
		n.role = naming
	case slices.ContainsFunc(namedKeys, isQuoted):
		n.role = named
	}
}

// take is what the neighbor says about the next value.
func (n *neighbor) take(kind jsontext.Kind) sensitivity {
	if kind == jsontext.KindBeginObject {
		if n.role == named {
			return n.says
		}
		return notSecret
	}
	says := n.says
	n.says = notSecret // a flag is only about the next item
	return says
}

// stringBesideName copies a string, and remembers what it says about the values next to it.
func (w *walker) stringBesideName(n *neighbor, kind jsontext.Kind, about sensitivity) error {
	quoted, err := w.in.ReadValue()
	if err != nil {
		return readError(err)
	}
	isFlag := kind == jsontext.KindBeginArray && len(quoted) > 2 && quoted[1] == '-'
	if isFlag {
		n.take(kind) // the previous flag had no value
	}
	// The next read overwrites the text, so it is examined before it is written.
	says := notSecret
	if isFlag || kind == jsontext.KindBeginObject && n.role == naming {
		says = sensitivityOf(quoted)
	}
	if err := w.string(quoted, max(about, n.take(kind))); err != nil {
		return err
	}
	if isFlag || n.role == naming && kind == jsontext.KindBeginObject {
		n.says = says
	}
	return nil
}

// sensitivityOf is what a name in quotes says. A flag that includes its value says nothing about what follows.
func sensitivityOf(quoted []byte) sensitivity {
	plain, err := jsontext.AppendUnquote(nil, quoted)
	if err != nil {
		return notSecret
	}
	name := strings.TrimLeft(string(plain), "-")
	if strings.ContainsAny(name, "= \t\n") {
		return notSecret
	}
	if says := nameSensitivity(name); says == secretName {
		return says
	}
	return notSecret // commands and variables write counts as texts
}
