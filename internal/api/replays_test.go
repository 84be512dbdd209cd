package api_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"writ/client"
	"writ/internal/database"
)

// replayed waits for a replay, and runs it itself where no server has begun.
func (s *server) replayed(by *client.Client, orgID, id string) client.Replay {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), time.Minute)
	defer cancel()
	for {
		if err := s.Replays.Work(ctx); err != nil {
			s.t.Fatalf("run replays: %v", err)
		}
		job, err := by.Replay(ctx, orgID, id)
		if err != nil {
			s.t.Fatalf("look at the replay: %v", err)
		}
		if job.State != "waiting" && job.State != "running" {
			return job
		}
	}
}

// replay starts a replay and gives its report.
func (s *server) replay(by *client.Client, orgID string, r client.NewReplay) client.ReplayReport {
	s.t.Helper()
	job, err := by.StartReplay(s.t.Context(), orgID, r)
	if err != nil {
		s.t.Fatalf("start a replay: %v", err)
	}
	job = s.replayed(by, orgID, job.ID)
	if job.State != "done" || job.Report == nil || job.Done != job.Total || job.EndedAt == nil {
		s.t.Fatalf("the replay is %+v", job)
	}
	return *job.Report
}

// heldReplay stores a replay that another server runs, which was heard of last at
// some time from now.
func (s *server) heldReplay(orgID string, attempts int, heard time.Duration) string {
	s.t.Helper()
	id := database.NewID()
	err := s.Database.Write(s.t.Context(), database.Change{Do: func(ctx context.Context, tx *database.Tx) error {
		now := tx.Now()
		_, err := tx.Exec(ctx, `
			INSERT INTO policy_replay (id, org_id, state, name, policy_id, version, format, source, digest, days, from_at, until_at,
				author_kind, author_id, created_at, attempts, runner, lease_until, done, total, problem, report)
			VALUES ($1, $2, 'running', 'held', '', 0, 'yaml', $3, '', 7, $4, $5, 'user', 'u', $5, $6, 'another', $7, 5, 10, '', '')`,
			id, orgID, policyText("held", "deny"), database.Micros(now.AddDate(0, 0, -7)), database.Micros(now),
			attempts, database.Micros(now.Add(heard)))
		return err
	}})
	if err != nil {
		s.t.Fatalf("store a replay: %v", err)
	}
	return id
}

