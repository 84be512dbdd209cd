package redaction

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// neighbour is what stands beside a value and names it, where the name is not the
// key above it: {"name": "DB_PASSWORD", "value": ...}, as lists of headers and
// variables are written, and ["--password", ...], as commands are.
type neighbour struct {
	says sensitivity // what the name said
	role role        // of the member that is being copied
}

// role is what a member of an object is to its neighbours.
type role int

const (
	other role = iota
	naming
	named
)

// namingKeys hold a name, and namedKeys the value that it is of. Names are written
// before values, and stand so in canonical JSON too.
var (
	namingKeys = []string{`"name"`, `"key"`, `"header"`, `"variable"`, `"field"`, `"parameter"`, `"param"`}
	namedKeys  = []string{`"value"`, `"values"`, `"val"`}
)

// at takes up the key of the next member, in quotes.
func (n *neighbour) at(quoted []byte) {
	n.role = other
	if len(quoted) > len(`"parameter"`) {
		return
	}
	for _, key := range namingKeys {
		if strings.EqualFold(key, string(quoted)) {
			n.role = naming
		}
	}
	for _, key := range namedKeys {
		if strings.EqualFold(key, string(quoted)) {
			n.role = named
		}
	}
}

// take is what the neighbour says of the value that comes now.
func (n *neighbour) take(kind jsontext.Kind) sensitivity {
	if kind == jsontext.KindBeginObject {
		if n.role == named {
			return n.says
		}
		return notSecret
	}
	says := n.says
	n.says = notSecret // a flag is of the next item alone
	return says
}

// beside copies a string, and takes up what it says of its neighbours.
func (w *walker) stringBesideName(n *neighbour, kind jsontext.Kind, about sensitivity) error {
	quoted, err := w.in.ReadValue()
	if err != nil {
		return readError(err)
	}
	isFlag := kind == jsontext.KindBeginArray && len(quoted) > 2 && quoted[1] == '-'
	if isFlag {
		n.take(kind) // the flag before had no value
	}
	// The text is gone with the next read: looked at before it is written.
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

// saysOf is what a name in quotes says. A flag with its value in it says nothing
// of what follows.
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
