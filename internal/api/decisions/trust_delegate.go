package decisions

import (
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"writ/internal/api/route"
	"writ/internal/fault"
	"writ/internal/intent"
	"writ/internal/intent/plan"
)

// DelegateBody documents what is asked for. With parentToken or subtreePath it is the form of current SDKs, which show
// the plan's token with the sub-tree afterwards; else a token of its own is issued.
type DelegateBody struct {
	_ struct{} `additionalProperties:"false"`

	Token     *PresentedTokenBody `json:"token,omitempty" doc:"The token of the plan or delegation, as it was issued. That of a delegation needs a proof of possession in X-Writ-Proof."`
	Delegate  string              `json:"delegate_public_key,omitempty" doc:"Ed25519, in hex or base64: whoever holds the private half may use the delegation."`
	Seconds   float64             `json:"validity_seconds,omitempty" doc:"Absent: 3600. A delegation never outlives its parent."`
	Actions   []string            `json:"allowed_actions,omitempty" nullable:"false" doc:"The tools that are delegated. Absent: all of the parent's."`
	Agent     string              `json:"target_agent,omitempty" doc:"The agent that may use it. Absent: whoever holds the key."`
	Subtask   map[string]any      `json:"subtask,omitempty" doc:"What it is for: goal. With steps it is the plan that is delegated, as plan."`
	Plan      *DeclaredPlanBody   `json:"plan,omitempty" doc:"What is delegated, as a plan: every step must be covered by one of the parent's, and may fix more arguments or limit its calls."`
	Budget    int64               `json:"budget,omitempty" minimum:"1" doc:"How many calls may be made under it and what is delegated from it. Absent: as many as under the parent."`
	MaxDepth  *int                `json:"max_depth,omitempty" minimum:"0" maximum:"7" doc:"How many delegations may follow. Absent: as many as the parent permits."`
	Parent    *PresentedTokenBody `json:"parentToken,omitempty" doc:"In the form of current SDKs: the token of the plan."`
	Whole     map[string]any      `json:"parentPlan,omitempty" nullable:"true" doc:"In that form: a copy of the plan, which is not read."`
	Path      string              `json:"subtreePath,omitempty" doc:"In that form: the part of the plan." example:"/steps/[0]"`
	PublicKey string              `json:"delegatePublicKey,omitempty" doc:"In that form: the delegate's key, which is only recorded."`
	Validity  float64             `json:"validitySeconds,omitempty" doc:"In that form: validity_seconds."`
	PlanID    string              `json:"planId,omitempty" doc:"In that form: the plan, which must be the token's."`
	Reference string              `json:"intentReference,omitempty" doc:"In that form: its reference."`
}

// wireDelegate is what is read of a request.
type wireDelegate struct {
	Token     jsontext.Value `json:"token"`
	Delegate  *string        `json:"delegate_public_key"`
	Seconds   *float64       `json:"validity_seconds"`
	Actions   []string       `json:"allowed_actions"`
	Agent     *string        `json:"target_agent"`
	Subtask   jsontext.Value `json:"subtask"`
	Plan      jsontext.Value `json:"plan"`
	Budget    *int64         `json:"budget"`
	MaxDepth  *int           `json:"max_depth"`
	Parent    jsontext.Value `json:"parentToken"`
	Path      *string        `json:"subtreePath"`
	PublicKey *string        `json:"delegatePublicKey"`
	Validity  *float64       `json:"validitySeconds"`
	PlanID    *string        `json:"planId"`
	Reference *string        `json:"intentReference"`

	ParentPlan jsontext.Value            `json:"parentPlan"` // a copy that is not read
	Others     map[string]jsontext.Value `json:",embed"`
}

// delegateMembers are the members of a request that mean something.
var delegateMembers = strings.Join([]string{
	"token", "delegate_public_key", "validity_seconds", "allowed_actions", "plan", "budget", "max_depth",
	"target_agent", "subtask",
}, ", ")

// check refuses members that are not what they should be. A token may also be a text, as it was issued. A member that
// is not known is refused too: a misspelled restriction would delegate all of the plan.
func (in *wireDelegate) check() error {
	for _, name := range slices.Sorted(maps.Keys(in.Others)) {
		return fault.Field(name, "is not known here; expected %s", delegateMembers)
	}
	if isSent(in.Plan) && in.Actions != nil {
		return fault.Field("allowed_actions", "must be absent beside plan, which says by its steps what is delegated")
	}
	if other, sent := in.ofOtherForm(); sent {
		return fault.Field(other, "must be absent here: it belongs to the other form of a request, beside %s",
			map[bool]string{true: "token", false: "parentToken"}[in.isEnvelope()])
	}
	for _, member := range []struct {
		name   string
		value  jsontext.Value
		asText bool
	}{
		{"token", in.Token, true}, {"parentToken", in.Parent, true}, {"parentPlan", in.ParentPlan, false},
		{"plan", in.Plan, false}, {"subtask", in.Subtask, false},
	} {
		kind := member.value.Kind()
		if isSent(member.value) && kind != jsontext.KindBeginObject && !(member.asText && kind == jsontext.KindString) {
			return fault.Field(member.name, "has a value of the wrong type")
		}
	}
	return nil
}

