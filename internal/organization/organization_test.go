package organization_test

import (
	"context"
	"encoding/json"
	"regexp"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/mail"
	"writ/internal/organization"
	"writ/internal/principal"
	"writ/internal/testenv"
)

// env is an empty database with the service on it.
type env struct {
	*testenv.Env
	service *organization.Service
	mails   *recorder
}

// each runs the test on every database.
func each(t *testing.T, body func(t *testing.T, e *env)) {
	t.Helper()
	testenv.Each(t, func(t *testing.T, base *testenv.Env) {
		base.Set(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
		e := &env{Env: base, mails: &recorder{}}
		e.service = organization.New(e.DB, e.Log, e.mails, "https://writ.example.org/", nil)
		body(t, e)
	})
}

// recorder keeps the mails it is given, or refuses them.
type recorder struct {
	mails   []mail.Message
	refusal error
	onSend  func()
}

func (r *recorder) Send(_ context.Context, m mail.Message) error {
	r.mails = append(r.mails, m)
	if r.onSend != nil {
		r.onSend()
	}
	return r.refusal
}

var tokenPattern = regexp.MustCompile(`token=(inv_[0-9a-f]{64})\n`)

// lastToken is the token in the mail sent last.
func (r *recorder) lastToken(t *testing.T) string {
	t.Helper()
	if len(r.mails) == 0 {
		t.Fatal("no mail was sent")
	}
	found := tokenPattern.FindStringSubmatch(r.mails[len(r.mails)-1].Text)
	if found == nil {
		t.Fatalf("no token in the mail: %q", r.mails[len(r.mails)-1].Text)
	}
	return found[1]
}

// user makes an account and gives its id.
func (e *env) user(t *testing.T, email string) string {
	t.Helper()
	id := database.NewID()
	e.Exec(`
		INSERT INTO user_account (id, email, name, password_hash, verified_at, created_at)
		VALUES ($1, $2, $3, '', 0, 0)`, id, email, "Name of "+email)
	return id
}

// create makes an organization; the principal is its owner.
func (e *env) create(t *testing.T, name string) principal.Principal {
	t.Helper()
	owner := principal.Principal{Kind: principal.User, UserID: e.user(t, database.NewID()+"@example.org")}
	o, err := e.service.Create(t.Context(), owner, name)
	if err != nil {
		t.Fatalf("create %s: %v", name, err)
	}
	owner.OrgID, owner.Role = o.ID, principal.Owner
	return owner
}

// add makes a new account a member of the organization, without an audit entry.
func (e *env) add(t *testing.T, orgID string, role principal.Role) principal.Principal {
	t.Helper()
	id := e.user(t, database.NewID()+"@example.org")
	e.Exec(`INSERT INTO organization_member (org_id, user_id, role, joined_at) VALUES ($1, $2, $3, $4)`,
		orgID, id, string(role), database.Micros(e.DB.Now()))
	return testenv.Person(id, orgID, role)
}

// invite invites and gives the token that was mailed.
func (e *env) invite(
	t *testing.T, p principal.Principal, email string, role principal.Role,
) (organization.Invite, string) {
	t.Helper()
	invite, err := e.service.Invite(t.Context(), p, email, role)
	if err != nil {
		t.Fatalf("invite %s: %v", email, err)
	}
	return invite, e.mails.lastToken(t)
}

// entry is what the log says, as the tests compare it.
type entry struct{ Action, Actor, Subject, Payload string }

// log reads the entries of an organization from an index on.
func (e *env) log(t *testing.T, orgID string, from int64) []entry {
	t.Helper()
	entries := []entry{}
	for _, s := range e.Entries(orgID) {
		if s.Index < from {
			continue
		}
		var record struct {
			Actor   struct{ Kind, ID string }
			Subject struct{ Type, ID string }
		}
		if err := json.Unmarshal([]byte(s.Record), &record); err != nil {
			t.Fatalf("read record %s: %v", s.Record, err)
		}
		entries = append(entries, entry{
			Action: s.Action, Actor: record.Actor.Kind + " " + record.Actor.ID,
			Subject: record.Subject.Type + " " + record.Subject.ID, Payload: s.Payload,
		})
	}
	return entries
}

// wantLog compares the log after its first two entries, those of the creation.
func (e *env) wantLog(t *testing.T, orgID string, want ...entry) {
	t.Helper()
	if want == nil {
		want = []entry{}
	}
	if diff := cmp.Diff(want, e.log(t, orgID, 2)); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
}

// wantFault also compares the words, which must not tell cases apart.
func wantFault(t *testing.T, what string, err error, want fault.Kind, message string) {
	t.Helper()
	if !fault.Is(err, want) || err.Error() != message {
		t.Errorf("%s: %s %v, want %s %q", what, fault.KindOf(err), err, want, message)
	}
}

const (
	notMember       = "you are not a member of this organization"
	invalidInvite   = "this invitation is not valid any more"
	noSuchMember    = "there is no such member in this organization"
	noSuchInvite    = "there is no such open invitation in this organization"
	lifetime        = 7 * 24 * time.Hour
	onlyOwnerRefuse = "an organization needs an owner: make another member one first"
)
