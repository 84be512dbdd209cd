package scan

import (
	"strings"

	"writ/internal/mcp/definition"
)

// walk reads every text of the definition.
func (s *scanner) walk() {
	d := s.server
	s.at(roleName, d.Name, member("name"))
	s.at(roleDescription, d.Title, member("title"))
	s.at(roleName, d.Version, member("version"))
	s.at(roleDescription, d.Instructions, member("instructions"))
	for i := range d.Tools {
		s.within(d.Tools[i].Name, func() { s.readTool(&d.Tools[i]) }, member("tools"), item(i, d.Tools[i].Name))
	}
	for i := range d.Prompts {
		s.within(d.Prompts[i].Name, func() { s.readPrompt(&d.Prompts[i]) }, member("prompts"),
			item(i, d.Prompts[i].Name))
	}
	s.resources("resources", d.Resources)
	s.resources("resourceTemplates", d.Templates)
}

// within reads a part of the definition.
func (s *scanner) within(owner string, read func(), place ...segment) {
	kept := len(s.place)
	s.owner, s.place = owner, append(s.place, place...)
	read()
	s.owner, s.place, s.tool = "", s.place[:kept], nil
}

func (s *scanner) readPrompt(p *definition.Prompt) {
	s.inPrompt = true
	defer func() { s.inPrompt = false }()
	s.at(roleName, p.Name, member("name"))
	s.at(roleDescription, p.Title, member("title"))
	s.at(roleDescription, p.Description, member("description"))
	for i, a := range p.Arguments {
		at := func(role role, value, name string) {
			s.at(role, value, member("arguments"), item(i, a.Name), member(name))
		}
		at(roleParameterName, a.Name, "name")
		at(roleDescription, a.Title, "title")
		at(roleParameter, a.Description, "description")
	}
}

func (s *scanner) resources(list string, resources []definition.Resource) {
	for i := range resources {
		r := &resources[i]
		name := strings.TrimSpace(r.Name + " " + r.URI + r.URITemplate)
		s.within(name, func() {
			s.at(roleAddress, r.URI, member("uri"))
			s.at(roleAddress, r.URITemplate, member("uriTemplate"))
			s.at(roleName, r.Name, member("name"))
			s.at(roleDescription, r.Title, member("title"))
			s.at(roleDescription, r.Description, member("description"))
			s.at(roleValue, r.MIMEType, member("mimeType"))
		}, member(list), item(i, name))
	}
}

// readTool reads a tool: its schemas, which say what its parameters are, its texts, and then what they say together.
func (s *scanner) readTool(t *definition.Tool) {
	s.tool = newToolFacts(s.server.Name, t)
	before := s.alarms
	s.fragments = s.fragments[:0]
	for _, part := range []struct {
		name string
		raw  []byte
	}{
		{"inputSchema", t.InputSchema}, {"outputSchema", t.OutputSchema}, {"annotations", t.Annotations},
	} {
		s.schema(part.name, part.raw)
	}
	s.at(roleName, t.Name, member("name"))
	s.at(roleDescription, t.Title, member("title"))
	s.at(roleDescription, t.Description, member("description"))
	s.judgeTool(t)
	if s.alarms == before {
		s.joined()
	}
}