// isEnvelope reports whether a request has the form of current SDKs.
func (in *wireDelegate) isEnvelope() bool { return isSent(in.Parent) || in.Path != nil }

// ofOtherForm is a member that means something in the other form alone: passed over, it would restrict nothing. Null is
// none, as some clients write it.
func (in *wireDelegate) ofOtherForm() (name string, sent bool) {
	envelope := in.isEnvelope()
	for _, member := range []struct {
		name           string
		sent, envelope bool
	}{
		{"token", isSent(in.Token), false}, {"delegate_public_key", in.Delegate != nil, false},
		{"validity_seconds", in.Seconds != nil, false}, {"allowed_actions", in.Actions != nil, false},
		{"target_agent", in.Agent != nil, false}, {"subtask", isSent(in.Subtask), false},
		{"plan", isSent(in.Plan), false}, {"budget", in.Budget != nil, false},
		{"max_depth", in.MaxDepth != nil, false},
		{"delegatePublicKey", in.PublicKey != nil, true}, {"validitySeconds", in.Validity != nil, true},
		{"planId", in.PlanID != nil, true}, {"intentReference", in.Reference != nil, true},
	} {
		if member.sent && member.envelope != envelope {
			return member.name, true
		}
	}
	return "", false
}

// request is what is asked for, in either shape.
func (in *wireDelegate) request() (r intent.DelegateRequest, err error) {
	r.Envelope = in.isEnvelope()
	token, field := in.Token, "token"
	if r.Envelope {
		token, field = in.Parent, "parentToken"
	}
	if !isSent(token) {
		return r, fault.Field(field, "must be the token of a plan, as it was issued")
	}
	if r.Parent = plan.ParsePresented(token); r.Parent.IsZero() {
		return r, fault.Field(field, "must be the token of a plan, as it was issued")
	}
	if r.Envelope {
		return in.envelope(r)
	}
	r.Delegate, r.AgentID = route.OrEmpty(in.Delegate), route.OrEmpty(in.Agent)
	r.ExpiresIn, r.Actions, r.Further = in.Seconds, in.Actions, in.MaxDepth
	if in.Budget != nil {
		if r.Budget = *in.Budget; r.Budget < 1 {
			return r, fault.Field("budget", "must be at least 1")
		}
	}
	if isSent(in.Plan) {
		r.Plan = in.Plan
	}
	return r, in.subtask(&r)
}

func isSent(v jsontext.Value) bool { return len(v) > 0 && v.Kind() != jsontext.KindNull }

// envelope reads the form of current SDKs.
func (in *wireDelegate) envelope(r intent.DelegateRequest) (intent.DelegateRequest, error) {
	r.Delegate, r.ExpiresIn = route.OrEmpty(in.PublicKey), in.Validity
	if r.Subtree = strings.TrimSpace(route.OrEmpty(in.Path)); r.Subtree == "" {
		return r, fault.Field("subtreePath", "must be a part of the plan: /steps/[0] or /")
	}
	if id := route.OrEmpty(in.PlanID); id != "" {
		if r.Parent.PlanID != "" && r.Parent.PlanID != id {
			return r, fault.Field("planId", "must be the plan of the token")
		}
		r.Parent.PlanID = id
	}
	if ref := route.OrEmpty(in.Reference); ref != "" {
		if r.Parent.Reference != "" && r.Parent.Reference != ref {
			return r, fault.Field("intentReference", "must be that of the token")
		}
		r.Parent.Reference = ref
	}
	return r, nil
}

// subtask reads what a delegation is for.
func (in *wireDelegate) subtask(r *intent.DelegateRequest) error {
	if !isSent(in.Subtask) {
		return nil
	}
	var task struct {
		Goal  jsontext.Value `json:"goal"`
		Steps jsontext.Value `json:"steps"`
	}
	if err := json.Unmarshal(in.Subtask, &task); err != nil {
		return fault.Field("subtask", "cannot be read")
	}
	if isSent(task.Steps) && r.Plan != nil {
		return fault.Field("subtask", "must have no steps beside plan, which says by its own what is delegated")
	}
	if isSent(task.Steps) {
		r.Plan = in.Subtask
	}
	if isSent(task.Goal) && task.Goal.Kind() == jsontext.KindString {
		return json.Unmarshal(task.Goal, &r.Goal)
	}
	return nil
}
