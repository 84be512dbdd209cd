package search_test

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"writ/client"
	"writ/internal/database"
	"writ/internal/testserver"
)

type found struct {
	Items []struct {
		Kind, ID, Title, Note string
		Match                 []struct {
			Text string
			Hit  bool
		}
	}
	NextCursor string
	HasMore    bool
	Indexing   bool
}

// ask is one page of what a person finds.
func ask(t testing.TB, p *testserver.Person, org, text string, more ...string) (answer found) {
	t.Helper()
	query := url.Values{"organizationId": {org}, "q": {text}}
	for i := 0; i < len(more); i += 2 {
		query.Set(more[i], more[i+1])
	}
	if err := p.Call(t.Context(), http.MethodGet, "/search", query, nil, &answer); err != nil {
		t.Fatalf("search %q: %v", text, err)
	}
	return answer
}

// look is what a person finds, as kind and title.
func look(t testing.TB, p *testserver.Person, org, text string, more ...string) []string {
	t.Helper()
	shown := []string{}
	for _, item := range ask(t, p, org, text, more...).Items {
		shown = append(shown, item.Kind+" "+item.Title)
	}
	return shown
}

// index has everything indexed that was written.
func index(t testing.TB, s *testserver.Server) {
	t.Helper()
	for _, work := range []error{
		s.Telemetry.IndexWords(t.Context()), s.Intent.IndexWords(t.Context()), s.Approvals.IndexWords(t.Context()),
	} {
		if work != nil {
			t.Fatal(work)
		}
	}
}

// report stores a trace in a session.
func report(t testing.TB, s *testserver.Server, key, name, input string) (trace, session string) {
	t.Helper()
	trace, session = database.NewID(), database.NewID()
	now := s.Database.Now().Format("2006-01-02T15:04:05Z")
	body := fmt.Sprintf(`{"product":"p","batches":[{"trace":{"id":%q,"name":%q,"startTime":%q,"durationMs":5,
		"status":"ok","agentId":"billing","sessionId":%q,"tags":["quarterly"],"attributes":{"input":%q}},
		"spans":[{"id":%q,"kind":"tool","name":"send_invoice","startTime":%q,"durationMs":1,"status":"ok",
		"attributes":{"tool.name":"send_invoice","argument":"lighthouse"}}]}]}`, trace, name, now, session, input,
		database.NewID(), now)
	if got := s.Send(http.MethodPost, "/observability/spans", testserver.WithXAPIKey(key), body); !strings.Contains(
		string(got.Body), `"accepted":1`) {
		t.Fatalf("report a trace: %d %s", got.Status, got.Body)
	}
	return trace, session
}

