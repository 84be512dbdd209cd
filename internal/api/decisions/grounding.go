package decisions

import (
	"context"
	"net/http"

	"writ/internal/api/route"
	"writ/internal/enforcement"
	"writ/internal/intent"
	"writ/internal/intent/grounding"
	"writ/internal/policy/document"
	"writ/internal/principal"
)

func (h *Handlers) mountPrompts(r *route.Router) {
	route.Handle(r,
		route.Post("/iap/sdk/prompt", "State what the user said in a session, for calls to be grounded in").
			For(route.Key).Scoped(principal.Enforce).Records(intent.ActionPrompted).Configures().
			Answers(http.StatusCreated),
		h.statePrompt)
}

type promptInput struct {
	Body struct {
		SessionID *string `json:"session_id,omitempty" nullable:"true" doc:"The session; without one, the context, else the key with user and agent."`
		ContextID *string `json:"context_id,omitempty" nullable:"true"`
		UserID    *string `json:"user_id,omitempty" nullable:"true"`
		UserEmail *string `json:"user_email,omitempty" nullable:"true"`
		AgentID   *string `json:"agent_id,omitempty" nullable:"true"`
		Prompt    string  `json:"prompt,omitempty" doc:"What the person typed, and nothing else: at most 64 KiB, and 256 KiB a session."`
		Text      string  `json:"text,omitempty" doc:"What came along and the person did not type, such as an attached file. It counts as text that a tool returned."`
	}
}

// PromptedBody is the answer to a prompt.
type PromptedBody struct {
	Success bool `json:"success" doc:"True."`
}

func (h *Handlers) statePrompt(
	ctx context.Context, caller principal.Principal, in *promptInput,
) (PromptedBody, error) {
	b := &in.Body
	err := h.Intent.Prompt(ctx, caller, intent.Request{
		UserID:    route.OrEmpty(b.UserID),
		Email:     route.OrEmpty(b.UserEmail),
		AgentID:   route.OrEmpty(b.AgentID),
		ContextID: route.OrEmpty(b.ContextID),
		SessionID: route.OrEmpty(b.SessionID),
		Prompt:    &b.Prompt,
	}, b.Text)
	return PromptedBody{Success: err == nil}, err
}

func (h *Handlers) mountClasses(r *route.Router) {
	route.Handle(r, route.Get("/organization/{orgId}/tool-classes",
		"What the tools of an organization do, as calls are grounded by").
		For(route.Person).Needs(principal.ReadPolicies), h.getClasses)
	route.Handle(r, route.Put("/organization/{orgId}/tool-classes", "Say what the tools of an organization do").
		For(route.Person).Needs(principal.ManagePolicies).Records("enforcement.tool_classes_changed").Configures().
		AsksAgain(),
		h.putClasses)
}

// ClassesBody says what tools do.
type ClassesBody struct {
	Classes []ToolClassBody `json:"classes" nullable:"false" maxItems:"200" doc:"Where several match, the strictest counts: read, write, egress, execute. A tool that none names and no known harness has is write."`
	Kinds   []ToolKindsBody `json:"kinds,omitempty" maxItems:"200" doc:"What arguments are, where their name and value would say otherwise."`
}

// ToolClassBody is the class of some tools.
type ToolClassBody struct {
	Class string   `json:"class" enum:"read,write,egress,execute"`
	Tools []string `json:"tools" nullable:"false" minItems:"1" maxItems:"500" doc:"Patterns as in policies: bank.*"`
}

// ToolKindsBody are the kinds of some tools' arguments.
type ToolKindsBody struct {
	Tools     []string          `json:"tools" nullable:"false" minItems:"1" maxItems:"500"`
	Arguments map[string]string `json:"arguments" doc:"scalar, prose or identity, by the argument's name."`
}

func (h *Handlers) getClasses(
	ctx context.Context, caller principal.Principal, _ *route.OrgInput,
) (ClassesBody, error) {
	return shownClasses(h.Enforcement.Classes(ctx, caller.OrgID))
}

type classesInput struct {
	route.OrgInput
	Body ClassesBody
}

func (h *Handlers) putClasses(ctx context.Context, caller principal.Principal, in *classesInput) (ClassesBody, error) {
	var to enforcement.Classes
	for _, entry := range in.Body.Classes {
		to.Classes = append(to.Classes, enforcement.ToolClass{
			Class: grounding.Class(entry.Class), Tools: patterns(entry.Tools),
		})
	}
	for _, entry := range in.Body.Kinds {
		kinds := enforcement.ToolKinds{Tools: patterns(entry.Tools), Arguments: map[string]grounding.Kind{}}
		for name, kind := range entry.Arguments {
			kinds.Arguments[name] = grounding.Kind(kind)
		}
		to.Kinds = append(to.Kinds, kinds)
	}
	return shownClasses(h.Enforcement.SetClasses(ctx, caller, to))
}

func patterns(texts []string) (list []document.Pattern) {
	for _, text := range texts {
		list = append(list, document.Pattern(text))
	}
	return list
}

func shownClasses(c enforcement.Classes, err error) (ClassesBody, error) {
	body := ClassesBody{Classes: []ToolClassBody{}}
	if err != nil {
		return body, err
	}
	for _, entry := range c.Classes {
		body.Classes = append(body.Classes, ToolClassBody{Class: string(entry.Class), Tools: texts(entry.Tools)})
	}
	for _, entry := range c.Kinds {
		kinds := ToolKindsBody{Tools: texts(entry.Tools), Arguments: map[string]string{}}
		for name, kind := range entry.Arguments {
			kinds.Arguments[name] = string(kind)
		}
		body.Kinds = append(body.Kinds, kinds)
	}
	return body, nil
}

func texts(patterns []document.Pattern) (list []string) {
	for _, p := range patterns {
		list = append(list, string(p))
	}
	return list
}