// TestReplayOfDecisionsThatWereMade: decisions of the real path under one profile
// are replayed under another. With the profile they were made under every answer
// is as recorded; with the other it is what enforcement would give.
func TestReplayOfDecisionsThatWereMade(t *testing.T) {
	t.Parallel()
	eachStaging(t, func(t *testing.T, w *staging) {
		before, err := w.plugin.ProfileTemplate(t.Context(), "architect")
		if err != nil {
			t.Fatal(err)
		}
		active := w.proposed(w.plugin, w.org, string(before.Policy))
		if _, err := w.owner.ConfirmProfile(t.Context(), w.org, active.ID, active.Hash); err != nil {
			t.Fatal(err)
		}
		recorded, drafted := map[string]int64{}, map[string]int64{}
		for _, c := range profileCalls {
			body := fmt.Sprintf(`{"source":%q,"session_id":"s","tool_name":%q,"tool_input":%s}`, c.source, c.tool,
				c.input)
			if c.source == "" {
				body = fmt.Sprintf(`{"source":"armorgemini","session_id":"s","tool_name":"mcp_x_y","tool_input":%s,"mcp_context":{"server_name":%q,"tool_name":%q}}`, c.input, c.server, c.tool)
			}
			status, answer := w.call("/iap/enforce", body, w.gemini()...)
			if status != http.StatusOK {
				t.Fatalf("enforce: %d %v", status, answer)
			}
			recorded[c.architect]++
			drafted[c.readOnly]++
		}
		same := w.replay(w.owner.Client, w.org, client.NewReplay{PolicyID: active.PolicyID, Days: 1})
		if len(same.Changes) > 0 || same.Counts.Unchanged != int64(len(profileCalls)) {
			t.Errorf("the profile in force would change %+v", same)
		}
		after, err := w.plugin.ProfileTemplate(t.Context(), "strict-read-only")
		if err != nil {
			t.Fatal(err)
		}
		proposal := w.proposed(w.plugin, w.org, string(after.Policy))
		report := w.replay(w.owner.Client, w.org, client.NewReplay{
			PolicyID: proposal.PolicyID, PolicyVersion: proposal.PolicyVersion,
		})
		counts := report.Counts
		for name, c := range map[string][2]map[string]int64{
			"recorded": {recorded, counts.Recorded}, "today": {recorded, counts.Today},
			"drafted": {drafted, counts.Drafted},
		} {
			if diff := cmp.Diff(c[0], c[1]); diff != "" {
				t.Errorf("%s: (-want +got)\n%s", name, diff)
			}
		}
		if n := int64(len(profileCalls)); counts.Decisions != n || counts.Judged != n || counts.Unknown != 0 ||
			counts.Looser != 0 || counts.Stricter == 0 {
			t.Errorf("counts: %+v", counts)
		}
		i := slices.IndexFunc(report.Changes, func(c client.ReplayChange) bool { return c.Tool == "google_web_search" })
		if i < 0 {
			t.Fatalf("no change of google_web_search in %+v", report.Changes)
		}
		if c := report.Changes[i]; c.Server != "gemini-cli" || c.Today != "allow" || c.Drafted != "deny" ||
			c.Count != 1 || len(c.Examples) != 1 || c.Rule == "" || c.PolicyID != proposal.PolicyID {
			t.Errorf("a change: %+v", c)
		}
	})
}

// TestWhatIsGoneIsUnknown: of what was redacted or erased nothing is made up.
func TestWhatIsGoneIsUnknown(t *testing.T) {
	t.Parallel()
	eachStaging(t, func(t *testing.T, w *staging) {
		w.activeDocument(`version: v1
name: all
default: allow
rules: []
`)
		for _, input := range []string{`{"password":"hunter2","n":1}`, `{"n":2}`, `{"n":3}`} {
			status, answer := w.call("/iap/enforce",
				`{"source":"armorgemini","session_id":"s","tool_name":"login","tool_input":`+input+`}`, w.gemini()...)
			if status != http.StatusOK || answer["allowed"] != true {
				t.Fatalf("enforce: %d %v", status, answer)
			}
		}
		draft := client.NewReplay{YAML: `version: v1
name: draft
default: allow
rules:
  - id: weak
    effect: deny
    tools: ["*.login"]
    when: args.?password.orValue("") == "hunter2"
`}
		first := w.replay(w.owner.Client, w.org, draft)
		if diff := cmp.Diff(map[string]int64{"allow": 2, "unknown": 1}, first.Counts.Drafted); diff != "" ||
			first.Counts.Redacted != 1 || first.Counts.Unknown != 1 {
			t.Errorf("redacted: %+v\n%s", first.Counts, diff)
		}
		last := w.lastDecision()
		if err := w.owner.ErasePayload(t.Context(), w.org, last, "wanted"); err != nil {
			t.Fatal(err)
		}
		second := w.replay(w.owner.Client, w.org, draft)
		if diff := cmp.Diff(map[string]int64{"allow": 1, "unknown": 2}, second.Counts.Drafted); diff != "" ||
			second.Counts.Erased != 1 {
			t.Errorf("erased: %+v\n%s", second.Counts, diff)
		}
	})
}

// activeDocument stores a document and puts it in force.
func (w *staging) activeDocument(text string) {
	w.t.Helper()
	made, err := w.owner.ImportPolicy(w.t.Context(), w.org, client.YAMLDocument, text)
	if err == nil {
		_, err = w.owner.ActivatePolicy(w.t.Context(), made.ID, 0)
	}
	if err != nil {
		w.t.Fatalf("activate a document: %v", err)
	}
}

