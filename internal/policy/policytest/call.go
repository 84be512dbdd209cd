package policytest

import (
	"math"
	"strconv"
	"time"

	"writ/internal/node"
	"writ/internal/toolcall"
)

// ReadCall reads one call, written as in a test, in the format that the file's name
// implies.
func ReadCall(file string, text []byte) (*toolcall.Call, error) {
	r := &reader{file: file}
	call := readCall(r.parse(text))
	if err := r.invalid(); err != nil {
		return nil, err
	}
	return call, nil
}

func readCall(v *node.Value) *toolcall.Call {
	m := v.Members("server", "tool", "arguments", "agent", "user", "org", "session", "intent",
		"labels", "environment", "now", "resolvedPaths", "capabilities")
	call := &toolcall.Call{
		Server:        text(m.Need("server")),
		Tool:          text(m.Need("tool")),
		Args:          readArguments(m.Get("arguments")),
		Session:       readSession(m.Get("session")),
		Intent:        readIntent(m.Get("intent")),
		ResolvedPaths: readPaths(m.Get("resolvedPaths")),
	}
	agent := m.Get("agent").Members("id", "name", "status", "registered", "attested")
	call.Agent = toolcall.Agent{
		ID: text(agent.Get("id")), Name: text(agent.Get("name")), Status: text(agent.Get("status")),
		Registered: agent.Get("registered").Bool(), Attested: agent.Get("attested").Bool(),
	}
	user := m.Get("user").Members("id", "email", "role")
	call.User = toolcall.User{ID: text(user.Get("id")), Email: text(user.Get("email")), Role: text(user.Get("role"))}
	org := m.Get("org").Members("id", "name")
	call.Org = toolcall.Org{ID: text(org.Get("id")), Name: text(org.Get("name"))}
	for _, label := range m.Get("labels").Items(1_000) {
		call.Labels = append(call.Labels, text(label))
	}
	call.Environment = m.Get("environment").OneOf("sandbox", "production")
	if now := m.Get("now"); now != nil {
		call.Now = readTime(now)
	}
	for _, capability := range m.Get("capabilities").Items(maxCapabilities) {
		switch capability.OneOf(toolcall.Confine, toolcall.Oblige) {
		case toolcall.Confine:
			call.CanConfine = true
		case toolcall.Oblige:
			call.CanOblige = true
		}
	}
	return call
}

// maxCapabilities is how many capabilities a call may list.
const maxCapabilities = 32

// readArguments decodes arguments as those of a real call.
func readArguments(v *node.Value) map[string]any {
	if v == nil {
		return map[string]any{}
	}
	args, err := toolcall.Decode(v.JSON())
	if err != nil {
		v.Problem("%v", err)
	}
	return args
}

func readSession(v *node.Value) toolcall.Session {
	m := v.Members("id", "calls", "costUsd", "tokens")
	session := toolcall.Session{
		ID:     text(m.Get("id")),
		Calls:  m.Get("calls").Int(0, math.MaxInt64),
		Tokens: m.Get("tokens").Int(0, math.MaxInt64),
	}
	cost := m.Get("costUsd")
	if _, ok := cost.Decimal(9); !ok {
		cost.Problem("must be an amount in dollars, as 5.00")
	}
	session.CostUSD, _ = strconv.ParseFloat(cost.Node().Text, 64)
	return session
}

func readIntent(v *node.Value) toolcall.Intent {
	m := v.Members("planId", "goal", "step", "declared", "grounded")
	return toolcall.Intent{
		PlanID: text(m.Get("planId")), Goal: text(m.Get("goal")), Step: text(m.Get("step")),
		Declared: m.Get("declared").Bool(),
		Grounded: m.Get("grounded").Bool(),
	}
}

func readTime(v *node.Value) time.Time {
	instant, err := time.Parse(time.RFC3339Nano, v.Node().Text)
	if v.Node().Kind != node.String || err != nil {
		v.Problem("must be an instant, as 2026-01-31T15:04:05Z")
	}
	return instant.UTC()
}

func readPaths(v *node.Value) map[string]string {
	if v == nil {
		return nil
	}
	paths := map[string]string{}
	for key, path := range v.Entries() {
		paths[key] = text(path)
	}
	return paths
}
