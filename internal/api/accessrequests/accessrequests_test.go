package accessrequests_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"writ/client"
	"writ/internal/audit"
	"writ/internal/principal"
	"writ/internal/testserver"
)

type m = map[string]any

type request struct {
	ID, Email, Name, Company, Message, Status string
	DecidedBy, Reason, OrganizationID, Role   *string
}

// operator is a person who runs the installation.
func operator(s *testserver.Server) *testserver.Person {
	s.T.Helper()
	p := s.Person("operator")
	if err := s.Operators.Add(s.T.Context(), principal.Operator(), p.ID); err != nil {
		s.T.Fatal(err)
	}
	return p
}

func ask(s *testserver.Server, body m) error {
	s.NextMinute()
	return s.Public.Call(s.T.Context(), http.MethodPost, "/access-requests", nil, body, nil)
}

func list(s *testserver.Server, p *testserver.Person, status string) []request {
	s.T.Helper()
	var page struct{ Items []request }
	query := url.Values{}
	if status != "" {
		query.Set("status", status)
	}
	if err := p.Call(s.T.Context(), http.MethodGet, "/access-requests", query, nil, &page); err != nil {
		s.T.Fatalf("list: %v", err)
	}
	return page.Items
}

func answer(s *testserver.Server, p *testserver.Person, id, how string, body m) (request, error) {
	var got request
	err := p.Call(s.T.Context(), http.MethodPost, "/access-requests/"+id+"/"+how, nil, body, &got)
	return got, err
}

// TestAsking: one address asks once, and whoever asks cannot tell what is known.
func TestAsking(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		op, member := operator(s), s.Person("member")
		full := m{"email": " New@Example.org ", "name": "Ada", "company": "Engines", "message": "line\nline"}
		s.NextMinute()
		first := s.Request(t, "POST", "/access-requests", testserver.JSON(t, full))
		again := s.Request(t, "POST", "/access-requests", `{"email":"new@example.org","message":"another"}`)
		known := s.Request(t, "POST", "/access-requests", `{"email":"`+member.Email+`"}`)
		for what, got := range map[string]testserver.Answer{"first": first, "again": again, "an account": known} {
			if got.Status != http.StatusAccepted || string(got.Body) != string(first.Body) {
				t.Errorf("%s: status %d: %s", what, got.Status, got.Body)
			}
		}
		waiting := list(s, op, "pending")
		if len(waiting) != 2 || waiting[0].Email != "new@example.org" || waiting[0].Message != "line\nline" ||
			waiting[0].Name != "Ada" || waiting[0].Company != "Engines" || waiting[0].Status != "pending" {
			t.Errorf("waiting: %+v", waiting)
		}
		if text := s.LastMail("new@example.org"); strings.Contains(text, "Ada") || strings.Contains(text, "line") {
			t.Errorf("what a stranger wrote is mailed:\n%s", text)
		}
		if mails := s.Mails(op.Email, 1); !strings.Contains(mails[0].Text, "operators") {
			t.Errorf("the operator's mail: %s", mails[0].Text)
		}
		requested := slices.DeleteFunc(s.Recorded(audit.System), func(a string) bool { return a != "access.requested" })
		if len(requested) != 2 {
			t.Errorf("%d requests in the log, want 2", len(requested))
		}
	})
}

func TestRefusedRequests(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		for what, c := range map[string]struct {
			body  m
			field string
		}{
			"no address":       {m{"name": "x"}, "email"},
			"two lines":        {m{"email": "a@example.org\nBcc: b@example.org"}, "email"},
			"a long name":      {m{"email": "a@example.org", "name": strings.Repeat("é", 101)}, "name"},
			"lines in a name":  {m{"email": "a@example.org", "name": "a\nb"}, "name"},
			"a long message":   {m{"email": "a@example.org", "message": strings.Repeat("é", 2001)}, "message"},
			"a turned message": {m{"email": "a@example.org", "message": "a\u202eb"}, "message"},
			"a long company":   {m{"email": "a@example.org", "company": strings.Repeat("x", 101)}, "company"},
			"an unknown field": {m{"email": "a@example.org", "role": "owner"}, "role"},
		} {
			s.NextMinute()
			got := s.Request(t, "POST", "/access-requests", testserver.JSON(t, c.body))
			if fields := got.ErrorFields(t, http.StatusBadRequest); !slices.Contains(fields, c.field) {
				t.Errorf("%s: fields %v, want %s", what, fields, c.field)
			}
		}
		if n := len(list(s, operator(s), "")); n != 0 {
			t.Errorf("%d requests were stored", n)
		}
	})
}