// lastDecision is the index of the newest decision.
func (w *staging) lastDecision() (index int64) {
	w.t.Helper()
	err := w.Database.QueryRow(w.t.Context(),
		`SELECT MAX(position) FROM audit_entry WHERE log = $1 AND verdict IS NOT NULL`, w.org).Scan(&index)
	if err != nil {
		w.t.Fatal(err)
	}
	return index
}

// TestOneReplayAtATime: a second one is refused while the first is under way; a
// cancelled one has ended, and one that ended cannot be cancelled.
func TestOneReplayAtATime(t *testing.T) {
	t.Parallel()
	eachStaging(t, func(t *testing.T, w *staging) {
		ctx, draft := t.Context(), client.NewReplay{YAML: policyText("x", "deny")}
		held := w.heldReplay(w.org, 1, time.Hour)
		_, err := w.owner.StartReplay(ctx, w.org, draft)
		wantStatus(t, "start a second replay", err, http.StatusConflict)
		if job, err := w.plugin.Replay(ctx, "", held); err != nil || job.State != "running" || job.Done != 5 ||
			job.Total != 10 {
			t.Errorf("under way: %+v, %v", job, err)
		}
		if job, err := w.plugin.CancelReplay(ctx, "", held); err != nil || job.State != "cancelled" ||
			job.EndedAt == nil {
			t.Errorf("cancel: %+v, %v", job, err)
		}
		_, err = w.plugin.CancelReplay(ctx, "", held)
		wantStatus(t, "cancel what has ended", err, http.StatusConflict)
		w.replay(w.owner.Client, w.org, draft)
		elsewhere := w.organization(w.owner, "Elsewhere")
		_, err = w.owner.Replay(ctx, elsewhere, held)
		wantStatus(t, "read another organization's replay", err, http.StatusNotFound)
		jobs, err := w.plugin.Replays(ctx, "")
		if err != nil || len(jobs) != 2 || jobs[0].State != "done" || jobs[1].ID != held || jobs[0].Report != nil {
			t.Errorf("listed: %+v, %v", jobs, err)
		}
		for range 21 {
			w.replay(w.owner.Client, w.org, draft)
		}
		if jobs, err = w.plugin.Replays(ctx, ""); err != nil || len(jobs) != 20 {
			t.Errorf("kept are %d, %v", len(jobs), err)
		}
	})
}

// TestReplaysSurviveTheirServer: what a server that is gone has begun another one
// begins again, and what never comes to its end is said to be broken.
func TestReplaysSurviveTheirServer(t *testing.T) {
	t.Parallel()
	eachStaging(t, func(t *testing.T, w *staging) {
		left := w.heldReplay(w.org, 1, -time.Minute)
		if job := w.replayed(w.plugin, "", left); job.State != "done" || job.Report == nil {
			t.Errorf("left behind: %+v", job)
		}
		hopeless := w.heldReplay(w.org, 3, -time.Minute)
		if job := w.replayed(w.plugin, "", hopeless); job.State != "broken" ||
			!strings.Contains(job.Problem, "3 times") || job.EndedAt == nil {
			t.Errorf("begun too often: %+v", job)
		}
	})
}

