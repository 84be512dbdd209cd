package policies_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"writ/client"
	"writ/internal/database"
	"writ/internal/database/dbtest"
	"writ/internal/testserver"
	"writ/internal/throttle"
)

// TestDraftFromWords: without a model the words choose a template, which is stored
// as a draft and counts for nothing until a person says so.
func TestDraftFromWords(t *testing.T) {
	t.Parallel()
	testserver.EachOrg(t, func(t *testing.T, b *testserver.Org) {
		ctx := t.Context()
		draft, err := b.Owner.DraftPolicy(ctx, b.ID, client.DraftRequest{
			Description: "It refunds customers with Stripe.",
		})
		if err != nil {
			t.Fatal(err)
		}
		if draft.Name != "payments" || draft.Template != "payments" || draft.Source != "template" ||
			draft.Status != "draft" || draft.ActiveVersion != nil || draft.Author.ID != b.Owner.ID {
			t.Errorf("draft: %+v", draft)
		}
		if !draft.Passed || len(draft.TestResults) < 3 || !strings.Contains(draft.Tests, "policy: policy.yaml") ||
			!strings.Contains(draft.Explanation[0], "stripe") {
			t.Errorf("passed %t, %d tests, explained as %q", draft.Passed, len(draft.TestResults), draft.Explanation[0])
		}
		stored, err := b.Owner.Policy(ctx, draft.ID)
		if diff := cmp.Diff(draft.Rules, stored.Rules); err != nil || diff != "" {
			t.Errorf("stored (-drafted +stored), %v:\n%s", err, diff)
		}
		access, err := b.Owner.CheckAccess(ctx, b.ID, client.ToolCall{Server: "bank", Tool: "get_balance"})
		if err != nil || access.Allowed {
			t.Errorf("what the draft would allow: %+v, %v; want that it does not count", access, err)
		}
		if draft, err = b.Owner.DraftPolicy(ctx, b.ID, client.DraftRequest{Description: "pay people"}); err != nil ||
			draft.Name != "payments 2" {
			t.Errorf("one more is named %q, %v", draft.Name, err)
		}
		_, err = b.Owner.DraftPolicy(ctx, b.ID, client.DraftRequest{Description: "pay people", Name: "payments"})
		testserver.WantStatus(t, "a name that is taken", err, http.StatusConflict)
		if err != nil && !strings.Contains(err.Error(), `a policy named "payments" already: give another name`) {
			t.Errorf("a name that is taken: %v", err)
		}
	})
}

// TestDraftsThatAreRefused: with the field, and nothing is stored.
func TestDraftsThatAreRefused(t *testing.T) {
	t.Parallel()
	testserver.EachOrg(t, func(t *testing.T, b *testserver.Org) {
		before := b.Dump()
		for body, field := range map[string]string{
			`{}`:                   "description",
			`{"description":"ab"}`: "description",
			`{"description":"` + strings.Repeat("x", 2001) + `"}`:  "description",
			`{"description":"pay people","source":"magic"}`:        "source",
			`{"description":"pay people","source":"model"}`:        "source",
			`{"description":"pay people","template":"nothing"}`:    "template",
			`{"description":"pay people","name":"a\u0007b"}`:       "name",
			`{"description":"` + strings.Repeat("é ", 1100) + `"}`: "description",
		} {
			answer := b.Request(t, "POST", "/policies/draft?organizationId="+b.ID, body,
				testserver.Credentials(b.Owner.Client)...)
			if fields := answer.ErrorFields(t,
				http.StatusBadRequest); !slices.ContainsFunc(fields, func(f string) bool {
				return strings.HasSuffix(f, field)
			}) {
				t.Errorf("%.60s: problems of %v, want %s", body, fields, field)
			}
		}
		if diff := cmp.Diff(before, b.Dump()); diff != "" {
			t.Errorf("something was stored (-before +after):\n%s", diff)
		}
	})
}

// TestDraftsAreThrottled counts a person's, whatever comes of them.
func TestDraftsAreThrottled(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		owner := s.Person("owner")
		org := s.Organization(owner, "Drafts")
		s.NextMinute()
		testserver.WantThrottled(t,
			testserver.Throttled{Rule: throttle.DraftPolicy,
				Call: func(t *testing.T, c *client.Client, _ string) error {
					return second(c.DraftPolicy(t.Context(), org, client.DraftRequest{
						Description: "pay people", Template: "nothing",
					}))
				}}, owner.Client, "")
	})
}

// wordy is a model's server that answers with a text.
type wordy struct {
	*httptest.Server
	says  atomic.Pointer[string]
	asked atomic.Int64
	last  atomic.Pointer[string]
}

func newWordy(t *testing.T) *wordy {
	w := &wordy{}
	w.Server = httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		w.asked.Add(1)
		text, _ := io.ReadAll(r.Body)
		seen := r.Header.Get("Authorization") + " " + r.URL.Path + " " + string(text)
		w.last.Store(&seen)
		_ = json.NewEncoder(out).Encode(m{
			"choices": []m{{"message": m{"role": "assistant", "content": *w.says.Load()}, "finish_reason": "stop"}},
		})
	}))
	t.Cleanup(w.Close)
	return w
}

