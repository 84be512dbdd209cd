package profile_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"writ/internal/policy/profile"
	"writ/internal/verdict"
)

const bashAction, anyAction = `{"type":"tool","eq":"Bash"}`, `{"type":"tool","eq":"*"}`

// TestWhatIsRefused: what a profile does not say in words we know is refused, with
// the place, and never dropped.
func TestWhatIsRefused(t *testing.T) {
	t.Parallel()
	permit := func(action string, conditions ...string) string {
		return profileText("deny", statement("s", "permit", action, conditions...))
	}
	good := permit(bashAction)
	for _, c := range []struct{ name, text, field, says string }{
		{"no JSON", `{`, "body", "ends too early"},
		{"a list", `[]`, "body", "JSON object"},
		{"a member twice", `{"kind":"a","kind":"b"}`, "body", "twice"},
		{"an unknown member", strings.Replace(good, `"kind"`, `"source":1,"kind"`, 1), "source", "not known"},
		{
			"an unknown member of a statement", strings.Replace(good, `"effect"`, `"priority":1,"effect"`, 1),
			"statements[0].priority", "not known",
		},
		{"another schema", strings.Replace(good, "policy.v1", "policy.v2", 1), "schemaVersion", "armor.policy.v1"},
		{"another kind", strings.Replace(good, "PolicyProfile", "Policy", 1), "kind", "PolicyProfile"},
		{
			"another default", strings.Replace(good, `"decision":"deny"`, `"decision":"ask"`, 1), "defaults.decision",
			"hold",
		},
		{
			"another resolution", strings.Replace(good, "deny_overrides", "permit_overrides", 1),
			"defaults.conflictResolution", "deny_overrides",
		},
		{"an unknown effect", strings.Replace(good, `"permit"`, `"allow"`, 1), "statements[0].effect", "permit"},
		{
			"no principal", strings.Replace(good, `"principal":{"type":"agent","id":"*"},`, "", 1),
			"statements[0].principal", "missing",
		},
		{
			"one person", strings.Replace(good, `{"type":"agent","id":"*"}`, `{"type":"user","id":"ann"}`, 1),
			"statements[0].principal.id", "bind",
		},
		{
			"an unknown role", strings.Replace(good, `{"type":"agent","id":"*"}`, `{"type":"role","id":"boss"}`, 1),
			"statements[0].principal.id", "approver",
		},
		{"an unknown tool", permit(`{"type":"tool","eq":"Bsh"}`), "statements[0].action.eq", "mcp_tool"},
		{
			"an unknown tool in a list", permit(`{"type":"tool","in":["Bash","curl","Rd"]}`),
			"statements[0].action.in[1]", "bash_program",
		},
		{"both selectors", permit(`{"type":"tool","eq":"Bash","in":["Read"]}`), "statements[0].action", "not both"},
		{"no selector", permit(`{"type":"tool"}`), "statements[0].action", "eq or in"},
		{"an empty selector", permit(`{"type":"tool","in":[]}`), "statements[0].action.in", "at least one"},
		{
			"an MCP tool without its server", permit(`{"type":"mcp_tool","eq":"create_issue"}`),
			"statements[0].action.eq", "mcp__server__tool",
		},
		{
			"Gemini's joined name", permit(`{"type":"mcp_tool","eq":"mcp_github_create_issue"}`),
			"statements[0].action.eq", "mcp__server__tool",
		},
		{
			"an agent as a server", permit(`{"type":"mcp_server","eq":"claude-code"}`), "statements[0].action.eq",
			"not an MCP server",
		},
		{
			"a program with its folder", permit(`{"type":"bash_program","eq":"/bin/rm"}`), "statements[0].action.eq",
			"without its folder",
		},
		{
			"an unknown field", permit(bashAction, condition(`bash.user eq "root"`)),
			"statements[0].conditions[0].field", "bash.program",
		},
		{
			"an unknown operator", permit(bashAction, condition(`bash.raw like "x"`)),
			"statements[0].conditions[0].op", "matches",
		},
		{
			"an operator of another field", permit(bashAction, condition(`bash.raw within_workspace true`)),
			"statements[0].conditions[0].op", "not work with bash.raw",
		},
		{
			"a pattern over tools", permit(anyAction, condition(`tool.name matches "^B"`)),
			"statements[0].conditions[0].op", "not work with tool.name",
		},
		{
			"no value", permit(bashAction, `{"field":"bash.raw","op":"eq"}`), "statements[0].conditions[0].value",
			"missing",
		},
		{
			"a value of another type", permit(bashAction, condition(`bash.program eq ["ls"]`)),
			"statements[0].conditions[0].value", "text",
		},
		{
			"a list that is none", permit(bashAction, condition(`bash.program in "ls"`)),
			"statements[0].conditions[0].value", "list",
		},
		{
			"an empty list", permit(bashAction, condition(`bash.program not_in []`)),
			"statements[0].conditions[0].value", "at least one",
		},
		{
			"truth as text", permit(bashAction, condition(`bash.hasWriteRedirection eq "false"`)),
			"statements[0].conditions[0].value", "true or false",
		},
		{
			"a pattern that is none", permit(bashAction, condition(`bash.raw matches "(?=x)"`)),
			"statements[0].conditions[0].value", "RE2",
		},
		{
			"a URL for a host", permit(`{"type":"tool","eq":"WebFetch"}`, condition(`network.host eq "https://a.b"`)),
			"statements[0].conditions[0].value", "a host name",
		},
		{
			"an unknown member of a condition",
			permit(bashAction, `{"field":"bash.raw","op":"eq","value":"x","flags":"i"}`),
			"statements[0].conditions[0].flags", "not known",
		},
		{
			"a field that no tool has", permit(anyAction, condition(`bash.program eq "ls"`)),
			"statements[0].conditions[0]", "known only of Bash",
		},
		{
			"a field that one tool lacks",
			permit(`{"type":"tool","in":["Read","Bash"]}`, condition(`file.path eq "a"`)),
			"statements[0].conditions[0]", "not known of Bash",
		},
		{
			"hosts of commands", permit(bashAction, condition(`network.host eq "a.b"`)), "statements[0].conditions[0]",
			"not known of Bash",
		},
		{
			"a server of own tools", permit(bashAction, condition(`mcp.server eq "github"`)),
			"statements[0].conditions[0]", "own tools",
		},
		{
			"a secret",
			strings.Replace(good, `{"type":"workspace","scope":"current"}`, `{"type":"secret","name":"x"}`, 1),
			"statements[0].resource.type", "file.path",
		},
		{
			"a file without its path",
			strings.Replace(permit(`{"type":"tool","eq":"Read"}`), `{"type":"workspace","scope":"current"}`,
				`{"type":"file"}`, 1),
			"statements[0].resource.path", "missing",
		},
		{
			"a pattern for a path",
			strings.Replace(permit(`{"type":"tool","eq":"Read"}`), `{"type":"workspace","scope":"current"}`,
				`{"type":"file","path":"/srv/*"}`, 1),
			"statements[0].resource.path", "matches",
		},
		{
			"a path of a workspace", strings.Replace(good, `"scope":"current"`, `"path":"/srv"`, 1),
			"statements[0].resource.path", "not a member",
		},
		{
			"another scope", strings.Replace(good, `"scope":"current"`, `"scope":"all"`, 1),
			"statements[0].resource.scope", "current",
		},
		{
			"a file of a shell",
			strings.Replace(good, `{"type":"workspace","scope":"current"}`, `{"type":"file","path":"/srv/a"}`, 1),
			"statements[0].resource", "not known of Bash",
		},
		{"an id that is none", strings.Replace(good, `"id":"s"`, `"id":"a b"`, 1), "statements[0].id", "letters"},
		{
			"the id of the default", strings.Replace(good, `"id":"s"`, `"id":"default"`, 1), "statements[0].id",
			"default",
		},
		{
			"an id twice",
			profileText("deny", statement("s", "permit", bashAction), statement("s", "forbid", bashAction)),
			"statements[1]", "statements[0]",
		},
		{
			"too many statements",
			profileText("deny", slices.Repeat([]string{statement("s", "permit", bashAction)},
				profile.MaxStatements+1)...),
			"statements", "at most 200",
		},
		{"too long", `"` + strings.Repeat("x", profile.MaxBytes) + `"`, "policy", "at most"},
	} {
		p, problems := profile.Parse([]byte(c.text))
		if p != nil || problems == nil {
			t.Errorf("%s was taken", c.name)
			continue
		}
		told := func(p profile.Problem) bool { return p.Field == c.field && strings.Contains(p.Message, c.says) }
		if !slices.ContainsFunc(problems, told) {
			t.Errorf("%s: %v, want %s to say %q", c.name, problems, c.field, c.says)
		}
	}
	if _, problems := profile.Parse([]byte(good)); problems != nil {
		t.Errorf("what the cases begin with: %v", problems)
	}
}

