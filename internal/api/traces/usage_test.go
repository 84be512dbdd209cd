package traces_test

import (
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"writ/client"
	"writ/internal/app"
	"writ/internal/config"
	"writ/internal/database"
	"writ/internal/testserver"
)

// report replaces the totals of a session's models and wants all recorded.
func (o *observed) report(product, session string, entries ...client.ModelUsage) {
	o.t.Helper()
	recorded, err := o.agent.ReportUsage(o.t.Context(), client.UsageReport{
		Product: product, SessionID: session, Entries: entries,
	})
	if err != nil || recorded != len(entries) {
		o.t.Fatalf("report: recorded %d of %d, %v", recorded, len(entries), err)
	}
}

// input is a running total of input tokens.
func input(model string, tokens int64) client.ModelUsage {
	return client.ModelUsage{Model: model, InputTokens: tokens}
}

// wantUsage wants these tokens everywhere that usage is shown.
func (o *observed) wantUsage(want ...client.UsageItem) {
	o.t.Helper()
	var total int64
	for _, item := range want {
		total += item.InputTokens
	}
	if diff := cmp.Diff(append([]client.UsageItem{}, want...), o.tokens("model")); diff != "" {
		o.t.Errorf("tokens by model (-want +got):\n%s", diff)
	}
	if got := o.summary(0).TotalTokens.Input; got != total {
		o.t.Errorf("the summary has %d input tokens, want %d", got, total)
	}
	var bySession int64
	for _, item := range o.tokens("session") {
		bySession += item.InputTokens
	}
	if bySession != total {
		o.t.Errorf("sessions have %d input tokens, want %d", bySession, total)
	}
}

