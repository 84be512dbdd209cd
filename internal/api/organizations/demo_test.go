package organizations_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"writ/client"
	"writ/internal/testserver"
	"writ/internal/throttle"
)

// TestDemo makes demo data as the button does, and looks at it as its owner would.
func TestDemo(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		ctx := t.Context()
		p := s.Person("curious")
		made, err := p.MakeDemo(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if !made.Demo || !strings.HasSuffix(made.Name, "(demo data)") || made.Role != "owner" {
			t.Errorf("%+v is not marked as demo data of its owner", made)
		}
		countsItsDecisions(t, p, made.ID)
		showsAWeek(t, p, made.ID)
		showsDecisions(t, p, made.ID)
		showsPeopleAtWork(t, p, made.ID)

		_, err = p.MakeDemo(ctx)
		testserver.WantStatus(t, "a second demo", err, http.StatusConflict)
		_, err = p.RenameOrganization(ctx, made.ID, "Payments")
		testserver.WantStatus(t, "rename the demo", err, http.StatusConflict)
		if err := p.CloseOrganization(ctx, made.ID); err != nil {
			t.Errorf("close: %v", err)
		}
		if mine, err := p.Organizations(ctx); err != nil || len(mine) != 0 {
			t.Errorf("after it is closed: %v, %v", mine, err)
		}
	})
}

// TestADemoThatIsThrottled: whoever has answered many requests just now is told to wait, and no demo is left behind.
func TestADemoThatIsThrottled(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		p := s.Person("busy")
		org, err := p.CreateOrganization(t.Context(), "Real")
		if err != nil {
			t.Fatal(err)
		}
		s.NextMinute()
		for range throttle.AnswerApproval.PerMinute {
			_, err = p.Approve(t.Context(), org.ID, client.Approval{ID: "none"})
			testserver.WantStatus(t, "answer nothing", err, http.StatusNotFound)
		}
		_, err = p.MakeDemo(t.Context())
		testserver.WantStatus(t, "a demo", err, http.StatusTooManyRequests)
		if told, ok := errors.AsType[*client.Error](err); !ok || told.RetryAfter <= 0 {
			t.Errorf("it does not say when to come back: %v", err)
		}
		if mine, err := p.Organizations(t.Context()); err != nil || len(mine) != 1 {
			t.Errorf("it left %v, %v", mine, err)
		}
	})
}

// TestADemoIsNotMeantUnlessItIsNamed: who tries the demo beside their organization need not name it from then on.
func TestADemoIsNotMeantUnlessItIsNamed(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		p := s.Person("curious")
		org, err := p.CreateOrganization(t.Context(), "Real")
		if err != nil {
			t.Fatal(err)
		}
		demo, err := p.MakeDemo(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		names := func(query url.Values) string {
			t.Helper()
			var answer struct {
				Items []struct{ Name, OrganizationID string }
			}
			if err := p.Call(t.Context(), http.MethodGet, "/policies", query, nil, &answer); err != nil {
				t.Fatal(err)
			}
			return fmt.Sprint(answer.Items)
		}
		if got, want := names(nil), names(url.Values{"organizationId": {org.ID}}); got != want {
			t.Errorf("policies without a name of the organization: %s, want %s", got, want)
		}
		if names(nil) == names(url.Values{"organizationId": {demo.ID}}) {
			t.Error("both have the same policies, so that this test shows nothing")
		}
	})
}

// countsItsDecisions: the figures are whole as soon as the demo is made.
func countsItsDecisions(t *testing.T, p *testserver.Person, org string) {
	t.Helper()
	series, err := p.Series(t.Context(), org, client.SeriesQuery{Metric: "decisions", Bucket: "hour", Days: 7})
	if err != nil {
		t.Fatal(err)
	}
	counted, recorded := 0.0, 0
	for _, b := range series.Buckets {
		for _, n := range b.Values {
			verdicts, _ := n.Float64()
			counted += verdicts
		}
	}
	for filter := (client.LogFilter{Action: "call.decided", List: client.List{Limit: 200}}); ; {
		page, err := p.LogEntries(t.Context(), org, filter)
		if err != nil {
			t.Fatal(err)
		}
		recorded += len(page.Items)
		if filter.Cursor = page.NextCursor; !page.HasMore {
			break
		}
	}
	if recorded == 0 || counted != float64(recorded) {
		t.Errorf("%v decisions are counted of %d", counted, recorded)
	}
}

