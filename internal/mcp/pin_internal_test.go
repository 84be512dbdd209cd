package mcp

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"writ/internal/mcp/definition"
)

// TestOnlyAPersonReleases: whatever a server lists and however often, a tool that is not held is one that the
// person has accepted and that was listed so ever since.
func TestOnlyAPersonReleases(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		names := []string{"a", "b", "c"}
		now := time.UnixMicro(1)
		list := func(label string) (listed []Version) {
			for _, name := range names {
				if text := rapid.SampledFrom([]string{"", "one", "two"}).Draw(rt, label+name); text != "" {
					listed = append(listed, Version{name + text, definition.Tool{Name: name}})
				}
			}
			return listed
		}
		first := list("first")
		seen := rapid.Bool().Draw(rt, "seen") // else the server was away when the person approved it
		tools := pins{trusted: seen, pinned: true, by: "ada", at: now}.compare(first)
		accepted := map[string]string{} // hash by name, as long as the server has kept to it
		for _, v := range first {
			if seen {
				accepted[v.Tool.Name] = v.Hash
			}
		}
		for range rapid.IntRange(1, 6).Draw(rt, "lists") {
			listed := list("next")
			tools = pins{known: tools, pinned: true, at: now.Add(time.Second)}.compare(listed)
			now := map[string]string{}
			for _, v := range listed {
				now[v.Tool.Name] = v.Hash
			}
			for _, name := range names {
				if now[name] != accepted[name] {
					delete(accepted, name)
				}
			}
			if i := rapid.IntRange(-1, len(tools)-1).Draw(rt, "accept"); i >= 0 && tools[i].Listed.Hash != "" {
				tools[i].accept("ada", time.UnixMicro(9))
				accepted[tools[i].Name] = tools[i].Listed.Hash
			}
			for _, tool := range tools {
				if free := accepted[tool.Name] != ""; free == tool.State.Holds() {
					rt.Fatalf("%s is %s, accepted %v, listed %v", tool.Name, tool.State, accepted, now)
				}
			}
		}
	})
}

// TestWhyAToolIsHeld: what was something else in between is held, but not said to differ.
func TestWhyAToolIsHeld(t *testing.T) {
	t.Parallel()
	tool := Tool{State: Changed, Listed: Version{Hash: "b"}, Accepted: Version{Hash: "a"}}
	if got := tool.Why(); got != "the tool is not what a person has accepted" {
		t.Errorf("another one: %s", got)
	}
	tool.Listed.Hash = "a"
	if got := tool.Why(); got != "the tool is again what a person has accepted, but was something else in between" {
		t.Errorf("the same again: %s", got)
	}
}