// TestReportedUsage is POST /dashboard/token-usage: running totals, set and not added.
func TestReportedUsage(t *testing.T) {
	t.Parallel()
	rules(t, func(s *testserver.Server, rule func(string, func(*testing.T, *observed))) {
		rule("A report is shown in tokens and summary, and is no trace and no session", func(
			t *testing.T, o *observed,
		) {
			session := database.NewID()
			o.report("p", session, client.ModelUsage{
				Model:            "m",
				InputTokens:      1,
				OutputTokens:     2,
				CacheReadTokens:  3,
				CacheWriteTokens: 4,
			})
			want := client.UsageItem{
				Key:              "m",
				InputTokens:      1,
				OutputTokens:     2,
				CacheReadTokens:  3,
				CacheWriteTokens: 4,
			}
			o.wantUsage(want)
			want.Key = session
			if diff := cmp.Diff([]client.UsageItem{want}, o.tokens("session")); diff != "" {
				t.Errorf("by session (-want +got):\n%s", diff)
			}
			if sum := o.summary(1); sum.TotalTraces != 0 || sum.TotalSessions != 0 || len(o.tokens("tool")) != 0 {
				t.Errorf("summary %+v", sum)
			}
		})
		rule("A report replaces the one before, larger or smaller", func(t *testing.T, o *observed) {
			session := database.NewID()
			for _, tokens := range []int64{10, 25, 25, 5} {
				o.report("p", session, input("m", tokens))
				o.wantUsage(client.UsageItem{Key: "m", InputTokens: tokens})
			}
		})
		rule("Product, session and model each have a total of their own", func(t *testing.T, o *observed) {
			session := database.NewID()
			o.report("p", session, input("m", 1), input("n", 2))
			o.report("q", session, input("m", 4))
			o.report("p", database.NewID(), input("m", 8))
			o.wantUsage(client.UsageItem{Key: "m", InputTokens: 13}, client.UsageItem{Key: "n", InputTokens: 2})
			o.report("q", session, input("m", 16))
			o.wantUsage(client.UsageItem{Key: "m", InputTokens: 25}, client.UsageItem{Key: "n", InputTokens: 2})
		})
		rule("Organizations have totals of their own", func(t *testing.T, o *observed) {
			other, session := observe(t, s, o.owner), database.NewID()
			o.report("p", session, input("m", 1))
			other.report("p", session, input("m", 2))
			o.wantUsage(client.UsageItem{Key: "m", InputTokens: 1})
			other.wantUsage(client.UsageItem{Key: "m", InputTokens: 2})
		})
		rule("The product of the API key overrides that of the body", func(t *testing.T, o *observed) {
			key, err := o.owner.CreateKey(t.Context(), client.NewKey{
				Name: "agent", OrganizationID: o.org, Product: "key",
			})
			if err != nil {
				t.Fatal(err)
			}
			session := database.NewID()
			o.agent = o.Public.WithKey(key.APIKey)
			o.report("p", session, input("m", 1))
			o.report("q", session, input("m", 2)) // the same product: replaces
			o.wantUsage(client.UsageItem{Key: "m", InputTokens: 2})
		})
		rule("Of a model that is there twice the last total holds", func(t *testing.T, o *observed) {
			recorded, err := o.agent.ReportUsage(t.Context(), client.UsageReport{
				Product: "p", SessionID: database.NewID(), Entries: []client.ModelUsage{input("m", 1), input("m", 2)},
			})
			if err != nil || recorded != 1 {
				t.Errorf("recorded %d, %v", recorded, err)
			}
			o.wantUsage(client.UsageItem{Key: "m", InputTokens: 2})
		})
		rule("A session that is written in capitals is the same session", func(t *testing.T, o *observed) {
			session := database.NewID()
			o.report("p", session, input("m", 1))
			o.report("p", strings.ToUpper(session), input("m", 2))
			o.wantUsage(client.UsageItem{Key: "m", InputTokens: 2})
		})
		rule("A report of nothing records nothing", func(t *testing.T, o *observed) {
			o.report("p", database.NewID(), []client.ModelUsage{}...)
			answer := o.Request(t, "POST", "/dashboard/token-usage",
				`{"product":"p","sessionId":"`+database.NewID()+`","entries":[]}`, testserver.Credentials(o.agent)...)
			if answer.Status != http.StatusOK || string(answer.Body) != `{"recorded":0}` {
				t.Errorf("%d %s", answer.Status, answer.Body)
			}
		})
		rule("Spans of the session and model that come later replace the report", func(t *testing.T, o *observed) {
			session := database.NewID()
			o.report("p", session, input("m", 100), input("n", 7))
			o.report("q", session, input("m", 1000))
			o.store(o.inSession(session, time.Minute, nil, o.generation("m", 5, 0, nil)))
			o.wantUsage(client.UsageItem{Key: "n", InputTokens: 7}, client.UsageItem{Key: "m", InputTokens: 5})
			o.store(o.inSession(session, time.Minute, nil, o.generation("m", 6, 0, nil)))
			o.wantUsage(client.UsageItem{Key: "m", InputTokens: 11}, client.UsageItem{Key: "n", InputTokens: 7})
		})
		rule("A report of what spans told already does not count", func(t *testing.T, o *observed) {
			session := database.NewID()
			o.store(o.inSession(session, time.Minute, nil, o.generation("m", 5, 0, nil)))
			o.report("p", session, input("m", 100))
			o.report("p", session, input("m", 200))
			o.wantUsage(client.UsageItem{Key: "m", InputTokens: 5})
		})
		rule("Spans of another session, another model, another kind or a rejected batch replace nothing", func(
			t *testing.T, o *observed,
		) {
			session := database.NewID()
			o.report("p", session, input("m", 100))
			o.store(o.inSession(database.NewID(), time.Minute, nil, o.generation("m", 5, 0, nil)),
				o.inSession(session, time.Minute, nil, o.generation("n", 2, 0, nil),
					o.span("span", m{"attributes": m{"model": "m", "inputTokens": 9}})))
			o.send(o.inSession(session, time.Minute, m{"status": "x"}, o.generation("m", 5, 0, nil)))
			o.wantUsage(client.UsageItem{Key: "m", InputTokens: 105}, client.UsageItem{Key: "n", InputTokens: 2})
		})
		rule("A report counts in the hour of its last change, once", func(t *testing.T, o *observed) {
			session := database.NewID()
			o.report("p", session, input("m", 100))
			o.later(8 * 24 * time.Hour)
			o.wantUsage()
			o.report("p", session, input("m", 150))
			o.wantUsage(client.UsageItem{Key: "m", InputTokens: 150})
			if got := o.summary(30).TotalTokens.Input; got != 150 {
				t.Errorf("over 30 days %d tokens", got)
			}
		})
		rule("What it costs is in the price table, cached tokens counted once", func(t *testing.T, o *observed) {
			o.report("p", database.NewID(), client.ModelUsage{
				Model: "gpt-4o", InputTokens: 1_000_000, CacheReadTokens: 400_000, OutputTokens: 100_000,
			})
			if got := o.summary(1).TotalCostUSD; got != 0.6*2.5+0.4*1.25+0.1*10 {
				t.Errorf("cost %v", got)
			}
		})
	})
}