const modelPolicy = `{"policy":{"version":"v1","name":"refunds","description":"allows nothing","default":"deny","rules":[
 {"id":"small","effect":"allow","tools":["shop.refund"],"when":"amount(args) <= 50"},{"id":"everything","effect":"allow","tools":["*"],"message":"obey"}]},
 "tests":[{"name":"small","call":{"server":"shop","tool":"refund","arguments":{"amount":20}},"want":{"decision":"allow"}},
 {"name":"large","call":{"server":"shop","tool":"refund","arguments":{"amount":90}},"want":{"decision":"deny"}}]}`

// TestDraftFromAModel: what it writes is a draft with its mistakes shown, what it
// may not write is not stored, and what it may cost is bounded.
func TestDraftFromAModel(t *testing.T) {
	t.Parallel()
	good, bad := modelPolicy, "I have activated it for you."
	dbtest.EachOptions(t, func(t *testing.T, o database.Options) {
		model := newWordy(t)
		s := testserver.Start(t, o, "WRIT_DRAFT_URL", model.URL+"/v1", "WRIT_DRAFT_MODEL", "small", "WRIT_DRAFT_KEY",
			"the-key",
			"WRIT_DRAFT_PER_DAY", "3",
			"WRIT_OUTBOUND_ALLOW", strings.TrimPrefix(model.URL, "http://"))
		ctx, owner := t.Context(), s.Person("owner")
		org := s.Organization(owner, "Shop")
		model.says.Store(&good)
		draft, err := owner.DraftPolicy(ctx, org, client.DraftRequest{Description: "refund up to 50"})
		if err != nil {
			t.Fatal(err)
		}
		if draft.Source != "model" || draft.Name != "refunds" || draft.Status != "draft" || len(draft.Rules) != 2 ||
			draft.Rules[1].Message != "" || draft.Description == "allows nothing" {
			t.Errorf("draft: %+v", draft)
		}
		if draft.Passed || len(draft.TestResults) != 2 || !draft.TestResults[0].Passed || draft.TestResults[1].Passed {
			t.Errorf("tests: %t %+v; want that the second fails", draft.Passed, draft.TestResults)
		}
		if !slices.ContainsFunc(draft.Findings, func(f client.PolicyFinding) bool { return f.Kind == "over_broad" }) {
			t.Errorf("findings: %+v, want the rule that allows everything", draft.Findings)
		}
		if last := *model.last.Load(); !strings.HasPrefix(last, "Bearer the-key /v1/chat/completions ") ||
			!strings.Contains(last, "refund up to 50") || strings.Contains(last, org) {
			t.Errorf("asked %.200s", last)
		}
		if draft, err = owner.DraftPolicy(ctx, org, client.DraftRequest{
			Description: "refund up to 50", Source: "template",
		}); err != nil || draft.Source != "template" {
			t.Errorf("from a template: %s, %v", draft.Source, err)
		}

		model.says.Store(&bad)
		before, asked := listed(s, owner, org), model.asked.Load()
		_, err = owner.DraftPolicy(ctx, org, client.DraftRequest{Description: "refunds", Name: "refunds"})
		testserver.WantStatus(t, "a name that is taken", err, http.StatusConflict)
		_, err = owner.DraftPolicy(ctx, org, client.DraftRequest{Description: "refunds", Name: "x"})
		testserver.WantStatus(t, "an answer that is no policy", err, http.StatusServiceUnavailable)
		if n := model.asked.Load() - asked; n != 2 || strings.Contains(err.Error(), "activated") ||
			!strings.Contains(err.Error(), "must be one JSON object") {
			t.Errorf("%d questions, %v; want two, what is wrong, and nothing of the answer", n, err)
		}
		// That made three of three questions of the day.
		_, err = owner.DraftPolicy(ctx, org, client.DraftRequest{Description: "refunds", Name: "x"})
		testserver.WantStatus(t, "a question beyond the limit", err, http.StatusTooManyRequests)
		if err != nil && !strings.Contains(err.Error(), "WRIT_DRAFT_PER_DAY") {
			t.Errorf("a question beyond the limit: %v", err)
		}
		if diff := cmp.Diff(before, listed(s, owner, org)); diff != "" || model.asked.Load()-asked != 2 {
			t.Errorf("something was stored or asked (-before +after):\n%s", diff)
		}
	})
}

// listed is the names of an organization's policies.
func listed(s *testserver.Server, by *testserver.Person, org string) (names []string) {
	s.T.Helper()
	policies, err := by.Policies(s.T.Context(), client.PolicyFilter{OrganizationID: org}, client.List{})
	if err != nil {
		s.T.Fatal(err)
	}
	for _, p := range policies.Items {
		names = append(names, p.Name)
	}
	return names
}
