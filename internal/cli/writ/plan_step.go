package writ

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"writ/client"
)

// shownStep is a step of a plan with the arguments that it fixes, as --json prints it.
type shownStep struct {
	client.StepName
	Fixed []client.FixedArgument `json:"fixed,omitempty"`
}

// stepsOf are the steps of a plan. Those who may not read payloads get them without arguments.
func stepsOf(ctx context.Context, c *client.Client, p client.Plan) ([]shownStep, error) {
	named, err := c.PlanSteps(ctx, p.ID)
	if err != nil {
		return nil, err
	}
	fixed := map[int][]client.FixedArgument{}
	for _, step := range p.Steps {
		fixed[step.Step] = step.Fixed
	}
	steps := make([]shownStep, len(named))
	for i, name := range named {
		steps[i] = shownStep{name, fixed[name.Step]}
	}
	return steps, nil
}

// longestValue is how much of an argument is shown; --json shows all of it.
const longestValue = 80

// words are the tool of a step and its arguments: "bank.send_money  to: landlord".
func (s shownStep) words() string {
	given := make([]string, len(s.Fixed))
	for i, argument := range s.Fixed {
		given[i] = argument.Name + ": " + brief(plainValue(argument.Value), longestValue)
	}
	return strings.TrimRight(fmt.Sprintf("%s.%s  %s", s.Server, s.Tool, strings.Join(given, ", ")), " ")
}

// plainValue is a value of JSON as people write it: a text without its quotes, unless it could be taken for something
// else then.
func plainValue(value string) string {
	var text string
	if json.Unmarshal([]byte(value), &text) != nil {
		return value
	}
	otherwise := text == "" || json.Valid([]byte(text)) || strings.ContainsAny(text, ",:\"\n")
	if otherwise || strings.TrimSpace(text) != text {
		return value
	}
	return text
}