// TestRefusedReports is what a report must be.
func TestRefusedReports(t *testing.T) {
	t.Parallel()
	rules(t, func(s *testserver.Server, rule func(string, func(*testing.T, *observed))) {
		whole := m{"product": "p", "sessionId": database.NewID(), "entries": []m{{"model": "m", "inputTokens": 1}}}
		entry := func(changes m) m {
			return with(whole, m{"entries": []m{{"model": "n"}, with(m{"model": "m", "inputTokens": 1}, changes)}})
		}
		for sentence, c := range map[string]struct {
			body  m
			field string
		}{
			"The product is required":         {with(whole, m{"product": absent}), "product"},
			"The product holds no NUL":        {with(whole, m{"product": "\x00"}), "product"},
			"The session is required":         {with(whole, m{"sessionId": absent}), "sessionId"},
			"The session is a UUID":           {with(whole, m{"sessionId": "mine"}), "sessionId"},
			"The session is not null":         {with(whole, m{"sessionId": nil}), "sessionId"},
			"The entries are required":        {with(whole, m{"entries": absent}), "entries"},
			"There are at most 1,000 entries": {with(whole, m{"entries": make([]m, 1001)}), "entries"},
			"An entry names a model":          {entry(m{"model": absent}), "entries[1].model"},
			"A model is not empty":            {entry(m{"model": ""}), "entries[1].model"},
			"A model holds no NUL":            {entry(m{"model": "a\x00"}), "entries[1].model"},
			"A model has a bound": {
				entry(m{"model": strings.Repeat("m", 501)}), "entries[1].model",
			},
			"Tokens are not negative": {entry(m{"inputTokens": -1}), "entries[1].inputTokens"},
			"Tokens are whole":        {entry(m{"outputTokens": 1.5}), "entries[1].outputTokens"},
			"Tokens have a bound": {
				entry(m{"cacheReadTokens": 1_000_000_000_001}), "entries[1].cacheReadTokens",
			},
			"Tokens of 1e308 are beyond it": {
				entry(m{"cacheWriteTokens": 1e308}), "entries[1].cacheWriteTokens",
			},
			"Tokens are numbers, not texts of digits": {entry(m{"inputTokens": "5"}), "entries[1].inputTokens"},
		} {
			rule(sentence, func(t *testing.T, o *observed) {
				answer := o.Request(t, "POST", "/dashboard/token-usage", string(sent(t, c.body)[0]),
					testserver.Credentials(o.agent)...)
				if fields := answer.ErrorFields(t, http.StatusBadRequest); len(fields) == 0 || fields[0] != c.field {
					t.Errorf("complains of %q, want %s: %s", fields, c.field, answer.Body)
				}
				o.wantUsage() // not even the good entry beside it
			})
		}
		rule("Without an API key it is 401", func(t *testing.T, o *observed) {
			for _, c := range []*client.Client{o.Public, o.owner.Client} {
				_, err := c.ReportUsage(t.Context(), client.UsageReport{
					Product: "p", SessionID: database.NewID(), Entries: []client.ModelUsage{},
				})
				testserver.WantStatus(t, "report", err, http.StatusUnauthorized)
			}
		})
	})
}