// TestWhoMayReplay calls everything as every role and kind of key.
func TestWhoMayReplay(t *testing.T) {
	t.Parallel()
	eachStaging(t, func(t *testing.T, w *staging) {
		ctx := t.Context()
		callers := map[string]*client.Client{
			"owner": w.owner.Client, "agent": w.public.WithKey(w.agentKey(w.owner, w.org).APIKey), "plugin": w.plugin,
			"drafter": w.public.WithKey(w.draftKey(w.owner, w.org).APIKey), "unbound": w.unboundKey(w.owner),
		}
		for _, role := range []string{"admin", "approver", "member", "viewer"} {
			callers[role] = w.join(w.owner, w.org, role).Client
		}
		const (
			reads  = "owner admin approver member viewer drafter plugin"
			drafts = "owner admin approver member drafter plugin"
		)
		const people = "owner admin approver member" // a key would learn what others sent
		for _, action := range []struct {
			name, may string
			do        func(c *client.Client) error
		}{
			{"start", people, func(c *client.Client) error {
				job, err := c.StartReplay(ctx, w.org, client.NewReplay{YAML: policyText("x", "deny")})
				if err == nil {
					w.replayed(c, w.org, job.ID)
				}
				return err
			}},
			{"list", reads, func(c *client.Client) error { return second(c.Replays(ctx, w.org)) }},
			{"read", reads, func(c *client.Client) error {
				jobs, err := w.owner.Replays(ctx, w.org)
				if err != nil || len(jobs) == 0 {
					t.Fatalf("no replay to read: %v", err)
				}
				return second(c.Replay(ctx, w.org, jobs[0].ID))
			}},
			{"cancel", drafts, func(c *client.Client) error {
				id := w.heldReplay(w.org, 1, time.Hour)
				err := second(c.CancelReplay(ctx, w.org, id))
				if err != nil {
					if _, ended := w.owner.CancelReplay(ctx, w.org, id); ended != nil {
						t.Fatal(ended)
					}
				}
				return err
			}},
		} {
			for who, caller := range callers {
				err := action.do(caller)
				may := slices.Contains(strings.Fields(action.may), who)
				status := client.StatusOf(err)
				switch {
				case may && err != nil:
					t.Errorf("%s by %s: %v, want leave", action.name, who, err)
				case !may && status != http.StatusForbidden && status != http.StatusUnauthorized:
					t.Errorf("%s by %s: %v, want a refusal", action.name, who, err)
				}
			}
		}
	})
}

// TestReplaysThatAreRefused: what is wrong is told with its place, and nothing is
// begun.
func TestReplaysThatAreRefused(t *testing.T) {
	t.Parallel()
	eachStaging(t, func(t *testing.T, w *staging) {
		for _, c := range []struct {
			body, field string
			status      int
		}{
			{`{}`, "policyId", http.StatusBadRequest},
			{`{"yaml":"x","document":{}}`, "yaml", http.StatusBadRequest},
			{`{"yaml":"nonsense: 1"}`, "", http.StatusBadRequest},
			{
				`{"yaml":"version: v1\nname: x\ndefault: deny\nrules: []\n","policyVersion":2}`, "policyVersion",
				http.StatusBadRequest,
			},
			{`{"policyId":"` + database.NewID() + `"}`, "", http.StatusNotFound},
			{`{"yaml":"x","days":0}`, "days", http.StatusBadRequest},
			{`{"yaml":"x","days":366}`, "days", http.StatusBadRequest},
		} {
			answer := w.wire(t, "POST", "/policy-replays?organizationId="+w.org, c.body, "Authorization",
				"Bearer "+w.owner.Tokens.AccessToken)
			if answer.status != c.status || !strings.Contains(string(answer.body), c.field) {
				t.Errorf("%s: %d %s, want %d about %q", c.body, answer.status, answer.body, c.status, c.field)
			}
		}
		if jobs, err := w.plugin.Replays(t.Context(), ""); err != nil || len(jobs) != 0 {
			t.Errorf("begun: %+v, %v", jobs, err)
		}
	})
}

func (w *changes) startReplay() func(context.Context) (string, error) {
	org := w.organization(w.owner, "Replayed")
	return inLog("", func(ctx context.Context) error {
		return second(w.owner.StartReplay(ctx, org, client.NewReplay{YAML: policyText("x", "deny")}))
	})
}

func (w *changes) cancelReplay() func(context.Context) (string, error) {
	org := w.organization(w.owner, "Cancelled")
	id := w.heldReplay(org, 1, time.Hour)
	return inLog("", func(ctx context.Context) error { return second(w.owner.CancelReplay(ctx, org, id)) })
}
