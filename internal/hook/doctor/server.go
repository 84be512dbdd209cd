package doctor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"writ/client"
)

// direct connects as hooks do: without the proxy that the environment names.
var direct = &http.Client{
	Transport: &http.Transport{DisableKeepAlives: true},
	CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse
	},
}

// server asks the server that the guard file names.
func (e *examination) server(ctx context.Context) {
	checks := []string{"server", "clock", "key", "agent", "policy"}
	if e.guard == nil {
		for _, check := range checks {
			e.add(check, Skipped, "the guard file says which server", "")
		}
		return
	}
	at, err := e.reach(ctx)
	if err != nil {
		if refused := refusedCertificate(err); refused != nil {
			e.add("server", Failed, untrusted(e.guard.Server, refused), trustFix)
		} else {
			text := fmt.Sprintf("%s does not answer, so that no tool runs: %v", e.guard.Server, cause(err))
			e.add("server", Failed, text,
				"start it, or name another: writ init gemini --url ADDRESS")
		}
		for _, check := range checks[1:] {
			e.add(check, Skipped, "the server does not answer", "")
		}
		return
	}
	e.add("server", OK, e.guard.Server, "")
	e.clock(at, time.Now())
	c := &client.Client{BaseURL: e.guard.Server, APIKey: e.guard.Key, HTTP: direct}
	if !e.key(ctx, c) {
		e.add("agent", Skipped, "the key is not accepted", "")
		e.add("policy", Skipped, "the key is not accepted", "")
		return
	}
	e.agent(ctx, c)
	e.policy(ctx, c)
}

// reach asks the server whether it is ready, and gives its clock.
func (e *examination) reach(ctx context.Context) (at time.Time, err error) {
	ctx, cancel := context.WithTimeout(ctx, e.guard.AnswerLimit())
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimRight(e.guard.Server, "/")+"/ready",
		nil)
	if err != nil {
		return at, err
	}
	answer, err := direct.Do(request)
	if err != nil {
		return at, err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return at, fmt.Errorf("status %d", answer.StatusCode)
	}
	at, _ = http.ParseTime(answer.Header.Get("Date")) // zero: it does not say
	return at, nil
}

// cause is an error without the address, which the finding has.
func cause(err error) error {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err
		}
		err = inner
	}
}

// Clocks may differ so much before a ticket or a plan is too old when it comes.
const (
	clockWarning = time.Minute
	clockFailure = 4 * time.Minute
)

func (e *examination) clock(server, here time.Time) {
	if server.IsZero() {
		e.add("clock", Warning, "the server does not say its time", "")
		return
	}
	off := here.Sub(server).Abs().Round(time.Second)
	text := fmt.Sprintf("this machine's clock and the server's differ by %v", off)
	const fix = "set both clocks by NTP"
	switch {
	case off > clockFailure:
		e.add("clock", Failed, text+": tickets and plans are too old when they come", fix)
	case off > clockWarning:
		e.add("clock", Warning, text, fix)
	default:
		e.add("clock", OK, "that of the server", "")
	}
}

// scopes are what hooks and the plan server need, and what for.
var scopes = []struct{ name, use string }{
	{"enforce", "no tool runs"},
	{"audit", "what ran is not reported"},
	{"delegation.request", "held calls cannot wait for a person"},
	{"ingest", "there are no traces"},
}

// key checks the key's rights, and reports whether the server accepts it.
func (e *examination) key(ctx context.Context, c *client.Client) bool {
	ctx, cancel := context.WithTimeout(ctx, e.guard.AnswerLimit())
	defer cancel()
	current, err := c.CurrentKey(ctx)
	if err != nil {
		e.add("key", Failed, "the server does not accept the key of the guard file: "+err.Error(), initAgain)
		return false
	}
	for _, s := range scopes {
		if !slices.Contains(current.Scopes, s.name) {
			e.add("key", Failed, fmt.Sprintf("the key has no scope %s, so that %s", s.name, s.use),
				"run writ init gemini again, signed in, without WRIT_API_KEY")
			return s.name != "enforce"
		}
	}
	org := ""
	if current.OrganizationID != nil {
		org = *current.OrganizationID
	}
	if e.guard.Organization != "" && org != e.guard.Organization {
		e.add("key", Failed, "the key belongs to another organization than the guard file says", initAgain)
		return true
	}
	e.add("key", OK, current.ID+" ("+current.Environment+")", "")
	return true
}

// agent checks that nobody has stopped the agent.
func (e *examination) agent(ctx context.Context, c *client.Client) {
	ctx, cancel := context.WithTimeout(ctx, e.guard.AnswerLimit())
	defer cancel()
	status, err := c.AgentStatus(ctx, e.guard.Organization, e.guard.Agent)
	switch {
	case err != nil && client.StatusOf(err) != http.StatusNotFound:
		e.add("agent", Failed, "the status of "+e.guard.Agent+" cannot be read: "+err.Error(), "")
	case status == "killed" || status == "suspended":
		e.add("agent", Failed, e.guard.Agent+" is "+status+", so that no tool runs",
			"ask an owner or admin: writ revive "+e.guard.Agent+" --reason WHY")
	default:
		e.add("agent", OK, e.guard.Agent, "")
	}
}

// questions are calls that every coding agent makes.
var questions = []struct{ tool, arguments string }{
	{"read_file", `{"file_path":"README.md"}`},
	{"list_directory", `{"dir_path":"."}`},
	{"write_file", `{"file_path":"notes.txt","content":"text"}`},
	{"run_shell_command", `{"command":"ls"}`},
}

// policy checks whether policies let anything run at all.
func (e *examination) policy(ctx context.Context, c *client.Client) {
	var may, asks []string
	for _, q := range questions {
		ctx, cancel := context.WithTimeout(ctx, e.guard.AnswerLimit())
		access, err := c.CheckAccess(ctx, "", client.ToolCall{
			Server: "gemini-cli", Tool: q.tool, AgentID: e.guard.Agent, Arguments: json.RawMessage(q.arguments),
		})
		cancel()
		switch {
		case err != nil:
			e.add("policy", Failed, "policies cannot be asked: "+err.Error(), "")
			return
		case access.Decision == "allow":
			may = append(may, q.tool)
		case access.Decision != "deny":
			asks = append(asks, q.tool)
		}
	}
	switch {
	case len(may) > 0:
		e.add("policy", OK, "allows "+strings.Join(may, ", "), "")
	case len(asks) > 0:
		e.add("policy", Warning, "every call waits for a person: "+strings.Join(asks, ", "),
			"put a policy in force that allows some: writ init gemini --policy coding-agent")
	default:
		e.add("policy", Failed, "policies allow nothing, not even reading a file in the project",
			fmt.Sprintf("put a policy in force: writ init gemini --policy coding-agent. One that is bound to %[1]s allows "+
				"only with a key of that agent: writ agents add-key %[1]s KEY, or, where it is not registered, "+
				"writ agents register %[1]s --key KEY", e.guard.Agent))
	}
}
