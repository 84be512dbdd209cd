package api_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"writ/client"
	"writ/internal/testserver"
	"writ/internal/throttle"
)

// quietForwarding is one that is off, so that nothing is sent from here.
func quietForwarding() client.NewForwarding {
	off := false
	return client.NewForwarding{
		Endpoint: "https://collector.example.org/v1/traces",
		Headers:  map[string]string{"x-api-key": "k3y-of-the-collector"},
		Enabled:  &off,
	}
}

func someForwarding(s *testserver.Server, p *testserver.Person, orgID string) {
	s.T.Helper()
	if _, err := p.SetForwarding(s.T.Context(), orgID, quietForwarding()); err != nil {
		s.T.Fatalf("set a forwarding: %v", err)
	}
}

// forwardingScenarios are the changes of forwarding.
func (w *changes) forwardingScenarios() map[string]scenario {
	const path = "/organization/{orgId}/forwarding"
	return map[string]scenario{
		"PUT " + path:            w.setForwarding,
		"DELETE " + path:         w.deleteForwarding,
		"POST " + path + "/test": w.testForwarding,
	}
}

func (w *changes) setForwarding() func(context.Context) (string, error) {
	return inLog(w.org, func(ctx context.Context) error {
		return second(w.owner.SetForwarding(ctx, w.org, quietForwarding()))
	})
}

func (w *changes) deleteForwarding() func(context.Context) (string, error) {
	someForwarding(w.Server, w.owner, w.org)
	return inLog(w.org, func(ctx context.Context) error { return w.owner.DeleteForwarding(ctx, w.org) })
}

// testForwarding sends to a name that does not exist.
func (w *changes) testForwarding() func(context.Context) (string, error) {
	someForwarding(w.Server, w.owner, w.org)
	return inLog("", func(ctx context.Context) error {
		got, err := w.owner.TestForwarding(ctx, w.org)
		if err == nil && (got.Taken || got.Problem == "") {
			err = fmt.Errorf("a test to nowhere arrived: %+v", got)
		}
		return err
	})
}

// forwardingRoleCases: forwarding is for who administers.
func forwardingRoleCases() []roleCase {
	const path = "/organization/{orgId}/forwarding"
	about := func(route, what string, call func(ctx context.Context, org string, p *testserver.Person) error) roleCase {
		return roleCase{route, what, managers, http.StatusForbidden,
			func(ctx context.Context, s *testserver.Server, org string, p *testserver.Person) error {
				return call(ctx, org, p)
			}}
	}
	return []roleCase{
		about("PUT "+path, "set", func(ctx context.Context, org string, p *testserver.Person) error {
			return second(p.SetForwarding(ctx, org, quietForwarding()))
		}),
		about("GET "+path, "read", func(ctx context.Context, org string, p *testserver.Person) error {
			return second(p.Forwarding(ctx, org))
		}),
		about("GET "+path+"/status", "status", func(ctx context.Context, org string, p *testserver.Person) error {
			return second(p.ForwardingStatus(ctx, org))
		}),
		about("POST "+path+"/test", "test", func(ctx context.Context, org string, p *testserver.Person) error {
			return second(p.TestForwarding(ctx, org))
		}),
		about("DELETE "+path, "delete", func(ctx context.Context, org string, p *testserver.Person) error {
			err := p.DeleteForwarding(ctx, org)
			if err == nil {
				err = second(p.SetForwarding(ctx, org, quietForwarding())) // for the next
			}
			return err
		}),
	}
}

// TestTestsOfForwardingAreThrottled counts a person's.
func TestTestsOfForwardingAreThrottled(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		owner := s.Person("owner")
		org := s.Organization(owner, "Forwards")
		s.NextMinute()
		rule := testserver.Throttled{Rule: throttle.TestForwarding,
			Call: func(t *testing.T, c *client.Client, _ string) error {
				return second(c.TestForwarding(t.Context(), org)) // there is none, and that counts too
			}}
		testserver.WantThrottled(t, rule, owner.Client, "")
	})
}

// TestForwardingIsShownWithoutItsKeys sets, reads, changes and deletes one, as a
// person does, and looks for the key in every answer.
func TestForwardingIsShownWithoutItsKeys(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		owner := s.Person("owner")
		org := s.Organization(owner, "Forwards")
		_, err := owner.Forwarding(t.Context(), org)
		testserver.WantStatus(t, "where none is set", err, http.StatusNotFound)
		_, err = owner.ForwardingStatus(t.Context(), org)
		testserver.WantStatus(t, "its status", err, http.StatusNotFound)
		set, err := owner.SetForwarding(t.Context(), org, quietForwarding())
		if err != nil || set.Enabled || !set.Traces || !set.Decisions || set.Content != "redacted" ||
			set.MaxAgeHours != 24 || len(set.Headers) != 1 || set.Headers[0] != "x-api-key" {
			t.Errorf("set %+v, %v", set, err)
		}
		change := quietForwarding()
		change.Headers = nil
		change.Content = "none"
		change.Endpoint = "https://collector.example.org"
		if got, err := owner.SetForwarding(t.Context(), org, change); err != nil || got.Content != "none" ||
			len(got.Headers) != 1 || got.Endpoint != "https://collector.example.org/v1/traces" {
			t.Errorf("changed %+v, %v", got, err)
		}
		for _, path := range []string{"", "/status"} {
			var answer map[string]any
			if err := owner.Call(t.Context(), http.MethodGet, "/organization/"+org+"/forwarding"+path, nil, nil,
				&answer); err != nil {
				t.Fatal(err)
			}
			if strings.Contains(fmt.Sprint(answer), "k3y-of") {
				t.Errorf("%s shows the key: %v", path, answer)
			}
		}
		for name, spoiled := range map[string]client.NewForwarding{
			"endpoint":    {Endpoint: "http://127.0.0.1:4318/v1/traces"},
			"headers":     {Endpoint: "https://elsewhere.example.org"},
			"content":     {Endpoint: "https://collector.example.org", Content: "some"},
			"maxAgeHours": {Endpoint: "https://collector.example.org", MaxAgeHours: 1000},
		} {
			_, err := owner.SetForwarding(t.Context(), org, spoiled)
			testserver.WantStatus(t, name, err, http.StatusBadRequest)
			if err != nil && !strings.Contains(err.Error(), name) {
				t.Errorf("%s: %v does not name it", name, err)
			}
		}
		change.Headers = map[string]string{}
		if got, err := owner.SetForwarding(t.Context(), org, change); err != nil || len(got.Headers) != 0 {
			t.Errorf("headers taken away: %+v, %v", got, err)
		}
		if err := owner.DeleteForwarding(t.Context(), org); err != nil {
			t.Error(err)
		}
		testserver.WantStatus(t, "delete again", owner.DeleteForwarding(t.Context(), org), http.StatusNotFound)
	})
}
