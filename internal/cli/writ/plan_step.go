package writ

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"writ/client"
	"writ/internal/cli"
)

// shownStep is a step of a plan with the arguments that it fixes and its limits, as --json prints it.
type shownStep struct {
	client.StepName
	Fixed    []client.FixedArgument `json:"fixed,omitempty"`
	Strict   bool                   `json:"strict,omitempty"`
	MaxCalls int64                  `json:"maxCalls,omitempty"`
	Uses     int64                  `json:"uses,omitempty"`
}

// stepsOf are the steps of a plan. Those who may not read payloads get them without arguments.
func stepsOf(ctx context.Context, c *client.Client, p client.Plan) ([]shownStep, error) {
	named, err := c.PlanSteps(ctx, p.ID)
	if err != nil {
		return nil, err
	}
	judged, uses := map[int]client.JudgedStep{}, map[int]int64{}
	for _, step := range p.Steps {
		judged[step.Step] = step
	}
	for _, use := range p.Uses {
		uses[use.Step] = use.Uses
	}
	steps := make([]shownStep, len(named))
	for i, name := range named {
		as := judged[name.Step]
		steps[i] = shownStep{
			StepName: name, Fixed: as.Fixed,
			Strict: as.Strict, MaxCalls: as.MaxCalls, Uses: uses[name.Step],
		}
	}
	return steps, nil
}

// longestValue is how much of an argument is shown; --json shows all of it.
const longestValue = 80

// words are the tool of a step, its arguments and its limits:
// "bank.send_money  to: landlord  (no other arguments; 1 of 2 calls used)".
func (s shownStep) words() string {
	given := make([]string, len(s.Fixed))
	for i, argument := range s.Fixed {
		given[i] = argument.Name + ": " + brief(plainValue(argument.Value), longestValue)
	}
	words := s.Server + "." + s.Tool
	if len(given) > 0 {
		words += "  " + strings.Join(given, ", ")
	}
	var limits []string
	if s.Strict {
		limits = append(limits, "no other arguments")
	}
	if s.MaxCalls > 0 {
		limits = append(limits, fmt.Sprintf("%d of %s used", s.Uses, cli.Count(s.MaxCalls, "call")))
	}
	if len(limits) > 0 {
		words += "  (" + strings.Join(limits, "; ") + ")"
	}
	return words
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
