package writd

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"writ/internal/cli"
	"writ/internal/policy/document"
	"writ/internal/policy/engine"
	"writ/internal/policy/policytest"
	"writ/internal/toolcall"
)

// explained is what `policy explain --json` prints.
type explained struct {
	Tool     string       `json:"tool"`
	Decision string       `json:"decision"`
	Policy   string       `json:"policy,omitempty"`
	Rule     string       `json:"rule,omitempty"`
	Reason   string       `json:"reason"`
	Message  string       `json:"message,omitempty"`
	Confine  string       `json:"confine,omitempty"`
	Oblige   string       `json:"oblige,omitempty"`
	Rules    []considered `json:"rules"`
}

// considered is a rule that names the tool.
type considered struct {
	Policy  string `json:"policy"`
	Rule    string `json:"rule"`
	Effect  string `json:"effect"`
	Pattern string `json:"pattern"`
	Matched bool   `json:"matched"`
	Decided bool   `json:"decided"`
	Outcome string `json:"outcome"`
	When    string `json:"when,omitempty"`
	Steps   []step `json:"steps,omitempty"`
	Error   string `json:"error,omitempty"`
	Confine string `json:"confine,omitempty"`
}

// step is the value of a part of a condition.
type step struct {
	Expression string `json:"expression"`
	Value      string `json:"value,omitempty"`
	Error      string `json:"error,omitempty"`
}

func (c *command) policyExplain() *cobra.Command {
	var asJSON bool
	var policies []string
	var callFile string
	explain := &cobra.Command{
		Use: "explain --policy FILE --call FILE|-", Short: "Explain what policies decide about one call, and why",
		Long: `Explain what policies decide about one call, and why: which rule, which part of its condition, which value. The call is
written as in tests of policies, in YAML or JSON; - reads it from the standard input.`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			set, err := c.loadSet(policies)
			if err != nil {
				return err
			}
			call, err := c.readCall(callFile)
			if err != nil {
				return err
			}
			e := explanation(call, set.Explain(call, policytest.Unspent))
			return c.show(asJSON, e, explainText(e))
		},
	}
	explain.Flags().StringArrayVar(&policies, "policy", nil, "a policy; may be given several times")
	explain.Flags().StringVar(&callFile, "call", "", "the call")
	cli.RequireFlags(explain, "policy", "call")
	cli.JSONFlag(explain, &asJSON)
	return explain
}

func (c *command) loadSet(files []string) (*engine.Set, error) {
	policies := make([]*engine.Policy, len(files))
	for i, file := range files {
		policy, err := c.loadPolicy(file)
		if err != nil {
			return nil, inFile(file, err)
		}
		policies[i] = policy
	}
	return policytest.NewSet(policies...), nil
}

// readCall reads a call; without a time it happens now.
func (c *command) readCall(file string) (*toolcall.Call, error) {
	text, err := c.readFile(file, policytest.MaxBytes)
	if err != nil {
		return nil, fmt.Errorf("read the call: %w", err)
	}
	call, err := policytest.ReadCall(file, text)
	if err == nil && call.Now.IsZero() {
		call.Now = time.Now().UTC()
	}
	return call, err
}

func explanation(call *toolcall.Call, x engine.Explanation) explained {
	e := explained{
		Tool: policytest.Name(call), Decision: x.Decision.Verdict.String(), Policy: x.Decision.PolicyName,
		Rule:   x.Decision.Rule,
		Reason: x.Decision.Reason, Message: x.Decision.Message, Rules: make([]considered, len(x.Rules)),
	}
	if x.Decision.Confine != nil {
		e.Confine = x.Decision.Confine.String()
	}
	if !x.Decision.Oblige.IsZero() {
		e.Oblige = document.ObligeText(x.Decision.Oblige)
	}
	for i, r := range x.Rules {
		e.Rules[i] = considered{
			Policy:  r.PolicyName,
			Rule:    r.Rule,
			Effect:  r.Effect.String(),
			Pattern: string(r.Pattern),
			Matched: r.Matched,
			Decided: r.Decided,
			Outcome: string(r.Outcome),
			When:    r.When,
			Error:   r.Error,
		}
		if r.Confine != nil {
			e.Rules[i].Confine = r.Confine.String()
		}
		for _, s := range r.Steps {
			e.Rules[i].Steps = append(e.Rules[i].Steps, step{s.Expression, s.Value, s.Error})
		}
	}
	return e
}

func explainText(e explained) string {
	var b strings.Builder
	line := func(format string, a ...any) { b.WriteString(cli.Line(fmt.Sprintf(format, a...)) + "\n") }
	line("%s: %s", e.Tool, e.Decision)
	if e.Rule != "" {
		line("  policy   %s", e.Policy)
		line("  rule     %s", e.Rule)
	}
	line("  reason   %s", e.Reason)
	if e.Message != "" {
		line("  message  %s", e.Message)
	}
	if e.Confine != "" {
		line("  confine  %s", e.Confine)
	}
	if e.Oblige != "" {
		line("  oblige   %s", e.Oblige)
	}
	for _, r := range e.Rules {
		b.WriteString("\n")
		mark := " "
		if r.Decided {
			mark = ">"
		}
		line("%s %s/%s: %s %s, %s", mark, r.Policy, r.Rule, r.Effect, r.Pattern, matchWord(r))
		if r.Confine != "" {
			line("    confine: %s", r.Confine)
		}
		for _, s := range r.Steps {
			if s.Error != "" {
				line("    %s: %s", oneLine(s.Expression), s.Error)
			} else {
				line("    %s = %s", oneLine(s.Expression), s.Value)
			}
		}
		if r.Error != "" {
			line("    %s", r.Error)
		}
	}
	return b.String()
}

// outcomes are the outcomes of a rule in words.
var outcomes = map[engine.Outcome]string{
	engine.NotBound:    "its policy is not for this caller",
	engine.Always:      "it has no condition",
	engine.True:        "its condition is true",
	engine.False:       "its condition is false",
	engine.Failed:      "its condition could not be evaluated",
	engine.LimitLeft:   "its limit is not spent",
	engine.LimitSpent:  "its limit is spent",
	engine.LimitUnread: "its limit could not be read",
}

func matchWord(r considered) string {
	word := "does not match"
	if r.Matched {
		word = "matches"
	}
	if why, ok := outcomes[engine.Outcome(r.Outcome)]; ok {
		word += ": " + why
	}
	return word
}

// oneLine joins an expression that was wrapped.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

func (c *command) policyDiff() *cobra.Command {
	var asJSON bool
	diff := &cobra.Command{
		Use: "diff OLD NEW", Short: "Compare two policies, rule by rule", Args: cobra.ExactArgs(2),
		RunE: func(_ *cobra.Command, args []string) error {
			docs := make([]*document.Document, len(args))
			for i, file := range args {
				doc, err := c.loadDocument(file)
				if err != nil {
					return inFile(file, err)
				}
				docs[i] = doc
			}
			changes := document.Diff(docs[0], docs[1])
			return c.show(asJSON, map[string]any{"changes": changes}, diffText(changes))
		},
	}
	cli.JSONFlag(diff, &asJSON)
	return diff
}

func diffText(changes []document.Change) string {
	if len(changes) == 0 {
		return "no differences\n"
	}
	shown := make([]cli.Change, len(changes))
	for i, c := range changes {
		shown[i] = cli.Change{
			Kind:  string(c.Kind),
			Rule:  c.Rule,
			Field: c.Field,
			Old:   c.Old,
			New:   c.New,
		}
	}
	return cli.ChangeLines(shown)
}
