package traces_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"writ/client"
	"writ/internal/testserver"
)

// TestSeries states what the series of decisions answers, beside the entries that it counts.
func TestSeries(t *testing.T) {
	t.Parallel()
	rules(t, func(s *testserver.Server, rule func(string, func(*testing.T, *observed))) {
		rule("decisions are counted by verdict, agent and tool, as the log has them", func(t *testing.T, o *observed) {
			key := s.AgentKey(o.owner, o.org).APIKey
			for i := range 5 {
				s.Asked(key, fmt.Sprint("agent-", i%2), "bank", "pay", m{})
			}
			want := func(q client.SeriesQuery, want map[string]string) client.Series {
				t.Helper()
				q.Metric, q.Bucket = "decisions", "hour"
				q.From, q.Until = s.Now().Add(-time.Minute), s.Now()
				var got client.Series
				err := testserver.Eventually(func() (err error) {
					if got, err = o.owner.Series(t.Context(), o.org, q); err != nil {
						return err
					}
					values := map[string]string{}
					for name, n := range got.Buckets[0].Values {
						values[name] = n.String()
					}
					if diff := cmp.Diff(want, values); diff != "" {
						return errors.New(diff)
					}
					return nil
				})
				if err != nil || len(got.Buckets) != 1 {
					t.Errorf("%+v: %v, %+v", q, err, got)
				}
				return got
			}
			got := want(client.SeriesQuery{}, map[string]string{"allow": "0", "ask": "0", "hold": "0", "deny": "5"})
			if got.Complete || got.By != "verdict" || !got.Buckets[0].At.Equal(s.Now().Truncate(time.Hour)) {
				t.Errorf("the present hour: %+v", got)
			}
			want(client.SeriesQuery{By: "agent"}, map[string]string{"agent-0": "3", "agent-1": "2"})
			want(client.SeriesQuery{By: "tool"}, map[string]string{"bank.pay": "5"})
			want(client.SeriesQuery{Agent: "agent-1"}, map[string]string{
				"allow": "0", "ask": "0", "hold": "0", "deny": "2",
			})

			denials, err := o.owner.Denials(t.Context(), o.org, 1)
			if err != nil || denials.Total != 5 || len(denials.Items) != 1 || denials.Items[0].Count != 5 {
				t.Fatalf("%+v, %v", denials, err)
			}
			entries, err := o.owner.LogEntries(t.Context(), o.org, client.LogFilter{
				Policy: denials.Items[0].DecidedBy, Decision: "deny,hold", Server: "bank",
			})
			if err != nil || len(entries.Items) != 5 || entries.Items[0].Index != denials.Items[0].LastIndex {
				t.Errorf("the entries behind the denials: %+v, %v", entries.Items, err)
			}
		})
		rule("what cannot be asked is refused by its name", func(t *testing.T, o *observed) {
			for query, field := range map[string]string{
				"":                                  "metric",
				"?metric=calls":                     "metric",
				"?metric=traces&by=agent":           "by",
				"?metric=decisions&by=model":        "by",
				"?metric=cost&by=verdict":           "by",
				"?metric=decisions&bucket=minute":   "bucket",
				"?metric=decisions&by=agent&tool=x": "agent",
				"?metric=traces&agent=x":            "agent",
				"?metric=decisions&agent=x&tool=y":  "agent",
				"?metric=decisions&from=2030-01-02T00:00:00Z&until=2030-01-01T00:00:00Z": "until",
				"?metric=decisions&from=2020-01-01T00:00:00Z&bucket=hour":                "from",
				"?metric=decisions&from=yesterday":                                       "from",
			} {
				o.refuse("/analytics/series"+query, field)
			}
			for _, path := range []string{
				"/analytics/summary", "/analytics/denials", "/tokens", "/policies/p", "/traces", "/sessions",
			} {
				o.refuse(path+"?from=2030-01-02T00:00:00Z&until=2030-01-01T00:00:00Z", "until")
			}
		})
		rule("a period is from and until where they are given", func(t *testing.T, o *observed) {
			o.stored(o.trace(m{"startTime": o.Ago(3 * time.Hour)}))
			between := func(from, until time.Duration) string {
				return "?from=" + strings.ReplaceAll(o.Ago(from), "+", "%2B") + "&until=" + o.Ago(until)
			}
			for query, want := range map[string]string{
				between(4*time.Hour, 2*time.Hour):  `"totalTraces":1`,
				between(2*time.Hour, time.Hour):    `"totalTraces":0`,
				between(30*time.Hour, 4*time.Hour): `"totalTraces":0`,
			} {
				if answer := o.get("/analytics/summary" + query); answer.Status != http.StatusOK ||
					!strings.Contains(string(answer.Body), want) {
					t.Errorf("%s: %d %s, want %s", query, answer.Status, answer.Body, want)
				}
			}
		})
	})
}
