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

// Limits of what a model writes. A person may write more.
const (
	maxAnswer   = 64 << 10
	maxRules    = 50
	maxTests    = 50
	maxName     = 60
	maxProblems = 10 // that it is asked to correct
	attempts    = 2
)

//go:embed prompt.md
var prompt string

// description is the description of a policy that a model drafted.
const description = "Drafted by a language model from a person's words. Read it, and run its tests, before you activate it."

// fromModel asks for a policy, and once more if the answer is not valid.
func (a *Author) fromModel(ctx context.Context, r Request) (Draft, error) {
	ctx, cancel := context.WithTimeout(ctx, a.Timeout)
	defer cancel()
	messages := []Message{{"system", prompt}, {"user", redaction.Text(r.Words)}}
	var invalid *policytest.Invalid
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
		if !errors.As(err, &invalid) {
			return Draft{}, err
		}
		messages = append(messages[:2:2], Message{"assistant", shortened(answer)}, Message{"user", correct(invalid)})
	}
	return Draft{}, fault.Wrap(invalid, fault.Unavailable,
		"the model's answer is not a valid policy (%s); use other words, or begin with a template: \"source\": \"template\"", why(invalid))
}

// maxWhy bounds, in characters, what a person sees of an answer's problem, which may
// quote the answer.
const maxWhy = 200

// why is the first problem of an answer.
func why(invalid *policytest.Invalid) string {
	text := []rune(redaction.Text(invalid.Error()))
	if len(text) > maxWhy {
		text = append(text[:maxWhy], '…')
	}
	return string(text)
}

// shortened is the part of an answer that is sent back to the model.
func shortened(answer string) string {
	return strings.ToValidUTF8(answer[:min(len(answer), maxAnswer)], "")
}

func correct(invalid *policytest.Invalid) string {
	var b strings.Builder
	b.WriteString("That is not valid. Answer with the whole JSON object again. Its problems:\n")
	for _, p := range invalid.Problems[:min(len(invalid.Problems), maxProblems)] {
		fmt.Fprintf(&b, "- %s\n", p)
	}
	return b.String()
}

// readAnswer makes a draft from a model's answer. Its error is a *policytest.Invalid if
// the answer is not valid.
func readAnswer(answer, name string) (Draft, error) {
	if len(answer) > maxAnswer {
		return Draft{}, unusable("", "must be at most %d bytes", maxAnswer)
	}
	var parts struct {
		Policy jsontext.Value `json:"policy"`
		Tests  jsontext.Value `json:"tests"`
	}
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

// draftOf makes a draft from the model's document, without its prose, and tests.
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

// unfenced removes the Markdown fence that models put around their answer.
func unfenced(answer string) string {
	text := strings.TrimSpace(answer)
	inner, opened := strings.CutPrefix(text, "```")
	if inner, closed := strings.CutSuffix(strings.TrimPrefix(inner, "json"), "```"); opened && closed {
		return inner
	}
	return text
}

func unusable(field, format string, args ...any) error {
	return &policytest.Invalid{
		File: "answer", Problems: []document.Problem{{Field: field, Message: fmt.Sprintf(format, args...)}},
	}
}