// TestSearch: ids as they were pasted, entries by their number, parts of names, and words.
func TestSearch(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		ada := s.Person("ada")
		org := s.Organization(ada, "Payments")
		issued := s.AgentKey(ada, org)
		key := issued.APIKey
		trace, session := report(t, s, key, "pay rent", "to the harbour master")
		plan := s.Declare(key, "settle the lease")
		if _, err := ada.RegisterAgent(t.Context(), org, client.NewAgent{
			AgentID: "billing", Name: "Bill Payer",
		}); err != nil {
			t.Fatal(err)
		}
		policy := s.Draft(ada, org, "refund limits")
		approval := s.OpenedApproval(s.Public.WithKey(key))
		viewer := s.Join(ada, org, "viewer")
		index(t, s)
		everybody := map[string]string{
			trace:                  "trace pay rent",
			strings.ToUpper(trace): "trace pay rent",
			trace[:13]:             "trace pay rent",
			"ren":                  "trace pay rent",
			"INVOICE pay":          "trace pay rent",
			"quarterly":            "trace pay rent",
			session:                "session " + session,
			policy:                 "policy refund limits",
			"FUND lim":             "policy refund limits",
			"billing":              "agent Bill Payer",
			"bill pay":             "agent Bill Payer",
			"billin":               "session " + session,
			" #0 ":                 "entry #0",
			"0":                    "entry #0",
			"organization created": "entry #0",
			ada.ID:                 "member ada",
		}
		for text, want := range everybody {
			for who, p := range map[string]*testserver.Person{"owner": ada, "viewer": viewer} {
				if got := look(t, p, org, text); !slices.Contains(got, want) {
					t.Errorf("%s looks for %q: %q, want %q", who, text, got, want)
				}
			}
		}
		// What is a payload finds and shows itself only to those who may read it.
		for text, want := range map[string]string{
			"harb": "trace pay rent", "lease": "plan settle the lease", "invoice due": "approval bank/pay",
		} {
			if got := look(t, ada, org, text); !slices.Contains(got, want) {
				t.Errorf("owner looks for %q: %q, want %q", text, got, want)
			}
			if got := look(t, viewer, org, text); len(got) != 0 {
				t.Errorf("viewer finds %q by %q", got, text)
			}
		}
		// Whose key it is, only those find who manage keys, and the owner.
		if got := look(t, ada, org, issued.ID); !slices.Contains(got, "key "+issued.Name) {
			t.Errorf("owner looks for a key: %q", got)
		}
		if got := look(t, viewer, org, issued.ID); len(got) != 0 {
			t.Errorf("viewer looks for a key: %q", got)
		}
		for _, id := range []string{plan.PlanID, approval} {
			if got := ask(t, ada, org, id).Items; len(got) == 0 || got[0].ID != id {
				t.Errorf("%s finds %v", id, got)
			}
		}
		if got := look(t, viewer, org, plan.PlanID); !slices.Contains(got, "plan "+plan.PlanID) {
			t.Errorf("viewer finds the plan as %q", got)
		}
		for _, text := range []string{
			"lighthouse", "#99999", "#-x", "..", "%", "_", "' OR 1=1", "\u0000", database.NewID(), `"`, "zq*",
			"NOT rent", "arbour", "rent:*", "(rent",
		} {
			if got := look(t, ada, org, text, "kinds", "trace,plan,approval,entry,session"); text != "(rent" &&
				text != "rent:*" && len(got) != 0 {
				t.Errorf("%q finds %q", text, got)
			}
		}
		for _, query := range []string{
			"", "?q=", "?q=" + strings.Repeat("x", 201), "?q=a&kind=agent", "?q=a&kinds=word", "?q=a&limit=0",
			"?q=a&cursor=AA",
		} {
			got := s.Send(http.MethodGet, "/search"+query, testserver.WithBearer(ada.Tokens.AccessToken), "")
			if got.Status != http.StatusBadRequest {
				t.Errorf("/search%s: %d %s", query, got.Status, got.Body)
			}
		}
	})
}

// TestOrderAndPages: the exact name first, then names, then the rest by time; pages neither repeat nor leave out.
func TestOrderAndPages(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		ada := s.Person("ada")
		org := s.Organization(ada, "Payments")
		key := s.AgentKey(ada, org).APIKey
		for _, id := range []string{"tide-two", "tide"} {
			if _, err := ada.RegisterAgent(t.Context(), org, client.NewAgent{AgentID: id}); err != nil {
				t.Fatal(err)
			}
		}
		for i := range 5 {
			report(t, s, key, fmt.Sprintf("tide %d", i), "")
		}
		index(t, s)
		want := []string{
			"agent tide", "agent tide-two", "trace tide 4", "trace tide 3", "trace tide 2", "trace tide 1",
			"trace tide 0",
		}
		if got := look(t, ada, org, "tide"); !slices.Equal(got, want) {
			t.Errorf("found %q, want %q", got, want)
		}
		if got := look(t, ada, org, "tide", "kinds", "agent"); !slices.Equal(got, want[:2]) {
			t.Errorf("agents alone: %q", got)
		}
		paged, cursor := []string{}, ""
		for {
			answer := ask(t, ada, org, "tide", "limit", "2", "cursor", cursor)
			for _, item := range answer.Items {
				paged = append(paged, item.Kind+" "+item.Title)
			}
			if cursor = answer.NextCursor; !answer.HasMore {
				break
			}
		}
		if !slices.Equal(paged, want) {
			t.Errorf("in pages: %q, want %q", paged, want)
		}
		first := ask(t, ada, org, "tide", "limit", "2")
		query := url.Values{"organizationId": {org}, "q": {"ebb"}, "cursor": {first.NextCursor}}
		if err := ada.Call(t.Context(), http.MethodGet, "/search", query, nil, nil); err == nil {
			t.Error("the cursor of one query is taken for another")
		}
		match := ask(t, ada, org, "tid", "kinds", "trace", "limit", "1").Items[0].Match
		if len(match) != 2 || match[0].Text != "tid" || !match[0].Hit || match[1].Text != "e 4" || match[1].Hit {
			t.Errorf("match: %v", match)
		}
	})
}

