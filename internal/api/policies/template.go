package policies

import (
	"context"

	"writ/internal/api/route"
	"writ/internal/fault"
	"writ/internal/policy/document"
	"writ/internal/policy/template"
	"writ/internal/principal"
)

func (h *Handlers) mountTemplates(r *route.Router) {
	route.HandleOutput(r, route.Get("/policies/schema", "The JSON schema of policies").
		For(route.Public), h.policySchema)
	route.Handle(r, route.Get("/policies/templates", "Policies to begin with").
		For(route.PersonOrKey).Scoped(route.AnyScope), h.listTemplates)
	// Not /policies/templates/{name}: that would also be the path of a policy.
	route.HandleOutput(r, route.Get("/policies/yaml/templates/{name}", "A policy to begin with, as YAML").
		For(route.PersonOrKey).Scoped(route.AnyScope), h.getTemplate)
}

func (h *Handlers) policySchema(context.Context, principal.Principal, *route.None) (*textOutput, error) {
	id := h.PublicURL.JoinPath("/policies/schema").String()
	return &textOutput{ContentType: "application/schema+json", Body: document.SchemaAt(id)}, nil
}

// TemplateBody is a policy to begin with.
type TemplateBody struct {
	Name        string       `json:"name"`
	Title       string       `json:"title"`
	Description string       `json:"description"`
	Document    DocumentBody `json:"document"`
}

func (h *Handlers) listTemplates(
	context.Context, principal.Principal, *route.None,
) (list route.Items[TemplateBody], err error) {
	for _, t := range template.All() {
		body := TemplateBody{Name: t.Name, Title: t.Title, Description: t.Description}
		doc, err := document.Parse([]byte(t.Text), document.YAML)
		if err != nil {
			return list, err
		}
		if body.Document, err = DocumentOf(doc); err != nil {
			return list, err
		}
		list.Items = append(list.Items, body)
	}
	return list, nil
}

type templateInput struct {
	Name string `path:"name" doc:"The template."`
}

func (h *Handlers) getTemplate(_ context.Context, _ principal.Principal, in *templateInput) (*textOutput, error) {
	t, ok := template.Get(in.Name)
	if !ok {
		return nil, fault.New(fault.NotFound, "no such template")
	}
	return &textOutput{ContentType: yamlType, Body: []byte(t.Text)}, nil
}
