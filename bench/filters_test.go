package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestFilterPath(t *testing.T) {
	t.Parallel()
	const page = `{"items":[{"userId":"first"},{"userId":"second","agentId":null}],"nextCursor":"a b"}`
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/organization/org/observability/traces" {
			t.Errorf("asked for %s", r.URL.Path)
		}
		_, _ = w.Write([]byte(page))
	}))
	t.Cleanup(server.Close)
	a := &account{
		server: &process{address: strings.TrimPrefix(server.URL, "http://")}, org: "org", client: server.Client(),
	}
	tests := map[string]struct {
		filter filter
		want   string
		ok     bool
	}{
		"none":    {filter{list: "traces"}, "/traces", true},
		"a value": {filter{list: "traces", parameter: "name", value: "x y"}, "/traces?name=x+y", true},
		"of an item": {
			filter{list: "traces", parameter: "userId", member: "userId"}, "/traces?userId=second", true,
		},
		"the next page": {
			filter{list: "traces", parameter: "cursor", member: "nextCursor"}, "/traces?cursor=a+b", true,
		},
		"of no item":     {filter{list: "traces", parameter: "agentId", member: "agentId"}, "", false},
		"unknown member": {filter{list: "traces", parameter: "x", member: "x"}, "", false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := test.filter.path(t.Context(), a)
			if got != test.want || (err == nil) != test.ok {
				t.Errorf("path = %q, %v; want %q, found: %t", got, err, test.want, test.ok)
			}
		})
	}
}

func TestOptionsChooseParts(t *testing.T) {
	t.Parallel()
	good := options{seconds: 1, connections: 1, rounds: 1, soak: soakSample * 8}
	if !good.wants("reads") || good.check() != nil {
		t.Errorf("without -only: reads wanted %t, check %v; want all", good.wants("reads"), good.check())
	}
	good.only = "ingest,soak"
	if good.wants("reads") || !good.wants("soak") || good.check() != nil {
		t.Errorf("-only %s: reads wanted %t, soak %t, check %v", good.only, good.wants("reads"), good.wants("soak"),
			good.check())
	}
	bad := good
	bad.only = "ingest,sok"
	if bad.check() == nil {
		t.Errorf("-only %s is accepted", bad.only)
	}
}

func TestIngesterComparesNeighbours(t *testing.T) {
	t.Parallel()
	floor := &ingester{
		rounds: []ingestRound{{spans: 100, elapsed: 1e9}, {spans: 10, elapsed: 1e9}, {spans: 50, elapsed: 1e9}},
	}
	half := &ingester{
		rounds: []ingestRound{{spans: 50, elapsed: 1e9}, {spans: 5, elapsed: 1e9}, {spans: 50, elapsed: 1e9}},
	}
	if got, want := half.over(floor, ingestRound.perSecond), 0.5; got != want {
		t.Errorf("over = %g, want %g", got, want)
	}
	if got, want := half.median(ingestRound.perSecond), 50.0; got != want {
		t.Errorf("median = %g, want %g", got, want)
	}
}
