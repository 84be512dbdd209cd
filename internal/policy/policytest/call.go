package policytest

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"writ/internal/policy/document"
	"writ/internal/policy/document/node"
	"writ/internal/toolcall"
)

// ReadCall reads one call, written as a test has it. The name of the file tells
// its format.
func ReadCall(file string, text []byte) (*toolcall.Call, error) {
	if len(text) > MaxBytes {
		return nil, &Invalid{file, []document.Problem{{Message: fmt.Sprintf("must be at most %d bytes", MaxBytes)}}}
	}
	root, unread := readNode(file, text)
	if unread != nil {
		return nil, &Invalid{file, unread}
	}
	r := &reader{file: file}
	call := readCall(node.Read(root, r.report))
	if r.problems != nil {
		return nil, &Invalid{file, r.problems}
	}
	return call, nil
}

func readCall(v *node.Value) *toolcall.Call {
	m := v.Members("server", "tool", "arguments", "agent", "user", "org", "session", "intent",
		"labels", "environment", "now", "resolvedPaths")
	call := &toolcall.Call{Args: map[string]any{}}
	call.Server, call.Tool = text(m.Need("server")), text(m.Need("tool"))
	if args := m.Get("arguments"); args != nil {
		readArguments(call, args)
	}
	if of := m.Get("agent"); of != nil {
		m := of.Members("id", "name", "status")
		call.Agent = toolcall.Agent{ID: text(m.Get("id")), Name: text(m.Get("name")), Status: text(m.Get("status"))}
	}
	if of := m.Get("user"); of != nil {
		m := of.Members("id", "email", "role")
		call.User = toolcall.User{ID: text(m.Get("id")), Email: text(m.Get("email")), Role: text(m.Get("role"))}
	}
	if of := m.Get("org"); of != nil {
		m := of.Members("id", "name")
		call.Org = toolcall.Org{ID: text(m.Get("id")), Name: text(m.Get("name"))}
	}
	if of := m.Get("session"); of != nil {
		call.Session = readSession(of)
	}
	if of := m.Get("intent"); of != nil {
		call.Intent = readIntent(of)
	}
	if labels := m.Get("labels"); labels != nil {
		for _, label := range labels.Items(1_000) {
			call.Labels = append(call.Labels, text(label))
		}
	}
	if environment := m.Get("environment"); environment != nil {
		call.Environment = environment.OneOf("sandbox", "production")
	}
	if now := m.Get("now"); now != nil {
		call.Now = readTime(now)
	}
	if paths := m.Get("resolvedPaths"); paths != nil {
		call.ResolvedPaths = readPaths(paths)
	}
	return call
}

// readArguments reads arguments as a call's own JSON is read.
func readArguments(call *toolcall.Call, v *node.Value) {
	args, err := toolcall.Decode(v.JSON())
	if err != nil {
		v.Problem("%v", err)
		return
	}
	call.Args = args
}

func readSession(v *node.Value) toolcall.Session {
	m := v.Members("id", "calls", "costUsd", "tokens")
	session := toolcall.Session{ID: text(m.Get("id"))}
	if calls := m.Get("calls"); calls != nil {
		session.Calls = calls.Int(0, math.MaxInt64)
	}
	if tokens := m.Get("tokens"); tokens != nil {
		session.Tokens = tokens.Int(0, math.MaxInt64)
	}
	if cost := m.Get("costUsd"); cost != nil {
		if _, ok := cost.Decimal(9); !ok {
			cost.Problem("must be an amount in dollars, as 5.00")
		}
		session.CostUSD, _ = strconv.ParseFloat(cost.Node().Text, 64)
	}
	return session
}

func readIntent(v *node.Value) toolcall.Intent {
	m := v.Members("planId", "goal", "step", "declared")
	intent := toolcall.Intent{PlanID: text(m.Get("planId")), Goal: text(m.Get("goal")), Step: text(m.Get("step"))}
	if declared := m.Get("declared"); declared != nil {
		intent.Declared = declared.Bool()
	}
	return intent
}

func readTime(v *node.Value) time.Time {
	instant, err := time.Parse(time.RFC3339Nano, v.Node().Text)
	if v.Node().Kind != node.String || err != nil {
		v.Problem("must be an instant, as 2026-01-31T15:04:05Z")
	}
	return instant.UTC()
}

func readPaths(v *node.Value) map[string]string {
	paths := map[string]string{}
	m := v.Members(keysOf(v.Node())...)
	for _, key := range keysOf(v.Node()) {
		paths[key] = text(m.Get(key))
	}
	return paths
}
