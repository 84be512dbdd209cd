package intent_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"writ/internal/database"
	"writ/internal/intent"
)

// selfMade is a plan that a plugin makes by itself: another one must permit its call.
const selfMade = `{"goal":"g","steps":[{"action":"Bash","mcp":"sh","metadata":{"inputs":{"command":"make"}}}],
	"metadata":{"source":"claude-code"}}`

// TestEndedAcceptedPlansAreTold: the log names the plans that end with the one that they were accepted under.
// Those that had expired are not touched.
func TestEndedAcceptedPlansAreTold(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		for name, end := range map[string]func(holder string) error{
			"revoked": func(holder string) error {
				_, err := e.plans.Revoke(t.Context(), e.agent, intent.RevokeRequest{ID: holder})
				return err
			},
			"re-anchored": func(holder string) error {
				_, err := e.plans.Reanchor(t.Context(), e.agent, intent.ReanchorRequest{
					PlanID: holder, Plan: []byte(readPlan), Widening: intent.HoldWidening,
				})
				return err
			},
		} {
			minute := 60.0
			brief := request(selfMade)
			brief.ExpiresIn = &minute
			holder, expired := e.mint(e.agent, request(twoSteps)), e.mint(e.agent, brief)
			e.Pass(2 * time.Minute)
			own := e.mint(e.agent, request(selfMade))
			if err := end(holder.PlanID); err != nil {
				t.Fatal(name, err)
			}
			if !strings.Contains(e.everything(), `"endedPlanCount":1,"endedPlans":["`+own.PlanID+`"]`) {
				t.Errorf("%s: the log does not say which plans have ended", name)
			}
			if n := e.Number(`SELECT COUNT(*) FROM plan WHERE ended_at IS NOT NULL AND id = '` + expired.PlanID + `'`); n != 0 {
				t.Errorf("%s: a plan that had expired was ended", name)
			}
		}
	})
}

// TestAcceptedPlansOfARevokedOneEndLate: an earlier build left them in force. Revoking again ends them, and servers
// that know them hear of it.
func TestAcceptedPlansOfARevokedOneEndLate(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		holder := e.mint(e.agent, request(twoSteps))
		own := e.mint(e.agent, request(selfMade))
		revoke := func() {
			if _, err := e.plans.Revoke(t.Context(), e.agent, intent.RevokeRequest{ID: holder.PlanID}); err != nil {
				t.Fatal(err)
			}
		}
		revoke()
		e.Write(e.acme, func(ctx context.Context, tx *database.Tx) error {
			_, err := tx.Exec(ctx, `UPDATE plan SET status = 'active', ended_at = NULL WHERE id = $1`, own.PlanID)
			return err
		})
		before := e.generation(e.acme)
		revoke()
		if after := e.generation(e.acme); after == before {
			t.Error("servers that know the plan hear nothing")
		}
		if n := e.Number(`SELECT COUNT(*) FROM plan WHERE status = 'active' AND id = '` + own.PlanID + `'`); n != 0 {
			t.Error("the plan is still active")
		}
	})
}

// TestErasedTextsEndWithTheirPlans: what is erased while its plan is live goes once the plan has ended,
// however it ended.
func TestErasedTextsEndWithTheirPlans(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		for name, end := range map[string]func(holder, own string) error{
			"its holder is revoked": func(holder, own string) error {
				_, err := e.plans.Revoke(t.Context(), e.agent, intent.RevokeRequest{ID: holder})
				return err
			},
			"it is revoked": func(holder, own string) error {
				_, err := e.plans.Revoke(t.Context(), e.agent, intent.RevokeRequest{ID: own})
				return err
			},
			"its holder is re-anchored": func(holder, own string) error {
				_, err := e.plans.Reanchor(t.Context(), e.agent, intent.ReanchorRequest{
					PlanID: holder, Plan: []byte(readPlan), Widening: intent.HoldWidening,
				})
				return err
			},
			"it expires": func(string, string) error {
				e.Pass(2 * time.Hour)
				return nil
			},
		} {
			holder, own := e.mint(e.agent, request(twoSteps)), e.mint(e.agent, request(selfMade))
			e.erase(own.PlanID)
			left := func() int64 {
				if err := e.plans.EraseEnded(t.Context()); err != nil {
					t.Fatal(err)
				}
				return e.Number(`SELECT COUNT(*) FROM plan_anchor WHERE length(sealed) > 0 AND plan_id = '` + own.PlanID + `'`)
			}
			if left() == 0 {
				t.Errorf("%s: a live plan has lost its text", name)
			}
			if err := end(holder.PlanID, own.PlanID); err != nil {
				t.Fatal(name, err)
			}
			if left() != 0 {
				t.Errorf("%s: the erased text is still there", name)
			}
			if n := e.Number(`SELECT COUNT(*) FROM plan_anchor WHERE length(sealed) > 0 AND plan_id = '` + holder.PlanID + `'`); n == 0 {
				t.Errorf("%s: a text went that nobody erased", name)
			}
		}
	})
}