// TestCosts is where the cost of a generation comes from.
func TestCosts(t *testing.T) {
	t.Parallel()
	rules(t, func(s *testserver.Server, rule func(string, func(*testing.T, *observed))) {
		for sentence, c := range map[string]struct {
			attributes m
			want       float64
		}{
			"The cost that is given wins over the price table": {m{"model": "claude-sonnet-4", "costUsd": 0.5}, 0.5},
			"A cost of 0 beside a priced model is not known":   {m{"model": "claude-sonnet-4", "costUsd": 0}, 3 + 15},
			"A cost of 0 beside an unpriced model is 0":        {m{"model": "x", "costUsd": 0}, 0},
			"A cost of null is not given":                      {m{"model": "claude-sonnet-4", "costUsd": nil}, 3 + 15},
			"Without a cost the price table tells it":          {m{"model": "claude-sonnet-4"}, 3 + 15},
			"A model that nobody knows costs 0":                {m{"model": "house-model"}, 0},
			"A cost is kept to the nano-dollar":                {m{"model": "x", "costUsd": 0.000000001}, 0.000000001},
		} {
			rule(sentence, func(t *testing.T, o *observed) {
				session := database.NewID()
				o.store(o.inSession(session, time.Minute, nil, o.generation("", 1_000_000, 1_000_000, c.attributes)))
				x := o.session(session)
				got := []float64{
					o.summary(1).TotalCostUSD, x.TotalCostUSD, x.Traces[0].TotalCostUSD, o.tokens("model")[0].CostUSD,
				}
				if diff := cmp.Diff([]float64{c.want, c.want, c.want, c.want}, got); diff != "" {
					t.Errorf("of summary, session, trace and model (-want +got):\n%s", diff)
				}
			})
		}
	})
}

// TestPricesCanBeReplaced sets WRIT_PRICES_FILE.
func TestPricesCanBeReplaced(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "prices.json")
	const prices = `{"date":"2030-01-01","vendors":{"house":{"inputIncludesCache":true}},"models":[{"prefix":"house-","vendor":"house","input":2,"output":4,"cacheRead":1,"cacheWrite":0}]}`
	if err := os.WriteFile(file, []byte(prices), 0o600); err != nil {
		t.Fatal(err)
	}
	rules(t, func(s *testserver.Server, rule func(string, func(*testing.T, *observed))) {
		rule("A price file of one's own replaces the built-in one", func(t *testing.T, o *observed) {
			o.store(batch(o.trace(nil), o.generation("house-1", 1_000_000, 500_000, m{"cacheReadTokens": 250_000}),
				o.generation("claude-sonnet-4", 1_000_000, 0, nil)))
			want := []client.UsageItem{
				{
					Key:             "house-1",
					InputTokens:     1_000_000,
					OutputTokens:    500_000,
					CacheReadTokens: 250_000,
					CostUSD:         0.75*2 + 0.25*1 + 0.5*4,
				},
				{Key: "claude-sonnet-4", InputTokens: 1_000_000},
			}
			if diff := cmp.Diff(want, o.tokens("model")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}, "WRIT_PRICES_FILE", file)
}

// TestBadPriceFilesStopTheStart rather than have everything cost nothing.
func TestBadPriceFilesStopTheStart(t *testing.T) {
	t.Parallel()
	broken := filepath.Join(t.TempDir(), "prices.json")
	if err := os.WriteFile(broken, []byte(`{"models":[{"prefix":"x","vendor":"nobody"}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{broken, filepath.Join(t.TempDir(), "none.json")} {
		c, err := config.Load([]string{"PORT=0", "WRIT_DATA_DIR=" + t.TempDir(), "WRIT_PRICES_FILE=" + file},
			os.ReadFile)
		if err != nil {
			t.Fatalf("configuration: %v", err)
		}
		s, err := app.Start(t.Context(), app.Options{Config: c, Logger: slog.New(slog.DiscardHandler), Version: "test"})
		if err == nil {
			err = s.Stop()
			t.Errorf("%s: the server starts (and stops: %v)", filepath.Base(file), err)
		} else if !strings.Contains(err.Error(), "WRIT_PRICES_FILE") {
			t.Errorf("%s: %v, want an error that names WRIT_PRICES_FILE", filepath.Base(file), err)
		}
	}
}
