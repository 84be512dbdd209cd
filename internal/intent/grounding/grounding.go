// Package grounding says where the values of a call come from: from the user, from an
// earlier call, from a field of a tool's output, or only from running text that a tool
// returned. Whoever writes that text can be anyone, so a person is asked before a call
// acts on it.
//
// The package is pure: no database, no clock, no model. Known is what is known of a
// session, and Judge judges one call by it and by its plan. The same input always gives the same answer.
//
// Whatever is in doubt is held. An output that was not reported is unknown, and what is
// unknown grounds nothing.
package grounding

// Limits of what is known of a session.
const (
	MaxOutputs = 64
	MaxBytes   = 512 << 10 // of all outputs
	MaxPrompt  = 64 << 10  // of one prompt
	MaxPrompts = 256 << 10 // of all prompts of a session
	MaxMay     = 100       // tools that may be needed
)

// Words that make a leaf of an output running text, and long text.
const (
	runningWords = 5
	longWords    = 12
)

// Origin is where a value comes from.
type Origin string

// The origins. Only the first five ground a value.
const (
	FromUser  Origin = "user"  // the user's words
	FromPlan  Origin = "plan"  // a value that the plan gives
	FromUsed  Origin = "used"  // an earlier call of the plan that ran
	FromField Origin = "field" // a whole field of an output
	FromRead  Origin = "read"  // text that the user pointed at
	FromText  Origin = "text"  // running text alone
	FromEcho  Origin = "echo"  // an output that gives back what its call asked with
	FromCopy  Origin = "copy"  // prose: a part of running text
	FromLink  Origin = "link"  // prose: a URL of running text
	Nowhere   Origin = "nowhere"
)

// Reason says where one argument of a call comes from, without its value.
type Reason struct {
	Argument string `json:"argument" doc:"The argument's name."`
	Origin   Origin `json:"origin" doc:"Where its value stands: text (only in running text), echo (only in an output that gives back what was asked), copy (prose: a part of a text), link (prose: a link from a text), nowhere."`
	Of       string `json:"of,omitempty" doc:"The tool that returned it."`
	Ordered  bool   `json:"ordered,omitempty" doc:"Whether the text orders to use it."`
}

// Rule is what decided about a call.
type Rule string

// The rules, in the order in which they are asked.
const (
	FreeRead   Rule = "free_read"   // a read that reaches no other host
	OnlyUser   Rule = "only_user"   // no running text yet: only the user can have spoken
	NotPlanned Rule = "not_in_plan" // neither a step nor a tool that may be needed
	Grounded   Rule = "grounded"
	Ungrounded Rule = "ungrounded"
)

// Result is the judgement of a call. The zero value does not pass.
type Result struct {
	Pass bool
	Rule Rule
	// Doubts are the arguments in doubt, if the rule is Ungrounded.
	Doubts []Reason
	// Identities are what the call uses once it runs, as they are compared. A free read uses none.
	Identities []string
}