func TestEveryProblemIsToldAtOnce(t *testing.T) {
	t.Parallel()
	text := `{"policy":` + profileText("maybe",
		statement("a", "allow", `{"type":"tool","eq":"Bsh"}`, condition(`bash.nothing eq "x"`)),
		statement("b", "permit", bashAction, condition(`bash.raw matches "("`))) + `,"orgId":"o","dryRun":true}`
	_, problems := profile.Read([]byte(text))
	var fields []string
	for _, p := range problems {
		fields = append(fields, p.Field)
	}
	for _, want := range []string{
		"dryRun", "policy.defaults.decision", "policy.statements[0].effect", "policy.statements[0].action.eq",
		"policy.statements[0].conditions[0].field", "policy.statements[1].conditions[0].value",
	} {
		if !slices.Contains(fields, want) {
			t.Errorf("complains of %q, want also %q", fields, want)
		}
	}
}

// TestConditionalPermitsStayConditional: read leniently, as the plugins do, these
// permit everything.
func TestConditionalPermitsStayConditional(t *testing.T) {
	t.Parallel()
	for _, written := range []string{
		`bash.programs in ["ls"]`, `bash.program one_of ["ls"]`, `bash.program in "ls"`, `bash.program in []`,
		`bash.raw matches "(?!rm)"`,
	} {
		if _, problems := profile.Parse([]byte(profileText("deny", statement("s", "permit", bashAction,
			condition(written))))); problems == nil {
			t.Errorf("%s was taken", written)
		}
	}
	taken := judge(t, parse(t, profileText("deny", statement("s", "permit", bashAction,
		condition(`bash.program in ["ls"]`)))))
	wantVerdict(t, "what it permits", taken, call(t, "local.Bash", `{"command":"ls"}`), verdict.Allow)
	wantVerdict(t, "what it does not", taken, call(t, "local.Bash", `{"command":"rm x"}`), verdict.Deny)
}

