package profile

import (
	"embed"
	"fmt"
	"slices"
	"sync"
)

//go:embed templates/*.json
var files embed.FS

// Template is a profile to start from. Plugins have profiles of these names too but
// disagree on some: lockdown denies in one and asks in another, and balanced leaves MCP
// servers open. Here each does what its description says, which a test checks.
type Template struct {
	Name    string
	Title   string
	Profile *Profile
}

// titles are the templates in the order of display.
var titles = []struct{ name, title string }{
	{"strict-read-only", "Strict read only"},
	{"balanced", "Balanced"},
	{"architect", "Architect"},
	{"quality-guardian", "Quality guardian"},
	{"velocity-machine", "Velocity machine"},
	{"night-owl", "Night owl"},
	{"lockdown", "Lockdown"},
	{"all-allow", "All allow"},
}

var templates = sync.OnceValue(func() []Template {
	var all []Template
	for _, t := range titles {
		text, err := files.ReadFile("templates/" + t.name + ".json")
		if err != nil {
			panic(fmt.Sprintf("read the profile %s: %v", t.name, err)) // our own mistake, which any test shows
		}
		p, problems := Parse(text)
		if problems != nil {
			panic(fmt.Sprintf("the profile %s is not valid: %v", t.name, problems))
		}
		all = append(all, Template{Name: t.name, Title: t.title, Profile: p})
	}
	return all
})

// Templates are the profiles that ship with Writ.
func Templates() []Template { return slices.Clone(templates()) }

// TemplateOf finds a template by its name.
func TemplateOf(name string) (Template, bool) {
	for _, t := range templates() {
		if t.Name == name {
			return t, true
		}
	}
	return Template{}, false
}
