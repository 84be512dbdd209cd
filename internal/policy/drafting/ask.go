package drafting

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"writ/internal/fault"
	"writ/internal/policy/document"
	"writ/internal/policy/policytest"
	"writ/internal/policy/template"
	"writ/internal/redaction"
)

// Bounds of what a model writes; a person may write more.
const (
	maxAnswer   = 64 << 10
	maxRules    = 50
	maxTests    = 50
	maxName     = 60
	maxProblems = 10 // that it is told to mend
	attempts    = 2
)

//go:embed prompt.md
var prompt string

// description is what a draft of a model says of itself.
const description = "Drafted by a language model from a person's words. Read it, and run its tests, before it is put in force."

// fromModel asks for a policy, and once more where the answer cannot be used.
func (a *Author) fromModel(ctx context.Context, r Request) (Draft, error) {
	ctx, cancel := context.WithTimeout(ctx, a.Timeout)
	defer cancel()
	messages := []Message{{"system", prompt}, {"user", redaction.Text(r.Words)}}
	var unusable *policytest.Invalid
	for range attempts {
		if err := a.Take(ctx, r.OrgID); err != nil {
			return Draft{}, err
		}
		answer, err := a.Model.Complete(ctx, messages)
		if err != nil {
			return Draft{}, err
		}
		draft, err := readAnswer(answer, r.Name)
		if err == nil {
			return draft, nil
		}
		if !errors.As(err, &unusable) {
			return Draft{}, err
		}
		messages = append(messages[:2:2], Message{"assistant", shortened(answer)}, Message{"user", mend(unusable)})
	}
	return Draft{}, fault.Wrap(unusable, fault.Unavailable,
		"the model's answer is not a policy that can be used (%s); say it in other words, or begin with a template: \"source\": \"template\"", why(unusable))
}

// maxWhy bounds, in characters, what a person is told of an answer: it may quote it.
const maxWhy = 200

// why is what is wrong with an answer, the first of it.
func why(unusable *policytest.Invalid) string {
	text := []rune(redaction.Text(unusable.Error()))
	if len(text) > maxWhy {
		text = append(text[:maxWhy], '…')
	}
	return string(text)
}

// shortened is as much of an answer as is shown to its author again.
func shortened(answer string) string {
	return strings.ToValidUTF8(answer[:min(len(answer), maxAnswer)], "")
}

// mend tells a model what is wrong with its answer.
func mend(unusable *policytest.Invalid) string {
	var b strings.Builder
	b.WriteString("That cannot be used. Answer with the whole JSON object again. What is wrong with it:\n")
	for _, p := range unusable.Problems[:min(len(unusable.Problems), maxProblems)] {
		fmt.Fprintf(&b, "- %s\n", p)
	}
	return b.String()
}

// answered is the file that a model is asked for. Its parts are read by those who
// read them of a person.
type answered struct {
	Policy jsontext.Value `json:"policy"`
	Tests  jsontext.Value `json:"tests"`
}

// readAnswer makes a draft of what a model wrote. Its error is a *suite.Invalid
// where the model is at fault.
func readAnswer(answer, name string) (Draft, error) {
	if len(answer) > maxAnswer {
		return Draft{}, unusable("", "must be at most %d bytes", maxAnswer)
	}
	var parts answered
	err := json.Unmarshal([]byte(unfenced(answer)), &parts, json.RejectUnknownMembers(true))
	if err != nil || parts.Policy.Kind() != '{' || parts.Tests.Kind() != '[' {
		return Draft{}, unusable("", "must be one JSON object with the members policy, an object, and tests, a list")
	}
	doc, err := document.Parse(parts.Policy, document.JSON)
	if invalid, ok := errors.AsType[*document.Invalid](err); ok {
		return Draft{}, &policytest.Invalid{File: "policy", Problems: invalid.Problems}
	}
	if err != nil {
		return Draft{}, unusable("policy", "cannot be read")
	}
	if len(doc.Rules) == 0 || len(doc.Rules) > maxRules {
		return Draft{}, unusable("policy.rules", "must hold 1 to %d rules", maxRules)
	}
	if len(doc.Name) > maxName {
		return Draft{}, unusable("policy.name", "must be at most %d bytes", maxName)
	}
	return draftOf(doc, parts.Tests, name)
}

// draftOf is the model's document without its prose, with its tests.
func draftOf(doc *document.Document, tests jsontext.Value, name string) (Draft, error) {
	doc.Description = description
	for i := range doc.Rules {
		if hasComment(doc.Rules[i].When) {
			return Draft{}, unusable(fmt.Sprintf("policy.rules[%d].when", i), "must not hold a comment")
		}
		doc.Rules[i].Description, doc.Rules[i].Message = "", ""
	}
	d := Draft{Origin: FromModel, Text: renamed(string(document.Render(doc)), name)}
	named, err := nameTests(tests)
	if err != nil {
		return Draft{}, err
	}
	file, err := json.Marshal(map[string]any{"policy": template.PolicyFile, "tests": named}, jsontext.WithIndent("  "),
		json.Deterministic(true))
	if err != nil {
		return Draft{}, unusable("tests", "cannot be read")
	}
	d.Tests = string(file) + "\n"
	read, err := policytest.Read("tests.json", file, func(string) ([]byte, error) { return []byte(d.Text), nil })
	if err != nil {
		return Draft{}, err
	}
	if len(read.Tests) > maxTests {
		return Draft{}, unusable("tests", "must hold at most %d tests", maxTests)
	}
	d.Explanation = []string{
		"This was drafted by a language model. The sentences below were not written by it: they follow from the rules.",
		aboutTests(read.Tests),
	}
	return d.complete(read.Policies[0], read.Run()), nil
}

// unfenced takes off the fence of Markdown that models put around what they were
// asked for.
func unfenced(answer string) string {
	text := strings.TrimSpace(answer)
	inner, ok := strings.CutPrefix(text, "```json")
	if !ok {
		inner, ok = strings.CutPrefix(text, "```")
	}
	if inner, closed := strings.CutSuffix(inner, "```"); ok && closed {
		return inner
	}
	return text
}

func unusable(field, format string, args ...any) error {
	return &policytest.Invalid{
		File: "answer", Problems: []document.Problem{{Field: field, Message: fmt.Sprintf(format, args...)}},
	}
}
