package policies_test

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
	"writ/internal/testserver"
)

// replayed waits for a replay, and runs it itself where no server has begun.
func replayed(s *testserver.Server, by *client.Client, orgID, id string) client.Replay {
	s.T.Helper()
	ctx, cancel := context.WithTimeout(s.T.Context(), time.Minute)
	defer cancel()
	for {
		if err := s.Replays.Work(ctx); err != nil {
			s.T.Fatalf("run replays: %v", err)
		}
		job, err := by.Replay(ctx, orgID, id)
		if err != nil {
			s.T.Fatalf("look at the replay: %v", err)
		}
		if job.State != "waiting" && job.State != "running" {
			return job
		}
	}
}

// replay starts a replay and gives its report.
func replay(s *testserver.Server, by *client.Client, orgID string, r client.NewReplay) client.ReplayReport {
	s.T.Helper()
	job, err := by.StartReplay(s.T.Context(), orgID, r)
	if err != nil {
		s.T.Fatalf("start a replay: %v", err)
	}
	job = replayed(s, by, orgID, job.ID)
	if job.State != "done" || job.Report == nil || job.Done != job.Total || job.EndedAt == nil {
		s.T.Fatalf("the replay is %+v", job)
	}
	return *job.Report
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
		active := w.Proposed(w.plugin, w.Org, string(before.Policy))
		if _, err := w.Owner.ConfirmProfile(t.Context(), w.Org, active.ID, active.Hash); err != nil {
			t.Fatal(err)
		}
		recorded, drafted := map[string]int64{}, map[string]int64{}
		for _, c := range profileCalls {
			body := fmt.Sprintf(`{"source":%q,"session_id":"s","tool_name":%q,"tool_input":%s}`, c.source, c.tool,
				c.input)
			if c.source == "" {
				body = fmt.Sprintf(`{"source":"armorgemini","session_id":"s","tool_name":"mcp_%[2]s_%[3]s","tool_input":%[1]s,"mcp_context":{"server_name":%[2]q,"tool_name":%[3]q}}`, c.input, c.server, c.tool)
			}
			status, answer := w.Call("/iap/enforce", body, w.Gemini()...)
			if status != http.StatusOK {
				t.Fatalf("enforce: %d %v", status, answer)
			}
			recorded[c.architect]++
			drafted[c.readOnly]++
		}
		same := replay(w.Server, w.Owner.Client, w.Org, client.NewReplay{PolicyID: active.PolicyID, Days: 1})
		if len(same.Changes) > 0 || same.Counts.Unchanged != int64(len(profileCalls)) {
			t.Errorf("the profile in force would change %+v", same)
		}
		after, err := w.plugin.ProfileTemplate(t.Context(), "strict-read-only")
		if err != nil {
			t.Fatal(err)
		}
		proposal := w.Proposed(w.plugin, w.Org, string(after.Policy))
		report := replay(w.Server, w.Owner.Client, w.Org, client.NewReplay{
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
			status, answer := w.Call("/iap/enforce",
				`{"source":"armorgemini","session_id":"s","tool_name":"login","tool_input":`+input+`}`, w.Gemini()...)
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
		first := replay(w.Server, w.Owner.Client, w.Org, draft)
		if diff := cmp.Diff(map[string]int64{"allow": 2, "unknown": 1}, first.Counts.Drafted); diff != "" ||
			first.Counts.Redacted != 1 || first.Counts.Unknown != 1 {
			t.Errorf("redacted: %+v\n%s", first.Counts, diff)
		}
		last := w.lastDecision()
		if err := w.Owner.ErasePayload(t.Context(), w.Org, last, "wanted"); err != nil {
			t.Fatal(err)
		}
		second := replay(w.Server, w.Owner.Client, w.Org, draft)
		if diff := cmp.Diff(map[string]int64{"allow": 1, "unknown": 2}, second.Counts.Drafted); diff != "" ||
			second.Counts.Erased != 1 {
			t.Errorf("erased: %+v\n%s", second.Counts, diff)
		}
	})
}

// activeDocument stores a document and puts it in force.
func (w *staging) activeDocument(text string) {
	w.T.Helper()
	made, err := w.Owner.ImportPolicy(w.T.Context(), w.Org, client.YAMLDocument, text)
	if err == nil {
		_, err = w.Owner.ActivatePolicy(w.T.Context(), made.ID, 0)
	}
	if err != nil {
		w.T.Fatalf("activate a document: %v", err)
	}
}