// TestApprovedPeopleRegister, also where sign-up is closed, and only with the address that asked.
func TestApprovedPeopleRegister(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		op := operator(s)
		if err := ask(s, m{"email": "new@example.org"}); err != nil {
			t.Fatal(err)
		}
		id := list(s, op, "pending")[0].ID
		s.Mails("new@example.org", 1)
		_, err := answer(s, op, id, "approve", m{"role": "admin"})
		testserver.WantStatus(t, "a role without an organization", err, http.StatusBadRequest)
		got, err := answer(s, op, id, "approve", m{})
		if err != nil || got.Status != "approved" || *got.DecidedBy != op.ID || got.OrganizationID != nil {
			t.Fatalf("approved: %+v, %v", got, err)
		}
		s.Mails("new@example.org", 2)
		first := s.TokenFor("new@example.org")
		if _, err = answer(s, op, id, "approve", m{}); err != nil {
			t.Errorf("mail another link: %v", err)
		}
		_, err = answer(s, op, id, "reject", m{"reason": "r"})
		testserver.WantStatus(t, "reject what is approved", err, http.StatusConflict)
		s.Mails("new@example.org", 3)
		token := s.TokenFor("new@example.org")
		register := func(address, token string) error {
			s.NextMinute()
			return s.Public.Call(t.Context(), http.MethodPost, "/auth/register", nil,
				m{"email": address, "password": testserver.Password, "inviteToken": token}, nil)
		}
		testserver.WantStatus(t, "another address", register("thief@example.org", token), http.StatusForbidden)
		testserver.WantStatus(t, "without the token", register("new@example.org", ""), http.StatusForbidden)
		testserver.WantStatus(t, "a replaced token", register("new@example.org", first), http.StatusForbidden)
		testserver.WantStatus(t, "a wrong token", register("new@example.org", token+"0"), http.StatusForbidden)
		if err := register("new@example.org", token); err != nil {
			t.Errorf("register: %v", err)
		}
		s.Advance(7 * 24 * time.Hour)
		testserver.WantStatus(t, "after a week", register("new@example.org", token), http.StatusForbidden)
	}, "WRIT_SIGNUP", "closed")
}

// TestApprovedWithoutMail: where no mail goes out nobody is let in, with a link or an invitation, and the request waits
// on. Programs are told why.
func TestApprovedWithoutMail(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		op := operator(s)
		own := s.Organization(op, "Own")
		if err := ask(s, m{"email": "new@example.org"}); err != nil {
			t.Fatal(err)
		}
		id := list(s, op, "pending")[0].ID
		for what, body := range map[string]m{"with a link": {}, "with an invitation": {"organizationId": own}} {
			_, err := answer(s, op, id, "approve", body)
			refused, ok := errors.AsType[*client.Error](err)
			if !ok || refused.StatusCode != http.StatusServiceUnavailable || refused.Reason != "mail_not_configured" {
				t.Errorf("%s: %v, want 503 with a code", what, err)
			}
			if len(list(s, op, "pending")) != 1 {
				t.Errorf("%s: the request does not wait any more", what)
			}
		}
		if open, err := op.Invites(t.Context(), own); err != nil || len(open) != 0 {
			t.Errorf("invitations: %+v, %v", open, err)
		}
	}, "WRIT_ENV", "production", "WRIT_PUBLIC_URL", "https://writ.example.org", "WRIT_LISTEN", "127.0.0.1")
}

