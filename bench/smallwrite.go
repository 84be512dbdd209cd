package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"
)

const (
	aloneFor  = 3 * time.Second
	besideFor = 5 * time.Second
)

// smallWrites is how long a small change takes: one commit of the main store with
// its audit entry.
type smallWrites struct {
	engine        string
	alone, beside []time.Duration // sorted
	ingest        float64         // spans a second meanwhile
}

// measureSmallWrites renames an organization over and over on one connection,
// first alone, then while another organization's ingest saturates the server.
func measureSmallWrites(ctx context.Context, i installation) (w smallWrites, err error) {
	w.engine = i.engine
	err = i.whileServing(ctx, func(a *account) error {
		writer, err := a.inNewOrganization(ctx, "small writes")
		if err != nil {
			return err
		}
		if w.alone, err = writer.renameFor(ctx, aloneFor); err != nil {
			return err
		}
		ingesting := make(chan error, 1)
		var round ingestRound
		go func() {
			var err error
			round, err = a.ingestFor(ctx, recentPayloads(ingestConnections*payloadsEach), besideFor)
			ingesting <- err
		}()
		w.beside, err = writer.renameFor(ctx, besideFor)
		if err := errors.Join(err, <-ingesting); err != nil {
			return err
		}
		w.ingest = round.perSecond()
		return nil
	})
	return w, err
}

// whileServing starts the installation, signs in, calls do and stops it.
func (i installation) whileServing(ctx context.Context, do func(a *account) error) error {
	server, _, err := i.start(ctx)
	if err != nil {
		return err
	}
	a, err := signIn(ctx, i, server)
	if err == nil {
		err = do(a)
	}
	return errors.Join(err, server.stop())
}

func (a *account) renameFor(ctx context.Context, length time.Duration) ([]time.Duration, error) {
	var latencies []time.Duration
	for begin := time.Now(); time.Since(begin) < length; {
		sent := time.Now()
		name := map[string]string{"name": fmt.Sprintf("small writes %d", len(latencies))}
		if err := a.do(ctx, http.MethodPatch, "/organization/"+a.org, name, nil); err != nil {
			return nil, err
		}
		latencies = append(latencies, time.Since(sent))
	}
	slices.Sort(latencies)
	return latencies, nil
}
