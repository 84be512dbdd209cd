package notice_test

import (
	"strings"
	"testing"
	"time"

	"writ/internal/notification/notice"
)

func TestTitles(t *testing.T) {
	t.Parallel()
	request := notice.Request{Server: "bank", Tool: "pay", Risk: "high"}
	wants := map[notice.Kind]string{
		notice.Opened:    "bank.pay waits for an approval (risk: high)",
		notice.Voted:     "bank.pay has one approval and needs another",
		notice.Approved:  "bank.pay was approved",
		notice.Rejected:  "bank.pay was rejected",
		notice.Cancelled: "bank.pay was cancelled by the requester",
		notice.Expired:   "bank.pay was not answered in time and is denied",
		notice.Used:      "bank.pay ran with an approval",
		notice.Revoked:   "bank.pay may no longer run with an earlier approval",
	}
	wants[notice.AgentKilled] = "Agent billing was stopped with the kill switch"
	wants[notice.AgentSuspended] = "Agent billing was suspended"
	wants[notice.AgentTripped] = "Agent billing was stopped by a trip"
	wants[notice.ProfileProposed] = "The profile mine waits for a confirmation"
	wants[notice.ToolsHeld] = "A tool of the MCP server math is held until a person accepts it: add"
	for _, kind := range notice.Kinds() {
		e := notice.Event{Kind: kind, ActorID: "somebody", Request: request}
		if kind == notice.ProfileProposed {
			e = notice.Proposal{Name: "mine"}.Event()
		}
		if strings.HasPrefix(string(kind), "agent.") {
			e = notice.Agent{ID: "billing", Kind: kind}.Event()
		}
		if kind == notice.ToolsHeld {
			e = notice.Server{Name: "math", Tools: []string{"add"}}.Event()
		}
		if got := e.Title(); got != wants[kind] || e.Kind != kind {
			t.Errorf("%s: %q, want %q", kind, got, wants[kind])
		}
	}
	killed := notice.Event{Kind: notice.Cancelled, Request: request}
	if got := killed.Title(); got != "bank.pay was cancelled, because its agent or key was stopped" {
		t.Errorf("cancelled by nobody who asked: %q", got)
	}
	until := time.Date(2026, 11, 24, 9, 30, 0, 0, time.UTC)
	for keys, want := range map[int]string{
		1: "An API key of somebody who left is yours: rotate it by 09:30 UTC on 24 November 2026, when its secret ends",
		3: "3 API keys of somebody who left are yours: rotate them by 09:30 UTC on 24 November 2026, when their secrets end",
	} {
		if got := (notice.HandedOver{Keys: keys, Until: until}).Event().Title(); got != want {
			t.Errorf("%d keys: %q, want %q", keys, got, want)
		}
	}
	if got := (notice.Event{Kind: notice.Opened}).Title(); got != "a tool without a name waits for an approval" {
		t.Errorf("without anything: %q", got)
	}
}

// TestUnknownArgumentsAreSaid in every title, with what is known in place of them.
func TestUnknownArgumentsAreSaid(t *testing.T) {
	t.Parallel()
	for from, words := range map[string]string{
		"unknown": "it was asked about without them", "plan": "the request shows what its plan states",
		"other": "nobody has seen",
	} {
		request := notice.Request{Server: "bank", Tool: "pay", Risk: "high", ArgumentsFrom: from}
		if got := request.ArgumentsWords(); !strings.Contains(got, words) {
			t.Errorf("%s: %q", from, got)
		}
		for kind, want := range map[notice.Kind]string{
			notice.Opened:   "bank.pay waits for an approval (risk: high, arguments unknown)",
			notice.Voted:    "bank.pay has one approval and needs another (arguments unknown)",
			notice.Approved: "bank.pay was approved (arguments unknown)",
		} {
			if got := (notice.Event{Kind: kind, Request: request}).Title(); got != want {
				t.Errorf("%s: %q, want %q", kind, got, want)
			}
		}
	}
	if got := (notice.Request{}).ArgumentsWords(); got != "" {
		t.Errorf("of a call that was seen: %q", got)
	}
}

// TestNamesPassForNothingElse: a tool's name reads neither as words of ours nor, in a
// mail or a chat, as a link.
func TestNamesPassForNothingElse(t *testing.T) {
	t.Parallel()
	for tool, want := range map[string]string{
		"send_mail":                         `bank.send_mail`,
		"was approved; nothing":             `"bank.was approved; nothing"`,
		"https://eve.example/sign-in":       `"bank.https:/ /eve.example/sign-in"`,
		`pay" was approved. Sign in at "it`: `"bank.pay\" was approved. Sign in at \"it"`,
		"zahle-überweisung":                 `bank.zahle-überweisung`,
	} {
		if got := (notice.Request{Server: "bank", Tool: tool}).Name(); got != want {
			t.Errorf("%q: %s, want %s", tool, got, want)
		}
	}
}

// TestLinesAreHarmless: agents choose the names of tools.
func TestLinesAreHarmless(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text string
		most int
		want string
	}{
		{"pay", 40, "pay"},
		{"pay\r\nBcc: eve@example.org", 40, "pay Bcc: eve@example.org"},
		{"\x1b[31mred", 40, "[31mred"},
		{"safe\u202eexe.pay", 40, "safe exe.pay"},
		{"a\u200bb\u2066c", 40, "a b c"},
		{"  much \t space  ", 40, "much space"},
		{"bad \xff bytes", 40, "bad bytes"},
		{"NUL\x00", 40, "NUL"},
		{strings.Repeat("é", 30), 20, strings.Repeat("é", 20) + "…"},
		{strings.Repeat("a", 19) + "  bcdefg", 20, strings.Repeat("a", 19) + "…"},
		{"", 40, ""},
	} {
		if got := notice.Line(c.text, c.most); got != c.want {
			t.Errorf("%q: %q, want %q", c.text, got, c.want)
		}
	}
}

// TestLinksOpenAndNothingElse: a link carries the request's id alone.
func TestLinksOpenAndNothingElse(t *testing.T) {
	t.Parallel()
	if got := notice.Link("https://writ.example.org/", "7"); got != "https://writ.example.org/ui/approvals/7" {
		t.Errorf("link: %s", got)
	}
	if got := notice.Link("https://writ.example.org",
		"../?approve=1#"); got != "https://writ.example.org/ui/approvals/..%2F%3Fapprove=1%23" {
		t.Errorf("link of a hostile id: %s", got)
	}
}
