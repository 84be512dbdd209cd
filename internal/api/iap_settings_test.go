package api_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"writ/client"
	"writ/internal/api/route"
	"writ/internal/database/dbtest"
	"writ/internal/enforcement"
)

// enforcementRoleCases are the calls about an organization's settings.
func enforcementRoleCases() []roleCase {
	const path = "/organization/{orgId}/enforcement"
	return []roleCase{
		{"GET " + path, "read settings", anyRole, 0, func(ctx context.Context, _ *server, org string, p *person) error {
			_, err := p.EnforcementSettings(ctx, org)
			return err
		}},
		{"PUT " + path, "change settings", managers, http.StatusForbidden,
			func(ctx context.Context, _ *server, org string, p *person) error {
				_, err := p.SetEnforcementSettings(ctx, org, client.EnforcementSettings{MaxPlanTTLSeconds: 60})
				return err
			}},
	}
}

func TestEnforcementSettings(t *testing.T) {
	t.Parallel()
	eachWired(t, func(t *testing.T, w *wireWorld) {
		before, err := w.owner.EnforcementSettings(t.Context(), w.org)
		if err != nil || before != (client.EnforcementSettings{MaxPlanTTLSeconds: 86400}) {
			t.Fatalf("the defaults: %+v, %v", before, err)
		}
		const free = `{"source":"armorgemini","tool_name":"read_file","tool_input":{}}`
		if _, answer := w.call("/iap/enforce", free, w.gemini()...); answer["allowed"] != true {
			t.Fatalf("without a plan, which is not required: %v", answer)
		}
		wanted := client.EnforcementSettings{IntentRequired: true, MaxPlanTTLSeconds: 60}
		if got, err := w.owner.SetEnforcementSettings(t.Context(), w.org, wanted); err != nil || got != wanted {
			t.Fatalf("change: %+v, %v", got, err)
		}
		if _, answer := w.call("/iap/enforce", free, w.gemini()...); answer["allowed"] != false ||
			answer["decidedBy"] != "writ:intent" {
			t.Errorf("without a plan, which is required: %v", answer)
		}
		plan, err := w.owner.Plan(t.Context(), w.mint(crewPlan)["plan_id"].(string))
		if err != nil || plan.ExpiresAt.Sub(plan.IssuedAt) != time.Minute {
			t.Errorf("a plan asked for an hour lives %v, %v; want a minute", plan.ExpiresAt.Sub(plan.IssuedAt), err)
		}
		for _, seconds := range []int64{0, -1, int64(enforcement.LongestPlanTTL.Seconds()) + 1} {
			_, err := w.owner.SetEnforcementSettings(t.Context(), w.org, client.EnforcementSettings{
				MaxPlanTTLSeconds: seconds,
			})
			wantStatus(t, "a life of nothing, or too long", err, http.StatusBadRequest)
		}
	})
}

// TestPlanLifeIsDocumented: the document states the limits that the domain enforces.
func TestPlanLifeIsDocumented(t *testing.T) {
	t.Parallel()
	s := start(t, dbtest.SQLite(t))
	d := s.document(t)
	op, _ := d.operation(route.Route{Method: http.MethodPut, Path: "/organization/{orgId}/enforcement"})
	life := d.resolve(t, op.RequestBody.Content["application/json"].Schema).Properties["maxPlanTtlSeconds"]
	if life.Minimum != enforcement.MinPlanTTL.Seconds() || life.Maximum != enforcement.LongestPlanTTL.Seconds() {
		t.Errorf("a plan may live %.0f to %.0f seconds, says the document; want %v to %v", life.Minimum, life.Maximum,
			enforcement.MinPlanTTL, enforcement.LongestPlanTTL)
	}
}

// TestPlansAreListed narrows and pages a list.
func TestPlansAreListed(t *testing.T) {
	t.Parallel()
	eachWired(t, func(t *testing.T, w *wireWorld) {
		var ids []string
		for _, agent := range []string{"a", "b", "a"} {
			r := planRequest(crewPlan)
			r.AgentID, r.UserID = agent, "ada"
			ids = append(ids, w.declared(w.key, r).PlanID)
			w.advance(time.Second)
		}
		if _, err := w.public.WithKey(w.key).SetPlanStatus(t.Context(), ids[0], "completed"); err != nil {
			t.Fatal(err)
		}
		for name, c := range map[string]struct {
			filter client.PlanFilter
			want   []string
		}{
			"all, newest first": {client.PlanFilter{}, []string{ids[2], ids[1], ids[0]}},
			"of an agent":       {client.PlanFilter{AgentID: "a"}, []string{ids[2], ids[0]}},
			"of a user":         {client.PlanFilter{User: "ada"}, []string{ids[2], ids[1], ids[0]}},
			"of nobody":         {client.PlanFilter{User: "bob"}, nil},
			"ended":             {client.PlanFilter{Status: "completed"}, []string{ids[0]}},
			"active":            {client.PlanFilter{Status: "active"}, []string{ids[2], ids[1]}},
			"in the future":     {client.PlanFilter{Since: w.now().Add(time.Hour)}, nil},
			"the first page":    {client.PlanFilter{List: client.List{Limit: 2}}, []string{ids[2], ids[1]}},
		} {
			page, err := w.owner.Plans(t.Context(), w.org, c.filter)
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			var got []string
			for _, plan := range page.Items {
				got = append(got, plan.ID)
			}
			if len(got) != len(c.want) {
				t.Errorf("%s: %v, want %v", name, got, c.want)
				continue
			}
			for i := range got {
				if got[i] != c.want[i] {
					t.Errorf("%s: %v, want %v", name, got, c.want)
				}
			}
			if !page.HasMore {
				continue
			}
			rest, err := w.owner.Plans(t.Context(), w.org, client.PlanFilter{
				List: client.List{Limit: 2, Cursor: page.NextCursor},
			})
			if err != nil || len(rest.Items) != 1 || rest.Items[0].ID != ids[0] {
				t.Errorf("%s: the next page is %+v, %v", name, rest.Items, err)
			}
		}
		_, err := w.public.WithKey(w.key).Plans(t.Context(), w.org, client.PlanFilter{})
		wantStatus(t, "a key lists plans", err, http.StatusUnauthorized)
	})
}
