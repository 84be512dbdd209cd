package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
)

// wayTarget is what a decision by a session's plan may cost.
const wayTarget = "at most 1 x"

// ways measures, on each database, what the ways to ask for a decision cost.
func (b *bench) ways(ctx context.Context) error {
	rules, err := b.writePolicies(ctx)
	if err != nil {
		return err
	}
	for _, i := range b.installations {
		d, err := startDecider(ctx, i, rules)
		if err != nil {
			return fmt.Errorf("%s: %w", i.engine, err)
		}
		err = b.measureWays(ctx, i.engine, d)
		if err = errors.Join(err, d.target.server.stop()); err != nil {
			return err
		}
	}
	return nil
}

// measureWays compares the ways to ask one server for the same decision: with a plan's token, by the plan that the
// session declared, as hooks ask, and without any plan.
func (b *bench) measureWays(ctx context.Context, engine string, d decider) error {
	contenders := []contender{{name: "with a token", target: d.target}}
	for _, way := range []struct{ name, session string }{
		{"by the session's plan", "bench"},
		{"without a plan", ""},
	} {
		if way.session != "" {
			if err := d.account.declareFor(ctx, way.session); err != nil {
				return err
			}
		}
		target, err := d.asHook(ctx, way.session)
		if err != nil {
			return fmt.Errorf("%s: %w", way.name, err)
		}
		contenders = append(contenders, contender{name: way.name, target: target})
	}
	if _, err := b.race(ctx, contenders); err != nil {
		return err
	}
	table := newTable(os.Stdout, "a decision, by how it is asked for ("+engine+")", "req/s", "server CPU/req", "ratio",
		"target")
	for i, c := range contenders {
		_, ratio := c.over(contenders[0])
		target := "-"
		if i == 1 {
			target = wayTarget
		}
		table.row(c.name, fmt.Sprintf("%.0f", medianOf(c, round.perSecond)), microseconds(c),
			fmt.Sprintf("%.2f x", ratio), target)
	}
	return table.Flush()
}

// declareFor declares the plan of the call for a session.
func (a *account) declareFor(ctx context.Context, session string) error {
	request, err := json.Marshal(map[string]any{
		"user_id": "user", "agent_id": "agent", "context_id": "default", "session_id": session, "plan": calledPlan(),
		"expires_in": 86_400,
	})
	if err != nil {
		return err
	}
	_, err = a.send(ctx, http.MethodPost, "/iap/sdk/token", "X-Api-Key", a.key, bytes.NewReader(request))
	return err
}

// asHook is the same call as a hook sends it: without a token, and perhaps with a session.
func (d decider) asHook(ctx context.Context, session string) (target, error) {
	body, err := json.Marshal(map[string]any{
		"tool_name": calledTool, "tool_input": calledArguments, "session_id": session, "agent_id": "agent",
		"mcp_context": map[string]any{"server_name": calledServer, "tool_name": calledTool},
	})
	if err != nil {
		return target{}, err
	}
	answer, err := d.account.send(ctx, http.MethodPost, "/iap/enforce", "X-Api-Key", d.account.key,
		bytes.NewReader(body))
	if err != nil {
		return target{}, err
	}
	if !bytes.HasPrefix(answer, d.target.begins) {
		return target{}, fmt.Errorf("the call is not allowed: %s", answer)
	}
	server := d.target.server
	return target{
		server: server, request: post(server, "/iap/enforce", d.account.key, body), answer: answer,
		begins: d.target.begins,
	}, nil
}