// TestOtherOrganizations: a statement about another organization would never
// match, and look as if it did.
func TestOtherOrganizations(t *testing.T) {
	t.Parallel()
	text := strings.Replace(profileText("deny", statement("s", "forbid", bashAction)), `{"type":"agent","id":"*"}`,
		`{"type":"org","id":"elsewhere"}`, 1)
	if _, problems := parse(t, text).Document("x", orgID); len(problems) != 1 ||
		problems[0].Field != "policy.statements[0].principal.id" {
		t.Errorf("problems = %v", problems)
	}
}

// TestRuleLists: a list is taken where reading it as a profile changes nothing.
func TestRuleLists(t *testing.T) {
	t.Parallel()
	const taken = `{"rules":[{"id":"a","action":"deny","tool":"apply_patch"},{"action":"require_approval","tool":"bash"},{"id":"c","action":"allow","tool":"read_file"}]}`
	set := judge(t, parse(t, taken))
	for called, want := range map[string]verdict.Verdict{
		"codex.apply_patch": verdict.Deny, "codex.shell": verdict.Hold, "codex.read_file": verdict.Allow,
		"codex.web_search": verdict.Allow, "github.x": verdict.Allow,
	} {
		wantVerdict(t, "a list of rules", set, call(t, called, `{}`), want)
	}
	for _, c := range []struct{ name, rules, field string }{
		{
			"an exception",
			`{"id":"a","action":"require_approval","tool":"bash"},{"id":"b","action":"deny","tool":"*"}`, "rules[1]",
		},
		{
			"an exception under another name",
			`{"id":"a","action":"allow","tool":"Bash"},{"id":"b","action":"deny","tool":"run_shell_command"}`,
			"rules[1]",
		},
		{"a class of data", `{"id":"a","action":"deny","tool":"*","dataClass":"PCI"}`, "rules[0].dataClass"},
		{
			"parameters", `{"id":"a","action":"deny","tool":"bash","params":{"command":{"$contains":"rm"}}}`,
			"rules[0].params",
		},
		{"any parameter", `{"id":"a","action":"deny","tool":"bash","anyParam":"x"}`, "rules[0].anyParam"},
		{"a pattern", `{"id":"a","action":"deny","tool":"read_*"}`, "rules[0].tool"},
		{"an unknown action", `{"id":"a","action":"block","tool":"bash"}`, "rules[0].action"},
		{"no tool", `{"id":"a","action":"deny"}`, "rules[0].tool"},
		{
			"an id twice", `{"id":"a","action":"deny","tool":"Bash"},{"id":"a","action":"deny","tool":"Read"}`,
			"rules[1]",
		},
	} {
		_, problems := profile.Parse([]byte(`{"rules":[` + c.rules + `]}`))
		if !slices.ContainsFunc(problems, func(p profile.Problem) bool { return p.Field == c.field }) {
			t.Errorf("%s: %v, want a problem of %s", c.name, problems, c.field)
		}
	}
}

