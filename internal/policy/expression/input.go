package expression

import (
	"fmt"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/functions"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"

	"writ/internal/policy/shell"
	"writ/internal/toolcall"
)

// Input is a call as conditions see it. It caches parsed commands, so that ten
// rules over one command parse it once, and counts the work of all conditions. It
// is for one goroutine and must not be copied.
type Input struct {
	call     *toolcall.Call
	work     uint64
	commands map[string]*shell.Command
}

// NewInput prepares a call for evaluation. The call must not change afterwards.
func NewInput(call *toolcall.Call) *Input { return &Input{call: call} }

// Work is how many steps all evaluations over this input took so far.
func (i *Input) Work() uint64 { return i.work }

func (i *Input) charge(details *cel.EvalDetails) {
	if cost := details.ActualCost(); cost != nil {
		i.work += *cost
	}
}

var noArgs = map[string]any{}

// ResolveName finds a variable. Objects are pointers into the call, so that
// reading a field does not copy the others.
func (i *Input) ResolveName(name string) (any, bool) {
	switch name {
	case "args":
		if i.call.Args == nil {
			return noArgs, true
		}
		return i.call.Args, true
	case "tool":
		_, tool := i.call.Name()
		return types.String(tool), true
	case "server":
		server, _ := i.call.Name()
		return types.String(server), true
	case "agent":
		return &i.call.Agent, true
	case "user":
		return &i.call.User, true
	case "org":
		return &i.call.Org, true
	case "session":
		return &i.call.Session, true
	case "intent":
		return &i.call.Intent, true
	case "labels":
		return i.call.Labels, true
	case "environment":
		return types.String(i.call.Environment), true
	case "now":
		return types.Timestamp{Time: i.call.Now.UTC()}, true
	}
	return nil, false
}

// Parent is nil: there are no variables but ours.
func (i *Input) Parent() cel.Activation { return nil }

// ResolveFunction finds the functions that need more than their arguments.
func (i *Input) ResolveFunction(name string) (functions.LateBoundOp, bool) {
	switch name {
	case "shell":
		return i.shell, true
	case "path":
		return i.path, true
	}
	return nil, false
}

func (i *Input) shell(_ string, args ...ref.Val) ref.Val {
	return onText(args[0], func(text string) ref.Val {
		if len(text) > maxShell {
			return types.WrapErr(failure(fmt.Sprintf("shell: the command is longer than %d bytes", maxShell)))
		}
		if i.commands == nil {
			i.commands = map[string]*shell.Command{}
		}
		if i.commands[text] == nil {
			i.commands[text] = new(shell.Parse(text))
		}
		return object{kind: shellKind, value: i.commands[text]}
	})
}

func (i *Input) path(_ string, args ...ref.Val) ref.Val {
	parse := func(text string) (location, error) { return parsePath(text, i.call.ResolvedPaths) }
	return fromText(pathKind, parse)(args[0])
}
