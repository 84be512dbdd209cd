package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"
)

const (
	searchTarget  = "p95 at most 50 ms"
	searchTimes   = 50 // how often each query is asked
	searchTraces  = 1_000_000
	fewerTraces   = 100_000 // without -large
	searchSpans   = 2       // of each trace
	indexPatience = 30 * time.Minute
)

// searchQueries are what is looked for: frequent, rare and missing words, begins of them, and several.
var searchQueries = []string{
	"bench", "ben", "b", "read file", "tests che", "blocked agent", "turn 1", "nothinglikeit", "bench nothinglikeit",
	"nothinglikeit ben",
}

// searches is what searching takes on an engine.
type searches struct {
	engine  string
	traces  int
	loaded  time.Duration // until all were acknowledged
	indexed time.Duration // from then until all could be found
	queries []searchRead
}

type searchRead struct {
	text     string
	p50, p95 time.Duration
	found    int
}

func (b *bench) search(ctx context.Context) error {
	var all []searches
	for _, i := range b.installations {
		s, err := measureSearch(ctx, i, b.options)
		if err != nil {
			return fmt.Errorf("%s: %w", i.engine, err)
		}
		all = append(all, s)
	}
	return printSearches(os.Stdout, all)
}

// measureSearch loads an organization, waits for its index and searches.
func measureSearch(ctx context.Context, i installation, o options) (s searches, err error) {
	s.engine, s.traces = i.engine, fewerTraces
	if o.large {
		s.traces = searchTraces
	}
	err = i.whileServing(ctx, func(a *account) error {
		account, err := a.inNewOrganization(ctx, "search")
		if err != nil {
			return err
		}
		begin := time.Now()
		if err := account.load(ctx, dataset{spansEach: searchSpans}, s.traces); err != nil {
			return err
		}
		s.loaded = time.Since(begin)
		if err := account.awaitIndex(ctx); err != nil {
			return err
		}
		s.indexed = time.Since(begin) - s.loaded
		for _, text := range searchQueries {
			read, err := account.timeSearch(ctx, text)
			if err != nil {
				return err
			}
			s.queries = append(s.queries, read)
		}
		return nil
	})
	return s, err
}

type searchAnswer struct {
	Items    []struct{} `json:"items"`
	Indexing bool       `json:"indexing"`
}

func (a *account) find(ctx context.Context, text string) (answer searchAnswer, err error) {
	query := url.Values{"organizationId": {a.org}, "q": {text}}
	err = a.do(ctx, http.MethodGet, "/search?"+query.Encode(), nil, &answer)
	return answer, err
}

// findPatiently waits where a person has searched too often in a minute, and says how long the answer took then.
func (a *account) findPatiently(ctx context.Context, text string) (searchAnswer, time.Duration, error) {
	for {
		sent := time.Now()
		answer, err := a.find(ctx, text)
		if err == nil || !strings.Contains(err.Error(), http.StatusText(http.StatusTooManyRequests)) {
			return answer, time.Since(sent), err
		}
		select {
		case <-ctx.Done():
			return answer, 0, ctx.Err()
		case <-time.After(time.Until(sent.Truncate(time.Minute).Add(time.Minute))):
		}
	}
}

// awaitIndex waits until the server says that everything is indexed.
func (a *account) awaitIndex(ctx context.Context) error {
	for begin := time.Now(); ; time.Sleep(time.Second) {
		if err := a.renewToken(ctx); err != nil {
			return err
		}
		answer, _, err := a.findPatiently(ctx, "bench")
		if err != nil || !answer.Indexing {
			return err
		}
		if time.Since(begin) > indexPatience {
			return fmt.Errorf("the index is not complete after %s", indexPatience)
		}
	}
}

func (a *account) timeSearch(ctx context.Context, text string) (r searchRead, err error) {
	r.text = text
	var took []time.Duration
	for n := range searchTimes + 3 {
		if err := a.renewToken(ctx); err != nil {
			return r, err
		}
		answer, tookOne, err := a.findPatiently(ctx, text)
		if err != nil {
			return r, err
		}
		if r.found = len(answer.Items); n >= 3 { // the first ones warm up
			took = append(took, tookOne)
		}
	}
	slices.Sort(took)
	r.p50, r.p95 = took[len(took)/2], took[len(took)*95/100]
	return r, nil
}

func printSearches(out io.Writer, all []searches) error {
	for _, s := range all {
		title := fmt.Sprintf("search in %d traces, %s", s.traces, s.engine)
		table := newTable(out, title, "p50", "p95", "found", "target")
		for _, q := range s.queries {
			table.row(fmt.Sprintf("%q", q.text), milliseconds(q.p50), milliseconds(q.p95), fmt.Sprint(q.found),
				searchTarget)
		}
		if err := table.Flush(); err != nil {
			return err
		}
		fmt.Fprintf(out, "ingest %.0f traces/s; the index was complete %s after the last was acknowledged\n",
			float64(s.traces)/s.loaded.Seconds(), s.indexed.Round(100*time.Millisecond))
	}
	return nil
}
