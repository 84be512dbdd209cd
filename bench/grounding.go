package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"
)

// What grounding may cost.
const (
	groundedTarget = "at most 1.3 x"
	reportTarget   = "at most 1 ms more"
)

// knownOutputs is how many outputs of 10 KB a decision is judged by.
const knownOutputs = 20

// grounding measures, on each database, what it costs to judge by what a session knows, and to add to it.
func (b *bench) grounding(ctx context.Context) error {
	for _, i := range b.installations {
		server, _, err := i.start(ctx)
		if err != nil {
			return err
		}
		err = b.measureGrounding(ctx, i, server)
		if err = errors.Join(err, server.stop()); err != nil {
			return fmt.Errorf("%s: %w", i.engine, err)
		}
	}
	return nil
}

func (b *bench) measureGrounding(ctx context.Context, i installation, server *process) error {
	owner, err := signIn(ctx, i, server)
	if err != nil {
		return err
	}
	var orgs []*account
	for _, mode := range []string{"off", "ask"} {
		org, err := owner.groundingAs(ctx, mode)
		if err != nil {
			return err
		}
		orgs = append(orgs, org)
	}
	if err := b.compareDecisions(ctx, i.engine, orgs[1]); err != nil {
		return err
	}
	return b.compareReports(ctx, i.engine, orgs)
}

// compareDecisions compares a decision in sessions that know nothing with one in sessions that know much.
func (b *bench) compareDecisions(ctx context.Context, engine string, org *account) error {
	var all []*knowing
	var memory []int64
	for _, outputs := range []int{0, knownOutputs} {
		before, err := org.server.memory()
		if err != nil {
			return err
		}
		k, err := b.newKnowing(ctx, org, fmt.Sprintf("%d outputs of 10 KB", outputs), outputs)
		if err != nil {
			return err
		}
		after, err := org.server.memory()
		if err != nil {
			return err
		}
		all, memory = append(all, k), append(memory, (after-before)/int64(len(k.sessions)))
	}
	err := b.takePasses(ctx, all, passes{
		measured: func(s *knownSession) error { return s.decide(ctx, "act", acted) },
		after:    func(s *knownSession) error { return s.report(ctx, "act", acted, "ok") },
	})
	if err != nil {
		return err
	}
	if err := printKnowing(os.Stdout, "a decision ("+engine+")", all, groundedTarget); err != nil {
		return err
	}
	_, err = fmt.Printf("\nmemory of a plan with %d outputs of 10 KB: %.0f KB, without: %.0f KB\n", knownOutputs,
		float64(memory[1])/1e3, float64(memory[0])/1e3)
	return err
}

// compareReports compares a report that nothing is judged by with one that is taken.
func (b *bench) compareReports(ctx context.Context, engine string, orgs []*account) error {
	var all []*knowing
	for n, org := range orgs {
		k, err := b.newKnowing(ctx, org, "grounding "+[]string{"off", "ask"}[n], 0)
		if err != nil {
			return err
		}
		all = append(all, k)
	}
	err := b.takePasses(ctx, all, passes{
		before:   func(s *knownSession) error { return s.decide(ctx, "list", listed) },
		measured: func(s *knownSession) error { return s.report(ctx, "list", listed, page) },
	})
	if err != nil {
		return err
	}
	return printKnowing(os.Stdout, "a report of 10 KB ("+engine+")", all, reportTarget)
}

func printKnowing(out io.Writer, title string, all []*knowing, target string) error {
	table := newTable(out, title, "server CPU/req", "more", "ratio", "target")
	for i, k := range all {
		var ratios []float64
		var more []time.Duration
		for turn, cost := range k.costs {
			ratios = append(ratios, float64(cost)/float64(all[0].costs[turn]))
			more = append(more, cost-all[0].costs[turn])
		}
		shown := "-"
		if i > 0 {
			shown = target
		}
		table.row(k.name, median(k.costs).String(), median(more).String(), fmt.Sprintf("%.2f x", median(ratios)), shown)
	}
	return table.Flush()
}