// TestSearchKeepsToTheOrganization: what another organization has does not exist.
func TestSearchKeepsToTheOrganization(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		ada, eve := s.Person("ada"), s.Person("eve")
		org, other := s.Organization(ada, "Payments"), s.Organization(eve, "Elsewhere")
		key := s.AgentKey(ada, org).APIKey
		trace, session := report(t, s, key, "pay rent", "harbour")
		plan := s.Declare(key, "pay the rent")
		approval := s.OpenedApproval(s.Public.WithKey(key))
		policy := s.Draft(ada, org, "refund limits")
		index(t, s)
		for _, text := range []string{
			trace, trace[:13], session, plan.PlanID, approval, policy, "refund", "billing", ada.ID, ada.Email,
			"rent", "harbour", "bank",
		} {
			if got := look(t, eve, other, text); len(got) != 0 {
				t.Errorf("%q finds %q of another organization", text, got)
			}
		}
		got := s.Send(http.MethodGet, "/search?q=refund&organizationId="+org,
			testserver.WithBearer(eve.Tokens.AccessToken), "")
		if got.Status != http.StatusForbidden {
			t.Errorf("in another organization: %d %s", got.Status, got.Body)
		}
	})
}

// TestAPlanThatTheKillSwitchEnded has failed, as the list of plans says: its own row is still active.
func TestAPlanThatTheKillSwitchEnded(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		ada := s.Person("ada")
		org := s.Organization(ada, "Payments")
		plan := s.Declare(s.AgentKey(ada, org).APIKey, "settle the lease")
		if _, err := ada.KillAgent(t.Context(), org, "agent", "it pays twice"); err != nil {
			t.Fatal(err)
		}
		index(t, s)
		for _, text := range []string{plan.PlanID, "lease"} {
			for _, item := range ask(t, ada, org, text, "kinds", "plan").Items {
				if item.ID != plan.PlanID || item.Note != "failed" {
					t.Errorf("%q finds plan %s as %q", text, item.ID, item.Note)
				}
			}
			if len(look(t, ada, org, text, "kinds", "plan")) != 1 {
				t.Errorf("%q finds no plan", text)
			}
		}
	})
}

// TestApprovalsOfOthers: who may not answer requests finds those of their own keys alone.
func TestApprovalsOfOthers(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		ada := s.Person("ada")
		org := s.Organization(ada, "Payments")
		member := s.Join(ada, org, "member")
		theirs := s.OpenedApproval(s.Public.WithKey(s.AgentKey(ada, org).APIKey))
		own := s.OpenedApproval(s.Public.WithKey(s.AgentKey(member, org).APIKey))
		index(t, s)
		for who, want := range map[*testserver.Person][]string{ada: {own, theirs}, member: {own}} {
			var ids []string
			for _, item := range ask(t, who, org, "bank", "kinds", "approval").Items {
				ids = append(ids, item.ID)
			}
			if !slices.Equal(ids, want) {
				t.Errorf("found %v, want %v", ids, want)
			}
		}
	})
}

// TestForgetsWithRetention: what retention removes is not found by its words either, nor indexed late.
func TestForgetsWithRetention(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		ada := s.Person("ada")
		org := s.Organization(ada, "Payments")
		key := s.AgentKey(ada, org).APIKey
		report(t, s, key, "ebb", "")
		index(t, s)
		report(t, s, key, "ebb late", "") // indexed or not, it goes
		s.Advance(200 * 24 * time.Hour)
		ada = s.SignIn(ada.Email)
		report(t, s, key, "ebb new", "")
		if _, err := s.Telemetry.Retain(t.Context(), false); err != nil {
			t.Fatal(err)
		}
		index(t, s)
		if got := look(t, ada, org, "ebb", "kinds", "trace"); !slices.Equal(got, []string{"trace ebb new"}) {
			t.Errorf("found %q", got)
		}
	})
}
