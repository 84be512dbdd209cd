package app

import (
	"context"

	"writ/internal/config"
	"writ/internal/outbound"
	"writ/internal/policy/drafting"
	"writ/internal/policy/drafting/model"
	"writ/internal/throttle"
)

// openDrafting builds what drafts policies from words: with the model that the
// operator has set up, or with templates alone.
func (a *Areas) openDrafting(d config.Draft, permits []outbound.Permit) error {
	a.Drafts = &drafting.Author{}
	if d.URL == "" {
		return nil
	}
	asked, err := model.New(model.Options{
		URL:       d.URL,
		Name:      d.Model,
		Key:       d.Key,
		Timeout:   d.Timeout,
		MaxTokens: d.MaxTokens,
		Permits:   permits,
	})
	if err != nil {
		return err
	}
	a.model = asked
	limit := throttle.Daily{Name: "draft-policy", PerDay: d.PerDay, Setting: "WRIT_DRAFT_PER_DAY"}
	a.Drafts = &drafting.Author{
		Model: asked, Timeout: d.Timeout,
		Take: func(ctx context.Context, orgID string) error { return a.Limiter.TakeDaily(ctx, limit, orgID) },
	}
	return nil
}
