// Package drafting makes a first policy out of a few words of a person.
//
// Most of what people ask for has been asked before: without a model the words
// choose one of the templates, and the answer says which words did and that
// nothing else of what was written is in it. Where the operator has set up a
// language model, it is asked instead.
//
// What a model writes is not trusted. It is asked for one file in the form of
// package suite, a policy with tests, and its answer is read by the same strict
// reader as a person's, within tighter bounds. What it says in prose, which would
// be read by people as an explanation and by agents as an instruction, is taken
// out: the explanation is written here, from the rules alone. Secrets are taken
// out of the words before they leave.
//
// The result is a Draft. Nothing here stores anything or puts it in force.
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

// Limits of what is asked for.
const (
	MaxWords = 2_000 // characters
	minWords = 3
)

// Origin is where a draft comes from.
type Origin string

// The origins. The zero value leaves the choice to the author: a model where there
// is one, else a template.
const (
	FromTemplate Origin = "template"
	FromModel    Origin = "model"
)

// Request is what a person wants.
type Request struct {
	OrgID    string // whose limits count
	Words    string
	Name     string // of the policy; empty: the draft's own
	Origin   Origin
	Template string // by its name; empty: chosen by the words
}

// Draft is a policy to read, to test and to change.
type Draft struct {
	Origin      Origin
	Template    string   // with FromTemplate
	Chosen      []string // the words that chose the template
	Text        string   // the document, as YAML
	Document    *document.Document
	Explanation []string // what it does, a sentence each
	Tests       string   // as YAML or JSON, for a policy in template.PolicyFile beside them
	Results     []policytest.Result
	Findings    lint.Report
}

// Author makes drafts. The zero value knows templates alone.
type Author struct {
	// Model is asked where the words are to be more than a choice; nil: there is none.
	Model Model
	// Take counts a question to the model against what an organization may spend;
	// its fault ends the draft.
	Take func(ctx context.Context, orgID string) error
	// Timeout is how long the model gets for a draft, all questions together.
	Timeout time.Duration
}

// Model writes text. Its errors are faults that tell nothing of its answer.
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

// check refuses what cannot be drafted, and settles where it is drafted from.
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
		return fault.Field("template", "a draft is either a template or from a model")
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

// complete adds to a draft what follows from its document and tests.
func (d Draft) complete(policy *engine.Policy, results []policytest.Result) Draft {
	d.Document, d.Results, d.Findings = policy.Document(), results, lint.Of(policy)
	d.Explanation = append(d.Explanation, explain(d.Document)...)
	return d
}
