package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// Registries at which the cost of a decision is compared.
const (
	manyAgents    = 10_000
	agentsAtOnce  = 8
	agentsTurns   = 15
	agentsWarmUp  = 1_000 // decisions, which a busy machine makes within the time of a request
	agentsWarmUps = 5
	agentsTarget  = "at most 1.03 x"
	callingAgent  = "agent" // of the decider's calls
	registeredOne = "/agent/register?organizationId="
)

// registry is a server with so many registered agents, and what decisions cost it, turn by turn.
type registry struct {
	decider
	agents int
	costs  []time.Duration // of processor, each
}

// agents compares what a decision costs without any registered agent and with ten thousand, of which one calls with its
// bound key, in turns. Both servers have made as many decisions: what they keep in memory sets how often they collect
// garbage.
func (b *bench) agents(ctx context.Context) (err error) {
	rules, err := b.writePolicies(ctx)
	if err != nil {
		return err
	}
	registries := []*registry{{agents: 0}, {agents: manyAgents}}
	for _, r := range registries {
		folder := filepath.Join(b.folder, fmt.Sprintf("agents-%d", r.agents))
		if r.decider, err = startDecider(ctx, onSQLite(b.writd, folder), rules); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, r.target.server.stop()) }()
		if err := r.account.register(ctx, r.agents); err != nil {
			return err
		}
		for range agentsWarmUps {
			if err := b.fill(r.decider, agentsWarmUp); err != nil {
				return err
			}
		}
	}
	for range agentsTurns {
		for _, r := range registries {
			cost, err := b.costOf(r.decider)
			if err != nil {
				return err
			}
			r.costs = append(r.costs, cost)
		}
	}
	return printRegistries(os.Stdout, registries)
}

// register registers agents; the first is the one that calls, and has its key.
func (a *account) register(ctx context.Context, agents int) error {
	if agents == 0 {
		return nil
	}
	var key struct {
		ID string `json:"id"`
	}
	if err := a.current(ctx, &key); err != nil {
		return err
	}
	path := registeredOne + url.QueryEscape(a.org)
	bound := map[string]any{"agentId": callingAgent, "keys": []string{key.ID}}
	if err := a.do(ctx, http.MethodPost, path, bound, nil); err != nil {
		return fmt.Errorf("register the agent that calls: %w", err)
	}
	numbers := make(chan int)
	errs := make([]error, agentsAtOnce)
	var all sync.WaitGroup
	for worker := range agentsAtOnce {
		all.Go(func() {
			for n := range numbers {
				agent := map[string]any{"agentId": fmt.Sprintf("agent-%d", n), "name": fmt.Sprintf("Agent %d", n)}
				errs[worker] = errors.Join(errs[worker], a.do(ctx, http.MethodPost, path, agent, nil))
			}
		})
	}
	for n := 1; n < agents; n++ {
		numbers <- n
	}
	close(numbers)
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("register agents: %w", err)
	}
	return nil
}

func printRegistries(out io.Writer, registries []*registry) error {
	table := newTable(out, "a decision, by registered agents (SQLite)", "server CPU/req", "ratio", "target")
	for i, r := range registries {
		ratios, target := make([]float64, 0, agentsTurns), "-"
		for turn, cost := range r.costs {
			ratios = append(ratios, float64(cost)/float64(registries[0].costs[turn]))
		}
		if i > 0 {
			target = agentsTarget
		}
		table.row(fmt.Sprintf("%d agents", r.agents), median(r.costs).String(), fmt.Sprintf("%.3f x", median(ratios)),
			target)
	}
	return table.Flush()
}
