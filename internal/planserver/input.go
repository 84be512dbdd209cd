package planserver

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Limits of a plan, as the Writ server has them.
const (
	maxPlan  = 256 << 10 // bytes
	maxSteps = 500
)

// ticketInput is the input of reset_intent_plan and get_intent_plan.
type ticketInput struct {
	Ticket string         `json:"session_ticket"`
	Wait   jsontext.Value `json:"wait_for_previous"` // the host adds it to every MCP tool, and it means nothing to us
}

// planInput is the input of register_intent_plan.
type planInput struct {
	Goal    string      `json:"goal"`
	Steps   []stepInput `json:"steps"`
	May     []string    `json:"may"`
	Ordered bool        `json:"ordered"`
	Amends  string      `json:"amends"`
	Ticket  string      `json:"session_ticket"`

	Wait jsontext.Value `json:"wait_for_previous"`
}

// stepInput is a step as the model writes it and as the Writ server reads it.
type stepInput struct {
	Action      string         `json:"action"`
	MCP         string         `json:"mcp,omitzero"`
	Params      jsontext.Value `json:"params,omitzero"`
	Strict      bool           `json:"strict,omitzero"`
	MaxCalls    int64          `json:"max_calls,omitzero"`
	Description string         `json:"description,omitzero"`
}

// decode reads the arguments of a tool. It refuses members that nobody reads, and those that stand there twice.
func decode(raw []byte, to any) error {
	if len(bytes.TrimSpace(raw)) == 0 {
		raw = []byte("{}")
	}
	err := json.Unmarshal(raw, to, json.RejectUnknownMembers(true))
	if err == nil {
		return nil
	}
	at := ""
	if problem, ok := errors.AsType[*json.SemanticError](err); ok {
		at = string(problem.JSONPointer)
	} else if problem, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		at = string(problem.JSONPointer)
	}
	at = strings.ReplaceAll(strings.TrimPrefix(at, "/"), "/", ".")
	switch {
	case at == "":
		return errors.New("the arguments must be one JSON object")
	case errors.Is(err, json.ErrUnknownName):
		return fmt.Errorf("%s is no member of this tool's arguments: leave it out, or write its name right", at)
	case errors.Is(err, jsontext.ErrDuplicateName):
		return fmt.Errorf("%s stands there twice: write it once", at)
	}
	return fmt.Errorf("%s has a value of the wrong type", at)
}

// plan is the plan as the Writ server reads it.
func (in *planInput) plan(source string) ([]byte, error) {
	switch {
	case strings.TrimSpace(in.Goal) == "":
		return nil, errors.New("goal must say what the person wants")
	case len(in.Steps) == 0:
		return nil, errors.New("steps must name at least one tool: a plan without steps allows nothing")
	case len(in.Steps) > maxSteps:
		return nil, fmt.Errorf("steps has %d entries; at most %d are allowed: plan the next part of the work only",
			len(in.Steps), maxSteps)
	}
	for i, step := range in.Steps {
		switch {
		case strings.TrimSpace(step.Action) == "":
			return nil, fmt.Errorf("steps.%d.action must be the name of a tool", i)
		case len(step.Params) > 0 && step.Params.Kind() != jsontext.KindBeginObject:
			return nil, fmt.Errorf("steps.%d.params must be an object of arguments", i)
		case step.MaxCalls < 0:
			return nil, fmt.Errorf("steps.%d.max_calls must be 1 or more", i)
		}
	}
	text, err := json.Marshal(map[string]any{
		"goal": in.Goal, "steps": in.Steps, "may": in.May, "ordered": in.Ordered, "source": source,
	}, json.Deterministic(true))
	if err != nil {
		return nil, errors.New("the plan cannot be written as JSON: its texts must be valid UTF-8")
	}
	if len(text) > maxPlan {
		return nil, fmt.Errorf("the plan has %d bytes; at most %d are allowed: leave out long arguments, or plan the "+
			"next part of the work only", len(text), maxPlan)
	}
	return text, nil
}
