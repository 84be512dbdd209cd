package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"time"
)

// shadowSamples is how many decisions a turn makes.
const shadowSamples = 2_000

// measureShadow compares decisions of two organizations on one server: one has its
// policy of 100 rules alone, in the other as many run beside it as a shadow. A turn
// begins once the server has nothing else to do: what it shows in telemetry of
// earlier decisions is their cost.
func (b *bench) measureShadow(ctx context.Context, i installation, server *process, rules policies) error {
	alone, err := newDecider(ctx, i, server, rules)
	if err != nil {
		return err
	}
	beside, err := newDecider(ctx, i, server, rules)
	if err != nil {
		return err
	}
	shadowID, err := beside.account.startShadow(ctx, rules.writ)
	if err != nil {
		return err
	}
	contenders := []contender{
		{name: "no shadow", target: alone.target}, {name: "one shadow of 100 rules", target: beside.target},
	}
	each := (shadowSamples + b.connections - 1) / b.connections
	for turn := range b.rounds + 1 {
		for n := range contenders {
			c := &contenders[n]
			if err := server.awaitIdle(); err != nil {
				return err
			}
			r, err := c.target.ask(b.connections, readyWithin, each)
			if err != nil {
				return fmt.Errorf("%s: %w", c.name, err)
			}
			if turn > 0 { // the first warms up
				c.rounds = append(c.rounds, r)
			}
		}
	}
	if err := beside.account.wasAsked(ctx, shadowID); err != nil {
		return err
	}
	return printShadows(os.Stdout, contenders)
}

// wasAsked makes sure that a shadow took part: one that did not costs nothing.
func (a *account) wasAsked(ctx context.Context, policyID string) error {
	if err := a.server.awaitIdle(); err != nil {
		return err
	}
	var figures struct {
		Shadow struct{ Calls int }
	}
	if err := a.read(ctx, "/policies/"+policyID, &figures); err != nil {
		return err
	}
	if figures.Shadow.Calls < shadowSamples {
		return fmt.Errorf("the shadow was asked about %d calls only", figures.Shadow.Calls)
	}
	return nil
}

// startShadow stores the rules as another policy, and has it run as a shadow.
func (a *account) startShadow(ctx context.Context, document []byte) (id string, err error) {
	var policy map[string]any
	if err := json.Unmarshal(document, &policy); err != nil {
		return "", fmt.Errorf("read the policy: %w", err)
	}
	policy["name"] = "shadow"
	var made struct {
		ID string `json:"id"`
	}
	if err := a.do(ctx, http.MethodPost, "/policies?organizationId="+url.QueryEscape(a.org), policy,
		&made); err != nil {
		return "", err
	}
	return made.ID, a.do(ctx, http.MethodPost, "/policies/"+made.ID+"/shadow", nil, nil)
}

func printShadows(out io.Writer, contenders []contender) error {
	table := newTable(out, "a decision beside a shadow (SQLite)", "p50", "p99", "server CPU/req", "throughput", "CPU",
		"target")
	for _, c := range contenders {
		throughput, cpu := c.over(contenders[0])
		table.row(c.name,
			milliseconds(medianOf(c, func(r round) time.Duration { return r.p50 })),
			milliseconds(medianOf(c, func(r round) time.Duration { return r.p99 })),
			fmt.Sprintf("%.1f us", float64(medianOf(c, round.cpuPerRequest))/float64(time.Microsecond)),
			fmt.Sprintf("%.2f x", throughput), fmt.Sprintf("%.2f x", cpu), "-")
	}
	return table.Flush()
}
