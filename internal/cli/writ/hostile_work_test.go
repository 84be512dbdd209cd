package writ_test

import (
	"strings"
	"testing"
	"unicode"
)

// The commands of a day's work show what agents and members wrote: names, reasons, addresses. None of it steers the
// terminal or looks like a line of ours, in words and in JSON.
func TestWorkShowsNoControlCharacters(t *testing.T) {
	const (
		org  = "0199d1c2-7a54-7c1e-9b7e-2f6a4c1d8e30"
		h    = `"a\u001b[2J\nforged\r\u202e\u009b\u0007"`
		at   = `"2030-01-02T03:04:05Z"`
		base = "/organization/" + org
	)
	one := strings.NewReplacer("§", h, "@", at)
	trace := one.Replace(`{"id":§,"name":§,"status":§,"agentId":§,"startTime":@,"product":§,"sessionId":§,
		"spans":[{"id":§,"name":§,"kind":§,"status":§,"startTime":@,
		"attributes":{"decision":§,"server":§,"toolName":§}}]}`)
	session := one.Replace(`{"id":§,"status":§,"agentId":§,"product":§,"startedAt":@,"lastActivityAt":@,"traces":[`) +
		trace + `]}`
	entry := one.Replace(`{"index":7,"time":@,"action":"call.decided","subject":{"type":"decision","id":§},"agent":§,
		"server":§,"tool":§,"decision":§,"plan":§,"session":§,"policy":§,"rule":§,"reason":§,"leaf":§,
		"payload":{"arguments":{"x":§},"approval":§,"message":§}}`)
	policy := one.Replace(`{"id":"` + org + `","organizationId":"` + org + `","name":§,"status":§,"policyVersion":1,"createdAt":@,"updatedAt":@,
		"writtenAt":@,"description":§,"default":§,"members":[§],
		"rules":[{"id":§,"effect":§,"tools":[§],"when":§,"limit":{"calls":2,"per":§,"by":§}}]}`)
	member := one.Replace(`{"userId":§,"email":§,"name":§,"role":§,"joinedAt":@}`)
	webhook := one.Replace(`{"id":§,"name":"hook","kind":§,"target":§,"events":[§],"disabledReason":§,"enabled":true}`)
	plan := one.Replace(`{"id":§,"status":§,"goal":§,"agentId":§,"userEmail":§,"sessionId":§,"planHash":§,
		"createdAt":@,"expiresAt":@,"steps":[{"step":0,"server":§,"tool":§,"fixed":[{"name":§,"value":§}]}]}`)
	invite := one.Replace(`{"id":§,"email":§,"role":§,"createdAt":@,"expiresAt":@}`)
	proof := one.Replace(`{"planId":§,"merkle_root":§,"step":{"path":§,"proof":[{"position":§,"sibling_hash":§}]}}`)
	page := func(item string) string { return `{"items":[` + item + `],"data":[` + item + `]}` }
	answers := map[string]string{
		base + "/observability/traces":          page(trace),
		base + "/observability/traces/" + org:   trace,
		base + "/observability/sessions":        page(session),
		base + "/observability/sessions/" + org: session,
		base + "/members":                       page(member),
		base + "/invites":                       page(invite),
		base + "/webhooks":                      page(webhook),
		"/audit-log/entries":                    page(entry),
		"/audit-log/entries/7":                  entry,
		"/policies":                             page(policy),
		"/policies/" + org:                      policy,
		"/policies/" + org + "/bindings":        policy,
		"/policies/yaml/export/" + org:          "name: x",
		"/policies/" + org + "/activate":        policy,
		"/iap/plans":                            page(plan),
		"/iap/plan/" + org:                      plan,
		"/iap/plan/" + org + "/report":          plan,
		"/iap/plan/" + org + "/steps/0/proof":   proof,
	}
	t.Setenv("WRIT_ACCESS_TOKEN", "token")
	for _, words := range []string{
		"traces list", "traces show " + org, "sessions list", "sessions show " + org, "members list", "invites list",
		"webhooks list", "webhooks show hook", "decisions list", "decisions show 7", "policy list",
		"policy show " + org, "policy activate " + org, "plan list", "plan show " + org, "plan proof " + org + " 0",
	} {
		for _, more := range []string{"", " --json"} {
			args := append(strings.Fields(words+more), "--organization", org)
			out, err := run(t, answers, args...)
			if err != nil || out == "" {
				t.Errorf("%s%s: %q, %v", words, more, out, err)
			}
			if strings.Contains(out, "\nforged") || strings.ContainsFunc(out, steers) {
				t.Errorf("%s%s shows %q", words, more, out)
			}
			if more != "" && !strings.HasPrefix(out, "{") {
				t.Errorf("%s%s is no JSON: %q", words, more, out)
			}
		}
	}
}

func steers(r rune) bool {
	return r != '\n' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r))
}
