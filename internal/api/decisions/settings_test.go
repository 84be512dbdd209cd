package decisions_test

import (
	"net/http"
	"testing"
	"time"

	"writ/client"
	"writ/internal/enforcement"
	"writ/internal/testserver"
)

func TestEnforcementSettings(t *testing.T) {
	t.Parallel()
	testserver.EachPublished(t, func(t *testing.T, w *testserver.Published) {
		before, err := w.Owner.EnforcementSettings(t.Context(), w.Org)
		if err != nil || before != (client.EnforcementSettings{
			MaxPlanTTLSeconds: 86400, PlannedArguments: "hold", Widening: "hold",
		}) {
			t.Fatalf("the defaults: %+v, %v", before, err)
		}
		const free = `{"source":"armorgemini","tool_name":"read_file","tool_input":{}}`
		if _, answer := w.Call("/iap/enforce", free, w.Gemini()...); answer["allowed"] != true {
			t.Fatalf("without a plan, which is not required: %v", answer)
		}
		wanted := client.EnforcementSettings{
			IntentRequired: true, MaxPlanTTLSeconds: 60, PlannedArguments: "hold", Widening: "refuse",
		}
		if got, err := w.Owner.SetEnforcementSettings(t.Context(), w.Org, wanted); err != nil || got != wanted {
			t.Fatalf("change: %+v, %v", got, err)
		}
		if _, answer := w.Call("/iap/enforce", free, w.Gemini()...); answer["allowed"] != false ||
			answer["decidedBy"] != "writ:intent" {
			t.Errorf("without a plan, which is required: %v", answer)
		}
		plan, err := w.Owner.Plan(t.Context(), w.Mint(testserver.CrewPlan)["plan_id"].(string))
		if err != nil || plan.ExpiresAt.Sub(plan.IssuedAt) != time.Minute {
			t.Errorf("a plan asked for an hour lives %v, %v; want a minute", plan.ExpiresAt.Sub(plan.IssuedAt), err)
		}
		for _, seconds := range []int64{0, -1, int64(enforcement.LongestPlanTTL.Seconds()) + 1} {
			_, err := w.Owner.SetEnforcementSettings(t.Context(), w.Org, client.EnforcementSettings{
				MaxPlanTTLSeconds: seconds,
			})
			testserver.WantStatus(t, "a life of nothing, or too long", err, http.StatusBadRequest)
		}
	})
}

// TestPlansAreListed narrows and pages a list.
func TestPlansAreListed(t *testing.T) {
	t.Parallel()
	testserver.EachPublished(t, func(t *testing.T, w *testserver.Published) {
		var ids []string
		for _, agent := range []string{"a", "b", "a"} {
			r := testserver.PlanRequest(testserver.CrewPlan)
			r.AgentID, r.UserID = agent, "ada"
			ids = append(ids, w.Declared(w.Key, r).PlanID)
			w.Advance(time.Second)
		}
		if _, err := w.Public.WithKey(w.Key).SetPlanStatus(t.Context(), ids[0], "completed"); err != nil {
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
			"in the future":     {client.PlanFilter{Since: w.Now().Add(time.Hour)}, nil},
			"the first page":    {client.PlanFilter{List: client.List{Limit: 2}}, []string{ids[2], ids[1]}},
		} {
			page, err := w.Owner.Plans(t.Context(), w.Org, c.filter)
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
			rest, err := w.Owner.Plans(t.Context(), w.Org, client.PlanFilter{
				List: client.List{Limit: 2, Cursor: page.NextCursor},
			})
			if err != nil || len(rest.Items) != 1 || rest.Items[0].ID != ids[0] {
				t.Errorf("%s: the next page is %+v, %v", name, rest.Items, err)
			}
		}
		_, err := w.Public.WithKey(w.Key).Plans(t.Context(), w.Org, client.PlanFilter{})
		testserver.WantStatus(t, "a key lists plans", err, http.StatusUnauthorized)
	})
}
