// Package drafting makes a first policy from a person's description.
//
// Without a language model, words of the description choose one of the templates. The
// answer names these words and says that the rest of the description was ignored. If
// the operator has set up a language model, it is asked instead.
//
// What a model writes is not trusted. It must answer with a policy and its tests, which
// are read by the same strict parsers as a person's, within tighter bounds. Its prose is
// removed, because people would read it as an explanation and agents as an instruction;
// the explanation is written here, from the rules. Secrets are removed from the
// description before it is sent.
//
// The result is a Draft. This package neither stores nor activates anything.
package drafting

import (
	"context"
	"strings"
	"time"
	"unicode/utf8"

	"writ/internal/fault"
	"writ/internal/policy/document"
	"writ/internal/policy/engine"
	"writ/internal/policy/lint"
	"writ/internal/policy/policytest"
	"writ/internal/policy/template"
)

// Limits of a description.
const (
	MaxWords = 2_000 // characters
	minWords = 3
)

// Origin is where a draft comes from.
type Origin string

// The origins. The zero value means a model if there is one, else a template.
const (
	FromTemplate Origin = "template"
	FromModel    Origin = "model"
)

// Request is what a person wants.
type Request struct {
	OrgID    string // whose limits apply
	Words    string // the description
	Name     string // of the policy; if empty, the draft has its own
	Origin   Origin
	Template string // its name; if empty, the words choose it
}

// Draft is a policy to read, to test and to change.
type Draft struct {
	Origin      Origin
	Template    string   // with FromTemplate
	Chosen      []string // the words that chose the template
	Text        string   // the document, as YAML
	Document    *document.Document
	Explanation []string // sentences on what it does
	Tests       string   // as YAML or JSON, for a policy in template.PolicyFile
	Results     []policytest.Result
	Findings    lint.Report
}

// Author makes drafts. The zero value only uses templates.
type Author struct {
	Model Model // may be nil
	// Take counts a question to the model against the organization's limit. Its error
	// ends the draft.
	Take func(ctx context.Context, orgID string) error
	// Timeout is for all questions to the model about one draft.
	Timeout time.Duration
}

// Model writes text. Its errors are faults that reveal nothing of its answer.
type Model interface {
	Complete(ctx context.Context, messages []Message) (string, error)
}

// Message is a part of a conversation with a model.
type Message struct {
	Role string // system, user or assistant
	Text string
}

// Write makes a draft.
func (a *Author) Write(ctx context.Context, r Request) (Draft, error) {
	r.Words, r.Name = strings.TrimSpace(r.Words), strings.TrimSpace(r.Name)
	if err := a.check(&r); err != nil {
		return Draft{}, err
	}
	if r.Origin == FromModel {
		return a.fromModel(ctx, r)
	}
	return fromTemplate(r)
}

// check validates a request and chooses its origin.
func (a *Author) check(r *Request) error {
	if n := utf8.RuneCountInString(r.Words); n < minWords || n > MaxWords {
		return fault.Field("description", "must be %d to %d characters", minWords, MaxWords)
	}
	if err := CheckName(r.Name); err != nil {
		return err
	}
	hasModel := a.Model != nil && a.Take != nil
	switch {
	case r.Template != "" && r.Origin == FromModel:
		return fault.Field("template", "a draft is made either from a template or by a model")
	case r.Origin == FromModel && !hasModel:
		return fault.Field("source", "no model is set up on this server (WRIT_DRAFT_URL); use template")
	case r.Template != "":
		r.Origin = FromTemplate
		if _, ok := template.Get(r.Template); !ok {
			return fault.Field("template", "must be one of %s", strings.Join(templateNames(), ", "))
		}
	case r.Origin == "" && hasModel:
		r.Origin = FromModel
	case r.Origin == "":
		r.Origin = FromTemplate
	}
	return nil
}

func templateNames() []string {
	var names []string
	for _, t := range template.All() {
		names = append(names, t.Name)
	}
	return names
}

// complete adds what follows from the policy and the results of its tests.
func (d Draft) complete(policy *engine.Policy, results []policytest.Result) Draft {
	d.Document, d.Results, d.Findings = policy.Document(), results, lint.Of(policy)
	d.Explanation = append(d.Explanation, Explain(d.Document)...)
	return d
}