// TestInvitedPeople: an operator invites where their role allows it, and nowhere else.
func TestInvitedPeople(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		op, owner := operator(s), s.Person("owner")
		own, foreign := s.Organization(op, "Own"), s.Organization(owner, "Foreign")
		viewing, managed := s.Organization(owner, "Viewing"), s.Organization(owner, "Managed")
		s.MakeMember(viewing, op.ID, principal.Viewer)
		s.MakeMember(managed, op.ID, principal.Admin)
		guest := s.Person("guest")
		if err := ask(s, m{"email": guest.Email}); err != nil {
			t.Fatal(err)
		}
		s.Mails(guest.Email, 1)
		id := list(s, op, "")[0].ID
		for what, body := range map[string]m{
			"a foreign organization": {"organizationId": foreign},
			"where one only reads":   {"organizationId": viewing},
			"an owner, as an admin":  {"organizationId": managed, "role": "owner"},
		} {
			_, err := answer(s, op, id, "approve", body)
			testserver.WantStatus(t, what, err, http.StatusForbidden)
		}
		_, err := answer(s, op, id, "approve", m{"organizationId": own, "role": "king"})
		testserver.WantStatus(t, "an unknown role", err, http.StatusBadRequest)
		if got := list(s, op, "pending"); len(got) != 1 {
			t.Fatalf("pending: %+v", got)
		}
		got, err := answer(s, op, id, "approve", m{"organizationId": own, "role": "approver"})
		if err != nil || *got.OrganizationID != own || *got.Role != "approver" {
			t.Fatalf("approved: %+v, %v", got, err)
		}
		s.Mails(guest.Email, 2)
		joined, err := guest.AcceptInvite(t.Context(), s.TokenFor(guest.Email))
		if err != nil || joined.ID != own || joined.Role != "approver" {
			t.Errorf("joined: %+v, %v", joined, err)
		}
		for what, body := range map[string]m{"elsewhere": {"organizationId": managed}, "with a link": {}} {
			_, err = answer(s, op, id, "approve", body)
			testserver.WantStatus(t, "approve again "+what, err, http.StatusConflict)
		}
		if open, err := owner.Invites(t.Context(), managed); err != nil || len(open) != 0 {
			t.Errorf("invitations elsewhere: %+v, %v", open, err)
		}
	})
}

// TestRejectedPeople may ask again a month later.
func TestRejectedPeople(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		op := operator(s)
		const address = "new@example.org"
		if err := ask(s, m{"email": address}); err != nil {
			t.Fatal(err)
		}
		s.Mails(address, 1)
		id := list(s, op, "pending")[0].ID
		for _, reason := range []string{"", " ", strings.Repeat("x", 501), "a\u202eb"} {
			_, err := answer(s, op, id, "reject", m{"reason": reason})
			testserver.WantStatus(t, "the reason "+reason, err, http.StatusBadRequest)
		}
		got, err := answer(s, op, id, "reject", m{"reason": "Only teams,\nfor now."})
		if err != nil || got.Status != "rejected" || *got.Reason != "Only teams,\nfor now." {
			t.Fatalf("rejected: %+v, %v", got, err)
		}
		if text := s.Mails(address, 2)[1].Text; !strings.Contains(text, "Only teams,") {
			t.Errorf("the mail lacks the reason:\n%s", text)
		}
		_, err = answer(s, op, "0199d1c2-7a54-7c1e-9b7e-2f6a4c1d8e30", "reject", m{"reason": "r"})
		testserver.WantStatus(t, "an unknown request", err, http.StatusNotFound)
		_, err = answer(s, op, "x", "approve", m{})
		testserver.WantStatus(t, "no id", err, http.StatusNotFound)
		if err := ask(s, m{"email": address}); err != nil || len(list(s, op, "pending")) != 0 {
			t.Errorf("asking at once again: %v, %+v", err, list(s, op, "pending"))
		}
		s.Advance(30*24*time.Hour + time.Minute)
		op = s.SignIn(op.Email)
		if err := ask(s, m{"email": address}); err != nil || len(list(s, op, "pending")) != 1 ||
			len(list(s, op, "")) != 2 {
			t.Errorf("asking after a month: %v, %+v", err, list(s, op, ""))
		}
	})
}

// TestAnsweredAtOnce: two operators who answer together do not both.
func TestAnsweredAtOnce(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		op := operator(s)
		if err := ask(s, m{"email": "new@example.org"}); err != nil {
			t.Fatal(err)
		}
		id := list(s, op, "pending")[0].ID
		results := make(chan error, 6)
		for i := range cap(results) {
			go func() {
				_, err := answer(s, op, id, "reject", m{"reason": fmt.Sprintf("reason %d", i)})
				results <- err
			}()
		}
		answered := 0
		for range cap(results) {
			if err := <-results; err == nil {
				answered++
			} else if client.StatusOf(err) != http.StatusConflict {
				t.Error(err)
			}
		}
		if answered != 1 {
			t.Errorf("answered %d times", answered)
		}
	})
}