// groundingAs is the same person in an organization with this setting, whose policy allows every call.
func (a *account) groundingAs(ctx context.Context, mode string) (*account, error) {
	of, err := a.inNewOrganization(ctx, "Grounding "+mode)
	if err != nil {
		return nil, err
	}
	policy := `{"version":"v1","name":"all","rules":[{"id":"all","effect":"allow","tools":["*"]}]}`
	if err := of.activate(ctx, []byte(policy)); err != nil {
		return nil, err
	}
	in := "/organization/" + of.org
	if err := of.do(ctx, http.MethodPut, in+"/tool-classes", map[string]any{
		"classes": []any{map[string]any{"class": "read", "tools": []string{"bench.list"}}},
	}, nil); err != nil {
		return nil, err
	}
	settings := map[string]any{"intentRequired": false, "maxPlanTtlSeconds": 86_400, "grounding": mode}
	return of, of.do(ctx, http.MethodPut, in+"/enforcement", settings, nil)
}

// The calls of a session: one lists, and one acts on what was listed.
var (
	listed = map[string]any{"of": "the people"}
	acted  = map[string]any{
		"to": "p7@x.example", "subject": "hello", "body": "I hope that you are well today.",
	}
)

// page is what a list returns: 10 KB of records with short running text.
var page = makePage()

func makePage() string {
	const size = 10 << 10
	var text strings.Builder
	for i := 0; text.Len() < size; i++ {
		fmt.Fprintf(&text,
			"- id: %d\n  name: person %d\n  email: p%d@x.example\n  note: this is what stands about the person here\n", i, i, i)
	}
	return text.String()
}

// knownSession is a session with its plan.
type knownSession struct {
	*account
	id, plan string
	reports  int
}

// declare declares the plan of the session.
func (s *knownSession) declare(ctx context.Context) error {
	var minted struct {
		PlanID string `json:"plan_id"`
	}
	steps := []any{
		map[string]any{"action": "list", "mcp": "bench"}, map[string]any{"action": "act", "mcp": "bench"},
	}
	err := s.ask(ctx, "/iap/sdk/token", map[string]any{
		"session_id": s.id, "agent_id": "agent", "prompt": "Say hello to the people of the list.",
		"plan": map[string]any{"goal": "say hello", "steps": steps}, "expires_in": 86_400,
	}, &minted)
	s.plan = minted.PlanID
	return err
}

// decide asks about a call, which must be allowed.
func (s *knownSession) decide(ctx context.Context, tool string, arguments map[string]any) error {
	var answer struct {
		Decision, Reason string
	}
	err := s.ask(ctx, "/iap/enforce", map[string]any{
		"tool_name": tool, "tool_input": arguments, "session_id": s.id, "agent_id": "agent",
		"mcp_context": map[string]any{"server_name": "bench", "tool_name": tool},
	}, &answer)
	if err == nil && answer.Decision != "allow" {
		err = fmt.Errorf("%s is not allowed: %s", tool, answer.Reason)
	}
	return err
}

// report reports what a call returned.
func (s *knownSession) report(ctx context.Context, tool string, arguments map[string]any, output string) error {
	s.reports++
	return s.ask(ctx, "/iap/audit", map[string]any{
		"tool": tool, "mcp": "bench", "input": arguments, "output": output, "status": "success",
		"session_id": s.id, "agent_id": "agent", "seq": s.reports, "plan_id": s.plan,
	}, nil)
}

// ask sends a document with the key, and reads the answer into a pointer, unless it is nil.
func (s *knownSession) ask(ctx context.Context, path string, document, answer any) error {
	body, err := json.Marshal(document)
	if err != nil {
		return err
	}
	text, err := s.send(ctx, http.MethodPost, path, "X-Api-Key", s.key, bytes.NewReader(body))
	if err != nil || answer == nil {
		return err
	}
	return json.Unmarshal(text, answer)
}
