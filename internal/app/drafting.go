package app

import (
	"context"

	"writ/internal/config"
	"writ/internal/policy/drafting"
	"writ/internal/policy/drafting/model"
	"writ/internal/throttle"
)

// newModel makes the client of the configured language model; nil: there is none.
func newModel(c config.Config) (*model.Client, error) {
	if c.Draft.URL == "" {
		return nil, nil
	}
	return model.New(model.Options{
		URL:       c.Draft.URL,
		Name:      c.Draft.Model,
		Key:       c.Draft.Key,
		Timeout:   c.Draft.Timeout,
		MaxTokens: c.Draft.MaxTokens,
		Permits:   c.OutboundAllow,
	})
}

// newAuthor makes the author of policies. Without a model it only has templates.
func newAuthor(d config.Draft, asked *model.Client, limiter *throttle.Limiter) *drafting.Author {
	if asked == nil {
		return &drafting.Author{}
	}
	limit := throttle.Daily{Name: "draft-policy", PerDay: d.PerDay, Setting: "WRIT_DRAFT_PER_DAY"}
	return &drafting.Author{
		Model:   asked,
		Timeout: d.Timeout,
		Take:    func(ctx context.Context, orgID string) error { return limiter.TakeDaily(ctx, limit, orgID) },
	}
}
