package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"
)

// otlpTarget is what OTLP should reach of the rate of the other way in.
const otlpTarget = "at least 0.5 of the JSON"

func (b *bench) otlp(ctx context.Context) error {
	for _, i := range b.installations {
		ingesters, others, err := measureOTLP(ctx, i, b.options)
		if err != nil {
			return fmt.Errorf("%s: %w", i.engine, err)
		}
		if err := printOTLP(os.Stdout, i.engine, ingesters, others); err != nil {
			return err
		}
	}
	return nil
}

// measureOTLP has one server take the same traces in turns: by POST /observability/spans,
// by OTLP, and by OTLP with each trace in two requests, as exporters send them.
func measureOTLP(ctx context.Context, i installation, o options) (_ []*ingester, others float64, err error) {
	server, _, err := i.start(ctx)
	if err != nil {
		return nil, 0, err
	}
	defer func() { err = errors.Join(err, server.stop()) }()
	a, err := signIn(ctx, i, server)
	if err != nil {
		return nil, 0, err
	}
	ingesters := []*ingester{
		newIngester("JSON", a), newOTLPIngester("OTLP", a, 1), newOTLPIngester("OTLP, a trace in two requests", a, 2),
	}
	if err := ingestInTurns(ctx, ingesters, 1, warmUp); err != nil {
		return nil, 0, err
	}
	for _, i := range ingesters {
		i.rounds = nil
	}
	others, err = shareOfOthers([]*process{server}, func() error {
		return ingestInTurns(ctx, ingesters, o.rounds, o.roundLength())
	})
	return ingesters, others, err
}

// newOTLPIngester sends each trace in a number of requests. As many spans are in a
// request as in those of the JSON.
func newOTLPIngester(name string, a *account, requests int) *ingester {
	w := newWorkload()
	var payloads [][]*otlpPayload
	for range ingestConnections * payloadsEach {
		payloads = append(payloads, newOTLPPayloads(w, tracesPerRequest*requests, spansPerTrace, requests,
			time.Now().UTC().Add(-time.Minute), 10*time.Millisecond))
	}
	return &ingester{name: name, server: a.server,
		take: func(ctx context.Context, length time.Duration) (ingestRound, error) {
			return ingestWith(length, func(c, n int) error {
				of := payloads[c*payloadsEach+n/requests%payloadsEach]
				if n%requests == 0 {
					renewTogether(of)
				}
				return a.ingestOTLP(ctx, of[n%requests])
			})
		}}
}

// ingestOTLP sends a payload and accepts only that all of its spans are stored: then
// the answer is an empty message.
func (a *account) ingestOTLP(ctx context.Context, p *otlpPayload) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+a.server.address+"/v1/traces",
		bytes.NewReader(p.text))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/x-protobuf")
	request.Header.Set("X-Api-Key", a.key)
	response, err := a.client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK || len(answer) != 0 {
		return errors.Join(fmt.Errorf("export spans: %s: %q", response.Status, answer), err)
	}
	return nil
}

func printOTLP(out io.Writer, engine string, ingesters []*ingester, others float64) error {
	table := newTable(out, fmt.Sprintf("OTLP, %d spans a request, %s", spansPerRequest, engine), "spans/s",
		"request p50", "server CPU/span", "of the JSON's rate", "target")
	for n, i := range ingesters {
		target := "-"
		if n > 0 {
			target = otlpTarget
		}
		table.row(i.name, fmt.Sprintf("%.0f", i.median(ingestRound.perSecond)),
			milliseconds(time.Duration(i.median(func(r ingestRound) float64 { return float64(r.p50) }))),
			fmt.Sprintf("%.1f us", i.median(ingestRound.cpuPerSpan)),
			fmt.Sprintf("%.2f", i.over(ingesters[0], ingestRound.perSecond)), target)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	return printOthers(out, others)
}
