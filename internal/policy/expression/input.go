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

// Input is a call as conditions see it. It remembers what was found out about
// the call on the way, so that ten rules over one command parse it once, and how
// much work all of them took. It serves one goroutine and must not be copied.
type Input struct {
	call     *toolcall.Call
	work     uint64
	commands map[string]*shell.Command
	outline  bool // only what is settled before the call is known
}

// NewInput makes a call ready for evaluation. The call must not change then.
func NewInput(call *toolcall.Call) *Input { return &Input{call: call} }

// NewOutline is a call of which only that is known which is settled before it is
// made: who would make it, to which tool. A condition that needs anything else
// fails; one that comes to an answer all the same has it for every such call.
func NewOutline(caller *toolcall.Call) *Input { return &Input{call: caller, outline: true} }

// Work is how many steps all evaluations over this input have taken so far.
func (i *Input) Work() uint64 { return i.work }

func (i *Input) charge(details *cel.EvalDetails) {
	if cost := details.ActualCost(); cost != nil {
		i.work += *cost
	}
}

var noArgs = map[string]any{}

// ResolveName finds a variable. Objects are pointers into the call, so that
// reading a field copies nothing else.
func (i *Input) ResolveName(name string) (any, bool) {
	if i.outline && !known[name] {
		return nil, false
	}
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

// Parent is none: there are no variables but ours.
func (i *Input) Parent() cel.Activation { return nil }

// ResolveFunction finds the functions that need more of the call than their
// arguments.
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
	text, ok := args[0].(types.String)
	if !ok {
		return types.MaybeNoSuchOverloadErr(args[0])
	}
	if len(text) > maxShell {
		return types.WrapErr(failure(fmt.Sprintf("shell: the command is longer than %d bytes", maxShell)))
	}
	command, known := i.commands[string(text)]
	if !known {
		if i.commands == nil {
			i.commands = map[string]*shell.Command{}
		}
		parsed := shell.Parse(string(text))
		command = &parsed
		i.commands[string(text)] = command
	}
	return object{kind: shellKind, value: command}
}

func (i *Input) path(_ string, args ...ref.Val) ref.Val {
	if i.outline {
		return types.WrapErr(failure("path: what a path really is comes with the call"))
	}
	text, ok := args[0].(types.String)
	if !ok {
		return types.MaybeNoSuchOverloadErr(args[0])
	}
	p, err := parsePath(string(text), i.call.ResolvedPaths)
	if err != nil {
		return types.WrapErr(err)
	}
	return object{kind: pathKind, value: p}
}
