package expression

import (
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"

	"writ/internal/policy/shell"
	"writ/internal/toolcall"
)

// The objects of a call.
var (
	agentKind = newKind("writ.Agent",
		text("id", func(a *toolcall.Agent) string { return a.ID }),
		text("name", func(a *toolcall.Agent) string { return a.Name }),
		text("status", func(a *toolcall.Agent) string { return a.Status }),
		boolean("registered", func(a *toolcall.Agent) bool { return a.Registered }),
		boolean("attested", func(a *toolcall.Agent) bool { return a.Attested }),
	)
	userKind = newKind("writ.User",
		text("id", func(u *toolcall.User) string { return u.ID }),
		text("email", func(u *toolcall.User) string { return u.Email }),
		text("role", func(u *toolcall.User) string { return u.Role }),
	)
	orgKind = newKind("writ.Org",
		text("id", func(o *toolcall.Org) string { return o.ID }),
		text("name", func(o *toolcall.Org) string { return o.Name }),
	)
	sessionKind = newKind("writ.Session",
		text("id", func(s *toolcall.Session) string { return s.ID }),
		stat("calls", types.IntType, func(f toolcall.SessionStats) ref.Val { return types.Int(f.Calls) }),
		stat("costUsd", types.DoubleType, func(f toolcall.SessionStats) ref.Val { return types.Double(f.CostUSD) }),
		stat("tokens", types.IntType, func(f toolcall.SessionStats) ref.Val { return types.Int(f.Tokens) }),
	)
	intentKind = newKind("writ.Intent",
		text("planId", func(i *toolcall.Intent) string { return i.PlanID }),
		text("goal", func(i *toolcall.Intent) string { return i.Goal }),
		text("step", func(i *toolcall.Intent) string { return i.Step }),
		boolean("declared", func(i *toolcall.Intent) bool { return i.Declared }),
		boolean("grounded", func(i *toolcall.Intent) bool { return i.Grounded }),
	)
)

// The objects that functions return.
var (
	shellKind = newKind("writ.Shell",
		texts("programs", func(c *shell.Command) []string { return c.Programs }),
		texts("paths", func(c *shell.Command) []string { return c.Paths }),
		texts("writes", func(c *shell.Command) []string { return c.Writes }),
		texts("words", func(c *shell.Command) []string { return c.Words }),
		texts("reads", func(c *shell.Command) []string { return c.Reads }),
		texts("scripts", func(c *shell.Command) []string { return c.Scripts }),
		texts("unknown", func(c *shell.Command) []string { return c.Unknown }),
		texts("mayRun", func(c *shell.Command) []string { return c.MayRun }),
		boolean("plain", (*shell.Command).Plain),
		boolean("dynamic", func(c *shell.Command) bool { return c.Dynamic }),
		boolean("opaque", func(c *shell.Command) bool { return c.Opaque }),
	)
	pathKind = newKind("writ.Path",
		text("clean", func(l location) string { return string(l) }),
		text("base", location.base),
		text("ext", location.ext),
		text("dir", location.dir),
	)
	urlKind = newKind("writ.Url",
		text("scheme", func(a address) string { return a.scheme }),
		text("host", func(a address) string { return a.host }),
		number("port", func(a address) int64 { return a.port }),
		text("path", func(a address) string { return a.path }),
	)
	ipKind = newKind[ipAddress]("writ.Ip")
)

// stat is a statistic of the session. If it cannot be read the condition fails: as 0 it
// would pass every limit.
func stat(name string, kind *types.Type, get func(toolcall.SessionStats) ref.Val) field[*toolcall.Session] {
	return field[*toolcall.Session]{name, kind, func(s *toolcall.Session) ref.Val {
		stats, err := s.Stats()
		if err != nil {
			return types.WrapErr(failure("the session's statistics cannot be read"))
		}
		return get(stats)
	}}
}

func text[T any](name string, get func(T) string) field[T] {
	return field[T]{name, types.StringType, func(t T) ref.Val { return types.String(get(t)) }}
}

func texts[T any](name string, get func(T) []string) field[T] {
	return field[T]{
		name, types.NewListType(types.StringType),
		func(t T) ref.Val { return types.NewStringList(types.DefaultTypeAdapter, get(t)) },
	}
}

func number[T any](name string, get func(T) int64) field[T] {
	return field[T]{name, types.IntType, func(t T) ref.Val { return types.Int(get(t)) }}
}

func boolean[T any](name string, get func(T) bool) field[T] {
	return field[T]{name, types.BoolType, func(t T) ref.Val { return types.Bool(get(t)) }}
}

// adapter wraps the objects of a call, for expressions that use one whole.
type adapter struct{ types.Adapter }

// NativeToValue is the CEL value of a Go value.
func (a adapter) NativeToValue(value any) ref.Val {
	switch v := value.(type) {
	case ref.Val:
		return v
	case *toolcall.Agent:
		return object{agentKind, v}
	case *toolcall.User:
		return object{userKind, v}
	case *toolcall.Org:
		return object{orgKind, v}
	case *toolcall.Session:
		return object{sessionKind, v}
	case *toolcall.Intent:
		return object{intentKind, v}
	}
	return a.Adapter.NativeToValue(value)
}
