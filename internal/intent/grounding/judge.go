package grounding

import "slices"

// Options are an organization's choices.
type Options struct {
	// UnplannedBeforeText lets a call that is not in the plan pass while only the user can have spoken.
	UnplannedBeforeText bool
}

// Judge judges a call by what is known. The first rule that fits decides.
func Judge(k *Known, p Plan, call Call, opts Options) Result {
	reader := &argumentReader{call: &call}
	reader.object("", call.Arguments, 0)
	arguments := reader.found
	if call.Class == Read && !reader.over && !slices.ContainsFunc(arguments, argument.reaches) {
		return Result{Pass: true, Rule: FreeRead}
	}
	if call.Class != Read && p.Declared && !p.Planned && (!k.clean || !opts.UnplannedBeforeText) {
		return Result{Rule: NotPlanned, Identities: identitiesOf(arguments)}
	}
	result := Result{Pass: true, Rule: Grounded, Identities: identitiesOf(arguments)}
	if k.clean {
		result.Rule = OnlyUser
		return result
	}
	if reader.over {
		result.Doubts = append(result.Doubts, Reason{Argument: "arguments", Origin: Nowhere})
	}
	j := newJudge(k, &p, &call)
	for i := range arguments {
		if reason, doubt := j.argument(&arguments[i]); doubt && !slices.Contains(result.Doubts, reason) {
			result.Doubts = append(result.Doubts, reason)
		}
	}
	if len(result.Doubts) > 0 {
		result.Pass, result.Rule = false, Ungrounded
	}
	return result
}

func identitiesOf(arguments []argument) []string {
	var list []string
	for _, a := range arguments {
		if a.kind == Identity && !slices.Contains(list, a.folded) {
			list = append(list, a.folded)
		}
	}
	return list
}

func (a argument) reaches() bool { return reaches(a.name, a.value) }

// judge judges the arguments of one call.
type judge struct {
	*Known
	plan  *Plan
	call  *Call
	given []string // as identities are compared
	// ledTo are the outputs of which it is known whether only a text asked for them.
	ledTo map[*Output]bool
}

func newJudge(k *Known, p *Plan, call *Call) *judge {
	j := &judge{Known: k, plan: p, call: call}
	for _, value := range p.Given {
		j.given = append(j.given, identity(value))
	}
	return j
}

// argument says where an argument comes from, and whether that is in doubt.
func (j *judge) argument(a *argument) (Reason, bool) {
	switch a.kind {
	case Scalar:
		return Reason{}, false
	case Prose:
		return j.prose(a)
	}
	found := j.identity(a.name, a.value, a.folded)
	found.Argument = a.path
	return found, !found.Origin.grounds()
}

func (o Origin) grounds() bool {
	switch o {
	case FromUser, FromPlan, FromUsed, FromField, FromRead:
		return true
	}
	return false
}

// identity finds the origin of an identity, the best first.
func (j *judge) identity(name, value, folded string) Reason {
	if origin, ok := j.own(folded); ok {
		return Reason{Origin: origin}
	}
	kind := addressOf(name, value)
	field := j.field(folded, kind)
	if field.Origin == FromField {
		return field
	}
	text := j.text(name, folded, kind)
	if text.Origin == FromRead || field.Origin == "" {
		return text
	}
	if field.Origin == FromEcho && text.Origin == FromText {
		return text
	}
	return field
}

// own reports whether a value is the user's, the plan's or was used before.
func (j *judge) own(folded string) (Origin, bool) {
	switch {
	case j.user.hold(folded):
		return FromUser, true
	case slices.Contains(j.given, folded):
		return FromPlan, true
	case j.plan.Used != nil && j.plan.Used(folded):
		return FromUsed, true
	}
	return "", false
}
