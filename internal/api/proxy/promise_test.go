package proxy_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"writ/internal/testserver"
)

// schemas are the tools that a client is shown with the form of their results.
func schemas(t *testing.T, s *mcp.ClientSession) (all []string) {
	t.Helper()
	listed, err := s.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range listed.Tools {
		if tool.OutputSchema != nil {
			all = append(all, tool.Name)
		}
	}
	return all
}

// TestWhatMayBeRedactedPromisesNoForm lists a tool with an output schema under several rules. It is listed without the
// schema where a rule may have members of its results left out for this caller, and only there.
func TestWhatMayBeRedactedPromisesNoForm(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, y *yard) {
		for i, c := range []struct {
			rule     string
			promises bool
		}{
			{`{id: a, effect: allow, tools: ["yard.echo"], oblige: {redact: ["said"]}}`, false},
			{`{id: a, effect: hold, tools: ["*"], oblige: {redact: ["said"]}}`, false},
			{`{id: a, effect: allow, tools: ["yard.echo"], when: 'args.text == "x"', oblige: {redact: ["said"]}}`, false},
			{`{id: a, effect: allow, tools: ["yard.echo"], when: 'agent.id == "other"', oblige: {redact: ["said"]}}`, true},
			{`{id: a, effect: allow, tools: ["yard.pay"], oblige: {redact: ["said"]}}`, true},
			{`{id: a, effect: allow, tools: ["yard.echo"], oblige: {labels: ["x"], max_bytes: 10}}`, true},
		} {
			id := y.ActivePolicy(y.Owner, y.ID, fmt.Sprintf(
				"version: v1\nname: obliging-%d\ndefault: allow\nrules:\n  - %s\n", i, c.rule))
			for _, v := range []visit{y.one(), y.all()} {
				for _, v.version = range []string{withSessions, stateless} {
					shown := schemas(t, v.connect(t))
					promises := slices.Contains(shown, "echo") || slices.Contains(shown, "yard__echo")
					if promises != c.promises {
						t.Errorf("%s at %s: the schemas of %v are shown", c.rule, v.url, shown)
					}
				}
			}
			if _, err := y.Owner.DeactivatePolicy(t.Context(), id); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// TestAPromiseThatIsBroken activates a rule after the client has listed the tools. Its clients would refuse the
// redacted result, so that it comes as an error; when they have listed again, as what it is.
func TestAPromiseThatIsBroken(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, y *yard) {
		s := y.one().connect(t)
		if shown := schemas(t, s); !slices.Contains(shown, "echo") {
			t.Fatalf("the schemas of %v are shown", shown)
		}
		y.ActivePolicy(y.Owner, y.ID, obliging)
		r := call(t, s, "echo", m{"text": "a secret of Ann"})
		text := testserver.JSON(t, r)
		if !r.IsError || r.StructuredContent != nil || strings.Contains(text, "Ann") ||
			!strings.Contains(text, "list the tools again") ||
			!strings.Contains(text, `\"n\":15,\"said\":\"[redacted]\"`) {
			t.Errorf("before it is listed again: %s", text)
		}
		executed, err := json.Marshal(y.payloads(t, "call.executed")[0]["output"])
		if err != nil || !strings.Contains(string(executed), "list the tools again") {
			t.Errorf("the report has not what the agent got: %s, %v", executed, err)
		}
		if shown := schemas(t, s); slices.Contains(shown, "echo") {
			t.Errorf("listed again: the schemas of %v are shown", shown)
		}
		r = call(t, s, "echo", m{"text": "a secret of Ann"})
		text = testserver.JSON(t, r)
		if r.IsError || !strings.Contains(text, `"structuredContent":{"n":15,"said":"[redacted]"}`) {
			t.Errorf("listed again: %s", text)
		}
	})
}

// TestTheOfficialClientTakesARedactedResult lists and calls a tool of server-everything with the TypeScript SDK, which
// checks structured content by the schema that it was shown: before and after a rule has a number left out.
func TestTheOfficialClientTakesARedactedResult(t *testing.T) {
	t.Parallel()
	url := testserver.StartEverything(t)
	modules := testserver.NPMServer(t, "server-everything")
	modules = modules[:strings.Index(modules, "node_modules")]
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		owner := s.Person("owner")
		o := &testserver.Org{Server: s, Owner: owner, ID: s.Organization(owner, "Harbour")}
		y := &yard{Org: o, T: t, key: s.AgentKey(owner, o.ID).APIKey}
		y.reachedAt()
		s.ActivePolicy(owner, o.ID, permissive)
		y.register("yard", url)
		ask := y.startOfficial(t, modules)
		const tool, weather = "get-structured-content", `call get-structured-content {"location":"Chicago"}`
		expect := func(line string, want ...string) {
			t.Helper()
			said := ask(line)
			for _, part := range want {
				absent, isAbsent := strings.CutPrefix(part, "no ")
				if strings.Contains(said, absent) == isAbsent {
					t.Errorf("%s: %s; want %s", line, said, part)
				}
			}
		}
		expect("list", tool)
		expect(weather, `"temperature":`, "no thrown", "no isError")
		s.ActivePolicy(owner, o.ID, "version: v1\nname: weather\ndefault: allow\nrules:\n"+
			"  - {id: cold, effect: allow, tools: [\"yard."+tool+"\"], oblige: {redact: [\"temperature\"]}}\n")
		expect(weather, `"isError":true`, `temperature\":\"[redacted]`, "no thrown", "no structuredContent")
		expect("list", "no "+tool)
		expect(weather, `"structuredContent":{`, `"temperature":"[redacted]"`, "no thrown", "no isError")
	}, proxied...)
}

// startOfficial starts a client of the TypeScript SDK, and gives what has it do something.
func (y *yard) startOfficial(t *testing.T, modules string) (ask func(line string) string) {
	t.Helper()
	script, err := filepath.Abs("testdata/redacted.js")
	if err != nil {
		t.Fatal(err)
	}
	program := exec.CommandContext(t.Context(), "node", script, modules, y.one().url, y.key)
	in, err := program.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := program.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := program.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		_ = program.Wait()
	})
	lines := bufio.NewReader(out)
	return func(line string) string {
		t.Helper()
		if _, err := io.WriteString(in, line+"\n"); err != nil {
			t.Fatal(err)
		}
		said, err := lines.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		return said
	}
}