func showsAWeek(t *testing.T, p *testserver.Person, org string) {
	t.Helper()
	sum, err := p.Summary(t.Context(), org, 7)
	if err != nil || sum.TotalTraces < 300 || sum.TotalSessions < 100 || sum.TotalErrors == 0 ||
		sum.TotalCostUSD <= 0 || sum.TotalTokens.CacheRead == 0 {
		t.Errorf("summary %+v, %v", sum, err)
	}
	cost, err := p.Series(t.Context(), org, client.SeriesQuery{Metric: "cost", Bucket: "hour", Days: 7})
	if err != nil {
		t.Fatal(err)
	}
	most, total := 0.0, 0.0
	for _, b := range cost.Buckets {
		usd, _ := b.Values["cost"].Float64()
		most, total = max(most, usd), total+usd
	}
	if most < total/5 {
		t.Errorf("the dearest hour costs %v of %v: there is no spike to be found", most, total)
	}
	dear, err := p.Traces(t.Context(), org, client.TraceFilter{MinCostUSD: new(5.0), Model: "claude-opus-4"})
	if err != nil || len(dear.Items) == 0 || dear.Items[0].AgentID != "research" {
		t.Errorf("the traces of the spike: %+v, %v", dear, err)
	}
}

func showsDecisions(t *testing.T, p *testserver.Person, org string) {
	t.Helper()
	for _, decision := range []string{"allow", "ask", "hold", "deny"} {
		found, err := p.LogEntries(t.Context(), org, client.LogFilter{Decision: decision})
		if err != nil || len(found.Items) == 0 {
			t.Errorf("%s: %d entries, %v", decision, len(found.Items), err)
		}
	}
	for _, decider := range []string{"writ:intent", "writ:agent", "writ:approval"} {
		found, err := p.LogEntries(t.Context(), org, client.LogFilter{Decision: "deny", Policy: decider})
		if err != nil || len(found.Items) == 0 {
			t.Errorf("denied by %s: %d entries, %v", decider, len(found.Items), err)
		}
	}
	check, err := p.CheckLog(t.Context(), org)
	if err != nil || len(check.Problems) > 0 {
		t.Errorf("the log: %+v, %v", check, err)
	}
}

func showsPeopleAtWork(t *testing.T, p *testserver.Person, org string) {
	t.Helper()
	for status, want := range map[string]int{"pending": 3, "approved": 1, "rejected": 1} {
		found, err := p.ApprovalRequests(t.Context(), org, client.ApprovalFilter{Status: status})
		if err != nil || len(found.Items) != want {
			t.Errorf("%s approvals: %d, %v, want %d", status, len(found.Items), err, want)
		}
	}
	plans, err := p.Plans(t.Context(), org, client.PlanFilter{})
	if err != nil || len(plans.Items) != 3 {
		t.Errorf("%d plans, %v", len(plans.Items), err)
	}
	if status, err := p.AgentStatus(t.Context(), org, "invoice-reader"); err != nil || status != "killed" {
		t.Errorf("the agent that was attacked is %s, %v", status, err)
	}
}

func TestOnlyTheDemoIsNamedSo(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		p := s.Person("founder")
		_, err := p.CreateOrganization(t.Context(), "Real (demo data)")
		wantInvalidField(t, "a name of demo data", err, "name")
		org, err := p.CreateOrganization(t.Context(), "Real")
		if err != nil || org.Demo {
			t.Fatalf("%+v, %v", org, err)
		}
		_, err = p.RenameOrganization(t.Context(), org.ID, "Real (demo data)")
		wantInvalidField(t, "renamed to demo data", err, "name")
	})
}

func TestProductionMakesNoDemo(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		p := s.Person("curious")
		_, err := p.MakeDemo(t.Context())
		testserver.WantStatus(t, "a demo in production", err, http.StatusForbidden)
		if mine, err := p.Organizations(t.Context()); err != nil || len(mine) != 0 {
			t.Errorf("it left %v, %v", mine, err)
		}
		for range 2 {
			_, err = p.MakeDemo(t.Context())
			testserver.WantStatus(t, "asked again", err, http.StatusForbidden)
		}
		_, err = p.MakeDemo(t.Context())
		testserver.WantStatus(t, "a fourth within a minute", err, http.StatusTooManyRequests)
	}, "WRIT_ENV", "production", "WRIT_PUBLIC_URL", "https://writ.example.org", "WRIT_LISTEN", "127.0.0.1",
		"WRIT_MASTER_KEY", "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=", "WRIT_TRUSTED_PROXIES", "127.0.0.1/32")
}