// lastDecision is the index of the newest decision.
func (w *staging) lastDecision() (index int64) {
	w.T.Helper()
	err := w.Database.QueryRow(w.T.Context(),
		`SELECT MAX(position) FROM audit_entry WHERE log = $1 AND verdict IS NOT NULL`, w.Org).Scan(&index)
	if err != nil {
		w.T.Fatal(err)
	}
	return index
}

// TestOneReplayAtATime: a second one is refused while the first is under way; a
// cancelled one has ended, and one that ended cannot be cancelled.
func TestOneReplayAtATime(t *testing.T) {
	t.Parallel()
	eachStaging(t, func(t *testing.T, w *staging) {
		ctx, draft := t.Context(), client.NewReplay{YAML: testserver.PolicyText("x", "deny")}
		held := w.HeldReplay(w.Org, 1, time.Hour)
		_, err := w.Owner.StartReplay(ctx, w.Org, draft)
		testserver.WantStatus(t, "start a second replay", err, http.StatusConflict)
		if job, err := w.plugin.Replay(ctx, "", held); err != nil || job.State != "running" || job.Done != 5 ||
			job.Total != 10 {
			t.Errorf("under way: %+v, %v", job, err)
		}
		if job, err := w.plugin.CancelReplay(ctx, "", held); err != nil || job.State != "cancelled" ||
			job.EndedAt == nil {
			t.Errorf("cancel: %+v, %v", job, err)
		}
		_, err = w.plugin.CancelReplay(ctx, "", held)
		testserver.WantStatus(t, "cancel what has ended", err, http.StatusConflict)
		replay(w.Server, w.Owner.Client, w.Org, draft)
		elsewhere := w.Organization(w.Owner, "Elsewhere")
		_, err = w.Owner.Replay(ctx, elsewhere, held)
		testserver.WantStatus(t, "read another organization's replay", err, http.StatusNotFound)
		jobs, err := w.plugin.Replays(ctx, "")
		if err != nil || len(jobs) != 2 || jobs[0].State != "done" || jobs[1].ID != held || jobs[0].Report != nil {
			t.Errorf("listed: %+v, %v", jobs, err)
		}
		for range 21 {
			replay(w.Server, w.Owner.Client, w.Org, draft)
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
		left := w.HeldReplay(w.Org, 1, -time.Minute)
		if job := replayed(w.Server, w.plugin, "", left); job.State != "done" || job.Report == nil {
			t.Errorf("left behind: %+v", job)
		}
		hopeless := w.HeldReplay(w.Org, 3, -time.Minute)
		if job := replayed(w.Server, w.plugin, "", hopeless); job.State != "broken" ||
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
			"owner": w.Owner.Client, "agent": w.Public.WithKey(w.AgentKey(w.Owner, w.Org).APIKey), "plugin": w.plugin,
			"drafter": w.Public.WithKey(w.DraftKey(w.Owner, w.Org).APIKey), "unbound": w.UnboundKey(w.Owner),
		}
		for _, role := range []string{"admin", "approver", "member", "viewer"} {
			callers[role] = w.Join(w.Owner, w.Org, role).Client
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
				job, err := c.StartReplay(ctx, w.Org, client.NewReplay{YAML: testserver.PolicyText("x", "deny")})
				if err == nil {
					replayed(w.Server, c, w.Org, job.ID)
				}
				return err
			}},
			{"list", reads, func(c *client.Client) error { return second(c.Replays(ctx, w.Org)) }},
			{"read", reads, func(c *client.Client) error {
				jobs, err := w.Owner.Replays(ctx, w.Org)
				if err != nil || len(jobs) == 0 {
					t.Fatalf("no replay to read: %v", err)
				}
				return second(c.Replay(ctx, w.Org, jobs[0].ID))
			}},
			{"cancel", drafts, func(c *client.Client) error {
				id := w.HeldReplay(w.Org, 1, time.Hour)
				err := second(c.CancelReplay(ctx, w.Org, id))
				if err != nil {
					if _, ended := w.Owner.CancelReplay(ctx, w.Org, id); ended != nil {
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
			answer := w.Request(t, "POST", "/policy-replays?organizationId="+w.Org, c.body, "Authorization",
				"Bearer "+w.Owner.Tokens.AccessToken)
			if answer.Status != c.status || !strings.Contains(string(answer.Body), c.field) {
				t.Errorf("%s: %d %s, want %d about %q", c.body, answer.Status, answer.Body, c.status, c.field)
			}
		}
		if jobs, err := w.plugin.Replays(t.Context(), ""); err != nil || len(jobs) != 0 {
			t.Errorf("begun: %+v, %v", jobs, err)
		}
	})
}
