package drafting

import (
	"errors"
	"regexp"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"writ/internal/fault"
	"writ/internal/policy/document"
)

// nameLine is the line of a policy that gives its name.
var nameLine = regexp.MustCompile(`(?m)^name: .*$`)

// renamed is the text of a policy under another name, with its comments.
func renamed(text, name string) string {
	if name == "" {
		return text
	}
	return nameLine.ReplaceAllLiteralString(text, "name: "+quoted(name))
}

// Named is the draft under another name.
func (d Draft) Named(name string) (Draft, error) {
	if err := CheckName(name); err != nil {
		return Draft{}, err
	}
	d.Text = renamed(d.Text, name)
	doc := *d.Document
	doc.Name, d.Document = name, &doc
	return d, nil
}

// quoted is a string in both YAML and JSON.
func quoted(text string) string {
	written, err := jsontext.AppendQuote(nil, text)
	if err != nil {
		return `""` // not UTF-8, and refused as a name
	}
	return string(written)
}

// CheckName refuses names that a policy cannot have.
func CheckName(name string) error {
	text := renamed("version: v1\nname: x\nrules:\n  - {id: x, effect: deny, tools: [x.x]}\n", name)
	_, err := document.Parse([]byte(text), document.YAML)
	if invalid, ok := errors.AsType[*document.Invalid](err); ok && len(invalid.Problems) > 0 {
		return fault.Field("name", "%s", strings.TrimSpace(invalid.Problems[0].Message))
	}
	return err
}
