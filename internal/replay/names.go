package replay

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"writ/internal/decision"
	"writ/internal/intent/plan"
	"writ/internal/policy/engine"
	"writ/internal/toolcall"
	"writ/internal/toolname"
	"writ/internal/verdict"
)

// names are the further names under which a call of a plan was judged: those of all
// steps that it fits, as the plan and as the call spells them. The strictest answer
// counts.
type names struct {
	surely  []toolName // of the step that was used, or the only one
	perhaps []toolName // of others with the tool; their arguments are not compared
	// forgotten: the plan is unknown.
	forgotten bool
}

type toolName struct{ server, tool string }

// readPlan finds the steps that the call may have fitted.
func (k *Known) readPlan(call *toolcall.Call, r decision.Record, declared *plan.Plan) {
	if declared == nil {
		return
	}
	steps := declared.Fit(plan.Call{Tool: r.Called(), NoArguments: true}).Steps
	if len(steps) == 0 {
		return // the client asked without arguments, under another name
	}
	k.names.forgotten = false
	used := -1
	if len(steps) == 1 {
		used = steps[0]
		call.Intent.Step = strconv.Itoa(used)
		k.gaps = k.gaps.Without("intent", "step")
	} else if n, err := strconv.Atoi(r.Step); err == nil {
		used = n
	}
	for _, i := range steps {
		for _, n := range declared.Steps[i].Names(r.Called()) {
			k.names.add(toolName{n.Server, n.Tool}, i == used, n.Naming != toolname.Certain)
		}
	}
	k.readHost(r, declared.Source)
}

// readHost adds the harness's own tool that a bare name may mean. Policies judged it
// too, unless the plan puts the tool there anyway, or the client stated the server,
// which no record says.
func (k *Known) readHost(r decision.Record, planSource string) {
	host, ok := toolname.BareHost(r.Called(), cmp.Or(r.Source, planSource))
	placed := slices.ContainsFunc(k.names.surely, func(n toolName) bool {
		return n.server == toolname.Local || ok && n.server == host
	})
	switch {
	case placed:
	case ok:
		k.names.add(toolName{host, strings.TrimSpace(r.Tool)}, false, false)
	case r.Erased && toolname.IsBare(r.Tool):
		k.names.forgotten = true // the source was erased
	}
}

func (n *names) add(name toolName, surely, restricts bool) {
	switch {
	case restricts: // judged on whatever server the call is
	case surely && !slices.Contains(n.surely, name):
		n.surely = append(n.surely, name)
	case !surely && !slices.Contains(n.perhaps, name):
		n.perhaps = append(n.perhaps, name)
	}
}

// join combines an answer with those about the other names of a call.
func (n *names) join(
	outlook engine.Outlook, call *toolcall.Call, under func(*toolcall.Call) engine.Outlook,
) engine.Outlook {
	if denied, ok := outlook.Possible().Only(); ok && denied == verdict.Deny {
		return outlook // nothing is stricter
	}
	if n.forgotten {
		outlook.Claims, outlook.ByRules = inDoubt(outlook.Claims), anyVerdict
		return outlook
	}
	named := func(name toolName) engine.Outlook {
		other := *call
		other.Server, other.Tool = name.server, name.tool
		return under(&other)
	}
	for _, name := range n.surely {
		if name != (toolName{call.Server, call.Tool}) {
			outlook = stricter(outlook, named(name))
		}
	}
	for _, name := range n.perhaps {
		if name == (toolName{call.Server, call.Tool}) || slices.Contains(n.surely, name) {
			continue
		}
		second := named(name)
		both := stricter(outlook, second)
		outlook.Claims = append(outlook.Claims[:len(outlook.Claims):len(outlook.Claims)], inDoubt(second.Claims)...)
		outlook.ByRules |= both.ByRules
		outlook.ByDefault |= both.ByDefault
		outlook.MayConfine = outlook.MayConfine || second.MayConfine
	}
	return outlook
}
