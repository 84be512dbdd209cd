// Package template holds the policies that ship with Writ: starting points that work
// as they are and are meant to be read, copied and changed.
//
// Each is a document with YAML tests beside it that say what it lets through. The one
// for coding agents is also tested on a corpus of evasions and of ordinary commands in
// testdata.
package template

import (
	"embed"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"

	"writ/internal/policy/document"
)

//go:embed policies/*.yaml tests/*.yaml
var files embed.FS

// Template is a policy that ships with Writ.
type Template struct {
	Name        string // also the name of the policy in it
	Title       string
	Description string
	Text        string // the document, as YAML
	Tests       string // its tests, as YAML, for a policy in PolicyFile beside them
}

// PolicyFile is the name of the policy in a template's tests.
const PolicyFile = "policy.yaml"

// titles are the templates in the order of display.
var titles = []struct{ name, title string }{
	{"starter", "Read first"},
	{"coding-agent", "Coding agent"},
	{"read-only", "Read only"},
	{"payments", "Payments"},
	{"support-inbox", "Support inbox"},
}

var all = sync.OnceValue(load)

// load reads the embedded files. It can only fail by our own mistake, which any test
// shows.
func load() []Template {
	templates := make([]Template, 0, len(titles))
	for _, t := range titles {
		text, err := files.ReadFile(path.Join("policies", t.name+".yaml"))
		if err != nil {
			panic(fmt.Sprintf("read the policy template %s: %v", t.name, err))
		}
		doc, err := document.Parse(text, document.YAML)
		if err != nil {
			panic(fmt.Sprintf("parse the policy template %s: %v", t.name, err))
		}
		templates = append(templates, Template{
			Name:        t.name,
			Title:       t.title,
			Description: strings.TrimSpace(doc.Description),
			Text:        string(text),
			Tests:       testsOf(t.name),
		})
	}
	return templates
}

// testsOf is the tests of a template for a copy in PolicyFile.
func testsOf(name string) string {
	text, err := files.ReadFile(path.Join("tests", name+".yaml"))
	if err != nil {
		panic(fmt.Sprintf("read the tests of the policy template %s: %v", name, err))
	}
	return strings.Replace(string(text), "policy: ../policies/"+name+".yaml", "policy: "+PolicyFile, 1)
}

// All is every template.
func All() []Template { return slices.Clone(all()) }

// Get finds a template by its name.
func Get(name string) (Template, bool) {
	for _, t := range all() {
		if t.Name == name {
			return t, true
		}
	}
	return Template{}, false
}
