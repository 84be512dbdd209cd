package writ

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"writ/client"
	"writ/internal/cli"
)

// errNoRule says how a rule is written.
var errNoRule = cli.Misuse("say allow, deny or hold, then the tool, then why: writ guard add deny web_fetch no uploads; " +
	"a tool of an MCP server is SERVER.TOOL, and a program of the shell is --program NAME")

// rule is what a person proposes.
type rule struct {
	effect string // of a statement
	kind   string // of its action
	name   string // the tool or program
	note   string // why
	words  string // effect and name, as they were written
}

// programWord stands before the name of a program. The slash command hands all over as one word, and no flags.
const programWord = "--program"

// parseRule reads words: the host gives all that a person typed as one.
func parseRule(args []string) (r rule, err error) {
	words := strings.Fields(strings.Join(args, " "))
	if len(words) < 2 {
		return r, errNoRule
	}
	r.effect = map[string]string{"allow": "permit", "deny": "forbid", "hold": "require_approval"}[words[0]]
	if r.effect == "" {
		return r, errNoRule
	}
	rest := words[1:]
	if name, attached := strings.CutPrefix(rest[0], programWord+"="); attached {
		rest = append([]string{programWord, name}, rest[1:]...)
	}
	if rest[0] == programWord {
		if len(rest) < 2 || rest[1] == "" {
			return r, errNoRule
		}
		r.kind, r.name, r.note = "bash_program", rest[1], strings.Join(rest[2:], " ")
		r.words = words[0] + " program " + r.name
		return r, nil
	}
	r.words, r.note = words[0]+" "+rest[0], strings.Join(rest[1:], " ")
	r.kind, r.name, err = actionOf(rest[0])
	return r, err
}

// actionOf is the type of an action, and its name, by how a tool is written: mcp__s__t, mcp_s_t and s.t are tools of
// MCP servers.
func actionOf(tool string) (kind, name string, err error) {
	tool = strings.TrimPrefix(tool, "gemini-cli.")
	if strings.HasPrefix(tool, "mcp__") || strings.Contains(tool, ".") {
		return "mcp_tool", tool, nil
	}
	rest, joined := strings.CutPrefix(tool, "mcp_")
	if !joined {
		return "tool", tool, nil
	}
	server, of, found := strings.Cut(rest, "_")
	if !found || strings.Contains(of, "_") {
		return "", "", cli.Misuse("%s does not show where the name of the server ends: write SERVER.TOOL", tool)
	}
	return "mcp_tool", server + "." + of, nil
}

// unknownTool says what to write in place of a name that is no tool of a coding agent.
func unknownTool(r rule, err error) error {
	if answer, ok := errors.AsType[*client.Error](err); ok && strings.Contains(answer.Message, "is not a known tool") {
		return cli.Misuse("%s is no tool of the Gemini CLI, Claude Code or Codex: write SERVER.TOOL for a tool of an MCP "+
			"server, and %s NAME for a program of the shell", r.name, programWord)
	}
	return err
}

// neutralDefault is the default of a profile with which calls that its rules do not name are decided as before: of
// several defaults the strictest counts, so that an allow changes nothing beside another. Where an allow might let the
// calls of other agents run, or nobody can tell what the default is, it is a hold; known is false then.
func neutralDefault(ctx context.Context, c *client.Client, agent string) (decision string, known bool, err error) {
	own, known, err := defaultFor(ctx, c, agent)
	if err != nil || !known {
		return "hold", false, err
	}
	if own != "allow" {
		return own, true, nil
	}
	others, known, err := defaultFor(ctx, c, "writ-guard-no-agent")
	if err != nil || !known || others != "allow" {
		return "hold", false, err
	}
	return "allow", true, nil
}

// defaultFor is the default that counts for an agent, in the words of a profile.
func defaultFor(ctx context.Context, c *client.Client, agent string) (decision string, known bool, err error) {
	access, err := c.CheckAccess(ctx, "", client.ToolCall{
		Server: "gemini-cli", Tool: "writ_guard_no_tool", AgentID: agent, Arguments: json.RawMessage(`{}`),
	})
	switch {
	case err != nil:
		return "", false, fmt.Errorf("ask policies what they say about everything else: %w", err)
	case access.MatchedPolicy == nil:
		return "deny", true, nil // no policy is in force, and nothing runs
	case access.Rule != "default":
		return "", false, nil
	case access.Decision == "ask":
		// A profile cannot ask. An allow would leave the asking to the other policy, and let all run once that ends.
		return "", false, nil
	}
	return access.Decision, true, nil
}

var noStatementID = regexp.MustCompile(`[^A-Za-z0-9_-]+`)

// add adds a statement about a tool, and reports whether the profile had none that says the same.
func (p profile) add(r rule) bool {
	statements, _ := p["statements"].([]any)
	action := map[string]any{"type": r.kind, "eq": r.name}
	id := fmt.Sprintf("%s-%s-%d", strings.ReplaceAll(r.effect, "_", "-"), r.name, len(statements)+1)
	added := map[string]any{
		"id": noStatementID.ReplaceAllString(id, "-"), "effect": r.effect,
		"principal":  map[string]any{"type": "agent", "id": "*"},
		"action":     action,
		"resource":   map[string]any{"type": "workspace", "scope": "current"},
		"conditions": []any{},
	}
	for _, one := range statements {
		if statement, ok := one.(map[string]any); ok && sameStatement(statement, added) {
			return false
		}
	}
	p["statements"] = append(statements, added)
	return true
}

// sameStatement reports whether two statements say the same, whatever their ids and notes are.
func sameStatement(a, b map[string]any) bool {
	for _, member := range []string{"effect", "principal", "action", "resource", "conditions"} {
		one, errOne := json.Marshal(a[member])
		other, errOther := json.Marshal(b[member])
		if errOne != nil || errOther != nil || string(one) != string(other) {
			return false
		}
	}
	return true
}
