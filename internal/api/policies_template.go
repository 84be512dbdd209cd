package api

import (
	"context"
	"net/http"

	"writ/internal/fault"
	"writ/internal/policy/document"
	"writ/internal/policy/template"
	"writ/internal/principal"
)

func (a *API) mountTemplates() {
	handle(a, Route{
		Method:  http.MethodGet,
		Path:    "/policies/schema",
		Tag:     policyTag,
		Summary: "The JSON schema of policies",
		Mode:    Public,
	}, a.policySchema)
	handle(a, Route{
		Method:  http.MethodGet,
		Path:    "/policies/templates",
		Tag:     policyTag,
		Summary: "Policies to begin with",
		Mode:    Either,
		Scope:   anyScope,
	}, a.listTemplates)
	// Not /policies/templates/{name}: that would also be the path of a policy.
	handle(a, Route{
		Method:  http.MethodGet,
		Path:    "/policies/yaml/templates/{name}",
		Tag:     policyTag,
		Summary: "A policy to begin with, as YAML",
		Mode:    Either,
		Scope:   anyScope,
	}, a.getTemplate)
}

func (a *API) policySchema(context.Context, principal.Principal, *none) (*textOutput, error) {
	return &textOutput{ContentType: "application/schema+json", Body: document.Schema()}, nil
}

// TemplateBody is a policy to begin with.
type TemplateBody struct {
	Name        string       `json:"name"`
	Title       string       `json:"title"`
	Description string       `json:"description"`
	Document    DocumentBody `json:"document"`
}

type templatesOutput struct {
	Body struct {
		Items []TemplateBody `json:"items" nullable:"false"`
	}
}

func (a *API) listTemplates(context.Context, principal.Principal, *none) (*templatesOutput, error) {
	out := &templatesOutput{}
	for _, t := range template.All() {
		body := TemplateBody{Name: t.Name, Title: t.Title, Description: t.Description}
		doc, err := document.Parse([]byte(t.Text), document.YAML)
		if err != nil {
			return nil, err
		}
		if body.Document, err = documentBody(doc); err != nil {
			return nil, err
		}
		out.Body.Items = append(out.Body.Items, body)
	}
	return out, nil
}

type templateInput struct {
	Name string `path:"name" doc:"The template."`
}

func (a *API) getTemplate(_ context.Context, _ principal.Principal, in *templateInput) (*textOutput, error) {
	t, ok := template.Get(in.Name)
	if !ok {
		return nil, fault.New(fault.NotFound, "no such template")
	}
	return &textOutput{ContentType: yamlType, Body: []byte(t.Text)}, nil
}
