package drafting

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"writ/internal/policy/document"
	"writ/internal/policy/policytest"
	"writ/internal/policy/template"
)

// topics are the beginnings of words that choose each template. The template with the
// most different matches wins; of several, the first, which is the most restrictive.
var topics = []struct{ template, stems string }{
	{"payments", "pay refund invoice money transfer bank stripe payee euro dollar amount checkout purchas"},
	{"support-inbox", "mail email inbox support customer ticket reply replies draft helpdesk gmail outlook"},
	{"coding-agent", `cod shell bash terminal repo git develop program commit command build compil gemini claude codex
		workspace deploy`},
	{"read-only", "read look search list question research browse query queries answer analys report"},
}

// fallback is the template if no word chooses one.
const fallback = "starter"

// choose returns the template for a description, and the words that chose it.
func choose(words string) (name string, chosen []string) {
	spoken := strings.FieldsFunc(strings.ToLower(words), func(r rune) bool { return !unicode.IsLetter(r) })
	name, best := fallback, 0
	for _, topic := range topics {
		var hits []string
		stems := 0
		for stem := range strings.FieldsSeq(topic.stems) {
			i := slices.IndexFunc(spoken, func(word string) bool { return strings.HasPrefix(word, stem) })
			if i < 0 {
				continue
			}
			stems++
			if !slices.Contains(hits, spoken[i]) {
				hits = append(hits, spoken[i])
			}
		}
		if stems > best {
			name, chosen, best = topic.template, hits, stems
		}
	}
	return name, chosen
}

func fromTemplate(r Request) (Draft, error) {
	d := Draft{Origin: FromTemplate, Template: r.Template}
	if d.Template == "" {
		d.Template, d.Chosen = choose(r.Words)
	}
	t, ok := template.Get(d.Template)
	if !ok {
		return Draft{}, fmt.Errorf("draft a policy: there is no template %s", d.Template)
	}
	d.Text, d.Tests = renamed(t.Text, r.Name), t.Tests
	readPolicy := func(string) ([]byte, error) { return []byte(d.Text), nil }
	tests, err := policytest.Read("tests.yaml", []byte(d.Tests), readPolicy)
	if err != nil {
		return Draft{}, fmt.Errorf("draft a policy from the template %s: %w", d.Template, err)
	}
	d.Explanation = []string{d.why(r, t.Title)}
	return d.complete(tests.Policies[0], tests.Run()), nil
}

// why says how the template was chosen.
func (d Draft) why(r Request, title string) string {
	reason := "The request names it."
	switch {
	case r.Template == "" && len(d.Chosen) == 0:
		reason = "No other template fits the words, so this is the one for any agent."
	case r.Template == "":
		reason = "The words that chose it: " + strings.Join(d.Chosen, ", ") + "."
	}
	return fmt.Sprintf("This is the template %s (%s), unchanged. %s The rest of the description was ignored: change names, amounts and addresses to yours.", d.Template, title, reason)
}

// Explain says what each rule does, from its structure and not its prose.
func Explain(doc *document.Document) []string {
	sentences := []string{fmt.Sprintf("When no rule matches: %s.", doc.Default)}
	for i := range doc.Rules {
		sentences = append(sentences, explainRule(&doc.Rules[i]))
	}
	return sentences
}

// maxNamed is how many tools a sentence names. It names all patterns with a star.
const maxNamed = 6

func explainRule(rule *document.Rule) string {
	var tools, plain []string
	for _, pattern := range rule.Tools {
		if strings.Contains(string(pattern), "*") {
			tools = append(tools, string(pattern))
		} else {
			plain = append(plain, string(pattern))
		}
	}
	tools = append(tools, plain[:min(len(plain), max(0, maxNamed-len(tools)))]...)
	sentence := fmt.Sprintf("%s: %s for %s", rule.ID, rule.Effect, strings.Join(tools, ", "))
	if more := len(rule.Tools) - len(tools); more > 0 {
		sentence += fmt.Sprintf(" and %d more", more)
	}
	if rule.When != "" {
		sentence += ", when " + strings.Join(strings.Fields(rule.When), " ")
	}
	if rule.Limit != nil {
		sentence += fmt.Sprintf(", limit {%s}", rule.Limit)
	}
	if rule.Confine != nil {
		sentence += fmt.Sprintf(", confine {%s}, otherwise %s", rule.Confine, rule.Otherwise)
	}
	if rule.Obliges() {
		sentence += ", " + obligeWords(rule.Oblige)
	}
	if rule.Approvers != nil {
		sentence += fmt.Sprintf(", approvers {%s}", rule.Approvers)
	}
	return sentence + "."
}

// obligeWords say what must be done with a result, and nothing of what is not demanded.
func obligeWords(o *document.Obligations) string {
	var words []string
	if len(o.Redact) > 0 {
		words = append(words, fmt.Sprintf("redact %q", o.Redact))
	}
	if len(o.Labels) > 0 {
		words = append(words, fmt.Sprintf("labels %q", o.Labels))
	}
	if o.MaxBytes > 0 {
		words = append(words, fmt.Sprintf("at most %d bytes", o.MaxBytes))
	}
	return strings.Join(words, ", ")
}
