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
	"slices"
	"sync"
	"time"
)

// Registries at which the cost of a decision is compared.
const (
	manyAgents    = 10_000
	agentsAtOnce  = 8
	agentsRounds  = 80
	agentsAsked   = 256   // decisions of each server in a round
	agentsWarmUp  = 1_000 // decisions, which a busy machine makes within the time of a request
	agentsWarmUps = 3
	agentsTarget  = "at most 1.03 x"
	callingAgent  = "agent" // of the decider's calls
	registeredOne = "/agent/register?organizationId="
)

// registry is a server with so many registered agents, and what decisions cost it, round by round.
type registry struct {
	decider
	name   string
	agents int
	used   time.Duration // of processor, until the last round
	costs  []float64     // in seconds, of a round
	memory int64
}

// agents compares what a decision costs without any registered agent and with ten thousand, of which one calls with its
// bound key. A second server without any shows what the machine's noise makes of it. Rounds are short and many, so that
// whatever else slows the machine slows all three. A round charges each with all that it did, so that nothing of what
// follows a decision is left out.
func (b *bench) agents(ctx context.Context) (err error) {
	rules, err := b.writePolicies(ctx)
	if err != nil {
		return err
	}
	registries := []*registry{{name: "0 agents"}, {name: "10000 agents", agents: manyAgents}, {name: "0 agents again"}}
	for n, r := range registries {
		folder := filepath.Join(b.folder, fmt.Sprintf("agents-%d", n))
		if r.decider, err = startDecider(ctx, onSQLite(b.writd, folder), rules); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, r.target.server.stop()) }()
		if err := b.prepare(ctx, r); err != nil {
			return err
		}
	}
	for _, r := range registries {
		if err := r.begin(); err != nil {
			return err
		}
	}
	for n := range agentsRounds {
		if err := b.agentsRound(registries, n); err != nil {
			return err
		}
	}
	for _, r := range registries {
		if r.memory, err = r.target.server.memory(); err != nil {
			return err
		}
	}
	return printRegistries(os.Stdout, registries)
}

// prepare registers the agents, or writes as much to the log, and makes decisions: what a server keeps in memory of
// them sets how often it collects garbage.
func (b *bench) prepare(ctx context.Context, r *registry) (err error) {
	if r.agents > 0 {
		err = r.account.register(ctx, r.agents)
	} else {
		err = r.account.rename(ctx, manyAgents)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", r.name, err)
	}
	for range agentsWarmUps {
		if err = b.fill(r.decider, agentsWarmUp); err != nil {
			return err
		}
	}
	return nil
}

// begin waits until the server has done all that came before, and reads its clock.
func (r *registry) begin() (err error) {
	if err := r.target.server.awaitIdle(); err != nil {
		return err
	}
	r.used, err = r.target.server.cpu()
	return err
}

// agentsRound asks every server for the same number of decisions. The order rotates, because a server's place in it
// affects its time.
func (b *bench) agentsRound(registries []*registry, n int) error {
	for i := range registries {
		r := registries[(n+i)%len(registries)]
		if err := r.target.askTimes(agentsAsked, b.connections); err != nil {
			return err
		}
	}
	for _, r := range registries {
		used, err := r.target.server.cpu()
		if err != nil {
			return err
		}
		r.costs = append(r.costs, (used - r.used).Seconds())
		r.used = used
	}
	return nil
}

// register registers agents; the first is the one that calls, and has its key.
func (a *account) register(ctx context.Context, agents int) error {
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
	return inParallel(agents-1, func(n int) error {
		agent := map[string]any{"agentId": fmt.Sprintf("agent-%d", n), "name": fmt.Sprintf("Agent %d", n)}
		return a.do(ctx, http.MethodPost, path, agent, nil)
	})
}

// rename makes as many entries in the log as registering agents does: what a long log costs is no cost of agents.
func (a *account) rename(ctx context.Context, times int) error {
	return inParallel(times, func(n int) error {
		name := map[string]string{"name": fmt.Sprintf("Decisions %d", n)}
		return a.do(ctx, http.MethodPatch, "/organization/"+a.org, name, nil)
	})
}

// inParallel does something many times, some at once.
func inParallel(times int, do func(n int) error) error {
	numbers := make(chan int)
	errs := make([]error, agentsAtOnce)
	var all sync.WaitGroup
	for worker := range agentsAtOnce {
		all.Go(func() {
			for n := range numbers {
				errs[worker] = errors.Join(errs[worker], do(n))
			}
		})
	}
	for n := range times {
		numbers <- n
	}
	close(numbers)
	all.Wait()
	return errors.Join(errs...)
}

// printRegistries compares each with the servers without agents in the same round: with both, or with the other one.
func printRegistries(out io.Writer, registries []*registry) error {
	table := newTable(out, "a decision, by registered agents (SQLite)", "server CPU/req", "ratio", "spread of rounds",
		"memory", "target")
	first, many, again := registries[0], registries[1], registries[2]
	for _, r := range registries {
		ratios, target := make([]float64, 0, agentsRounds), "-"
		for n, cost := range r.costs {
			switch r {
			case first:
				ratios = append(ratios, cost/again.costs[n])
			case again:
				ratios = append(ratios, cost/first.costs[n])
			case many:
				ratios = append(ratios, 2*cost/(first.costs[n]+again.costs[n]))
				target = agentsTarget
			}
		}
		slices.Sort(ratios)
		table.row(r.name, fmt.Sprintf("%.1f us", 1e6*median(r.costs)/agentsAsked),
			fmt.Sprintf("%.3f x", median(ratios)),
			fmt.Sprintf("%.2f to %.2f", ratios[len(ratios)/4], ratios[len(ratios)*3/4]),
			fmt.Sprintf("%.0f MB", float64(r.memory)/1e6), target)
	}
	return table.Flush()
}