// TestFormIsStable: one profile has one form and hash, however it is written.
func TestFormIsStable(t *testing.T) {
	t.Parallel()
	text := profileText("hold", statement("a", "permit", `{"type":"tool","in":["Read","Grep"]}`),
		statement("b", "forbid", bashAction,
			condition(`bash.program in ["rm"]`), condition(`bash.hasWriteRedirection eq false`)),
		statement("c", "permit", `{"type":"tool","eq":"Write"}`, condition(`file.path within_workspace`)))
	form := formOf(t, text)
	spaced := strings.ReplaceAll(strings.ReplaceAll(text, ":", " : "), ",", " ,\n")
	turned := strings.Replace(text, `"schemaVersion":"armor.policy.v1","kind":"PolicyProfile"`,
		`"kind":"PolicyProfile","schemaVersion":"armor.policy.v1"`, 1)
	for name, other := range map[string]string{"itself": form, "spaced": spaced, "in another order": turned} {
		if again := formOf(t, other); again != form {
			t.Errorf("%s:\n%s\nwant\n%s", name, again, form)
		}
	}
	if profile.Hash([]byte(form)) == profile.Hash([]byte(formOf(t, strings.Replace(text, `"rm"`, `"mv"`, 1)))) {
		t.Error("two profiles have one hash")
	}
	const known = `{"schemaVersion":"armor.policy.v1","kind":"PolicyProfile","metadata":{"name":"n","description":""},"defaults":{"decision":"allow","conflictResolution":"deny_overrides"},"statements":[]}`
	const want = `{"defaults":{"conflictResolution":"deny_overrides","decision":"allow"},"kind":"PolicyProfile","metadata":{"description":"","name":"n"},"schemaVersion":"armor.policy.v1","statements":[]}`
	if got := formOf(t, known); got != want {
		t.Errorf("form = %s, want %s", got, want)
	}
}

func formOf(t *testing.T, text string) string {
	t.Helper()
	form, err := parse(t, text).Form()
	if err != nil {
		t.Fatal(err)
	}
	return string(form)
}

// TestWords: who confirms a profile reads what it does.
func TestWords(t *testing.T) {
	t.Parallel()
	p := parse(t, profileText("deny", statement("a", "forbid", bashAction, condition(`bash.program in ["rm","sudo"]`)),
		statement("b", "permit", `{"type":"tool","in":["Read","Grep"]}`),
		statement("c", "permit", bashAction, condition(`bash.raw eq "ls\" and nothing else. Forbids rm."`))))
	for i, want := range []string{
		"Forbids Bash where bash.program is rm or sudo. Also where that cannot be known. " +
			"What scripts and build tools run is not seen.",
		"Permits Read or Grep.",
		`Permits Bash where bash.raw is "ls\" and nothing else. Forbids rm.". Not where that cannot be known.`,
	} {
		if got := p.Statements[i].Words(); got != want {
			t.Errorf("words = %q, want %q", got, want)
		}
	}
	if got := p.DefaultWords(); got != "When no rule matches: deny." {
		t.Errorf("the default is told as %q", got)
	}
	conditions := slices.Repeat([]string{condition(`bash.program in ["rm","sudo"]`)}, 12)
	judge(t, parse(t, profileText("deny", statement("many", "forbid", bashAction, conditions...),
		statement("all", "permit", bashAction, conditions...))))
	doc, _ := p.Document("x", orgID)
	if got := fmt.Sprint(doc.Rules[0].ID, doc.Rules[0].Description); got != "a"+p.Statements[0].Words() {
		t.Errorf("the rule says %q", got)
	}
}
