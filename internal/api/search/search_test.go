package search_test

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"writ/client"
	"writ/internal/database"
	"writ/internal/testserver"
)

type found struct {
	Items []struct{ Kind, ID, Title, Note string }
}

// look is what a person finds, as kind and title.
func look(t *testing.T, p *testserver.Person, org, text string) []string {
	t.Helper()
	var answer found
	query := url.Values{"organizationId": {org}, "q": {text}}
	if err := p.Call(t.Context(), http.MethodGet, "/search", query, nil, &answer); err != nil {
		t.Fatalf("search %q: %v", text, err)
	}
	shown := []string{}
	for _, item := range answer.Items {
		shown = append(shown, item.Kind+" "+item.Title)
	}
	return shown
}

// report stores a trace in a session.
func report(t *testing.T, s *testserver.Server, key, name string) (trace, session string) {
	t.Helper()
	trace, session = database.NewID(), database.NewID()
	now := s.Database.Now().Format("2006-01-02T15:04:05Z")
	body := fmt.Sprintf(`{"product":"p","batches":[{"trace":{"id":%q,"name":%q,"startTime":%q,"durationMs":5,
		"status":"ok","agentId":"billing","sessionId":%q,"attributes":{"input":"harbour"}},"spans":[]}]}`,
		trace, name, now, session)
	if got := s.Send(http.MethodPost, "/observability/spans", testserver.WithXAPIKey(key), body); !strings.Contains(
		string(got.Body), `"accepted":1`) {
		t.Fatalf("report a trace: %d %s", got.Status, got.Body)
	}
	return trace, session
}

// TestSearch: ids as they were pasted, entries by their number, and parts of names.
func TestSearch(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		ada := s.Person("ada")
		org := s.Organization(ada, "Payments")
		key := s.AgentKey(ada, org).APIKey
		trace, session := report(t, s, key, "pay rent")
		plan := s.Declare(key, "pay the rent")
		if _, err := ada.RegisterAgent(t.Context(), org, client.NewAgent{
			AgentID: "billing", Name: "Bill Payer",
		}); err != nil {
			t.Fatal(err)
		}
		policy := s.Draft(ada, org, "refund limits")
		viewer := s.Join(ada, org, "viewer")
		for text, want := range map[string]string{
			trace:                  "trace pay rent",
			strings.ToUpper(trace): "trace pay rent",
			session:                "session " + session,
			plan.PlanID:            "plan " + plan.PlanID,
			policy:                 "policy refund limits",
			"FUND lim":             "policy refund limits",
			"billing":              "agent Bill Payer",
			"bill pay":             "agent Bill Payer",
			" #0 ":                 "entry #0",
			"0":                    "entry #0",
			ada.ID:                 "member ada",
		} {
			for who, p := range map[string]*testserver.Person{"owner": ada, "viewer": viewer} {
				if got := look(t, p, org, text); !slices.Contains(got, want) {
					t.Errorf("%s looks for %q: %q, want %q", who, text, got, want)
				}
			}
		}
		for _, text := range []string{
			"harbour", "#99999", "#-1", "..", "%", "_", "' OR 1=1", "\u0000", database.NewID(),
		} {
			if got := look(t, ada, org, text); len(got) != 0 {
				t.Errorf("%q finds %q", text, got)
			}
		}
		for _, query := range []string{"", "?q=", "?q=" + strings.Repeat("x", 201), "?q=a&kind=agent"} {
			got := s.Send(http.MethodGet, "/search"+query, testserver.WithBearer(ada.Tokens.AccessToken), "")
			if got.Status != http.StatusBadRequest {
				t.Errorf("/search%s: %d %s", query, got.Status, got.Body)
			}
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
		trace, session := report(t, s, key, "pay rent")
		plan := s.Declare(key, "pay the rent")
		policy := s.Draft(ada, org, "refund limits")
		for _, text := range []string{trace, session, plan.PlanID, policy, "refund", "billing", ada.ID, ada.Email} {
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
