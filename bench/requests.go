package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// warmUp is how long each server is asked before the rounds.
const warmUp = time.Second

// contender is a server with its rounds. The first of a list is the floor.
type contender struct {
	name   string
	target target
	rounds []round
}

// measureRequests lets the floor and every installation answer in turns. It also
// says which share of the machine went to others meanwhile.
func measureRequests(
	ctx context.Context, installations []installation, o options,
) (_ []contender, others float64, err error) {
	var contenders []contender
	defer func() {
		for _, c := range contenders {
			err = errors.Join(err, c.target.server.stop())
		}
	}()
	for _, i := range installations {
		c, err := contend(ctx, i)
		if err != nil {
			return nil, 0, err
		}
		contenders = append(contenders, c)
	}
	floor, err := contendAsFloor(ctx, contenders[0].target)
	if err != nil {
		return nil, 0, err
	}
	contenders = slices.Insert(contenders, 0, floor)
	if err := takeTurns(ctx, contenders, 1, warmUp, o.connections); err != nil {
		return nil, 0, err
	}
	var servers []*process
	for _, c := range contenders {
		servers = append(servers, c.target.server)
	}
	others, err = shareOfOthers(servers, func() error {
		return takeTurns(ctx, contenders, o.rounds, o.roundLength(), o.connections)
	})
	return contenders, others, err
}

func contend(ctx context.Context, i installation) (contender, error) {
	server, _, err := i.start(ctx)
	if err != nil {
		return contender{}, err
	}
	t, err := i.currentKey(server)
	if err != nil {
		return contender{}, errors.Join(err, server.stop())
	}
	return contender{name: "writd, " + i.engine, target: t}, nil
}

// contendAsFloor starts a floor that gets the same request as another target
// and answers with the same document.
func contendAsFloor(ctx context.Context, like target) (contender, error) {
	server, err := startFloor(ctx, "answer", like.answer)
	if err != nil {
		return contender{}, err
	}
	return contender{
		name: "bare net/http", target: target{server: server, request: like.request, answer: like.answer},
	}, nil
}

// takeTurns gives each contender new rounds, one after the other.
func takeTurns(ctx context.Context, contenders []contender, rounds int, length time.Duration, connections int) error {
	for i := range contenders {
		contenders[i].rounds = nil
	}
	for range rounds {
		for i := range contenders {
			if err := ctx.Err(); err != nil {
				return err
			}
			c := &contenders[i]
			r, err := c.target.askFor(length, connections)
			if err != nil {
				return fmt.Errorf("%s: %w", c.name, err)
			}
			c.rounds = append(c.rounds, r)
		}
	}
	return nil
}

// over compares each round with the floor's round beside it, and returns the
// median: throughput as a share of the floor's, processor time as a multiple.
func (c contender) over(floor contender) (throughput, cpu float64) {
	var throughputs, cpus []float64
	for n, r := range c.rounds {
		f := floor.rounds[n]
		throughputs = append(throughputs, r.perSecond()/f.perSecond())
		cpus = append(cpus, float64(r.cpuPerRequest())/float64(f.cpuPerRequest()))
	}
	return median(throughputs), median(cpus)
}

// medianOf is the median of one number over the rounds.
func medianOf[T number](c contender, figure func(round) T) T {
	var values []T
	for _, r := range c.rounds {
		values = append(values, figure(r))
	}
	return median(values)
}
