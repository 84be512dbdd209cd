package policies

import (
	"context"
	"time"

	"writ/internal/api/route"
	"writ/internal/fault"
	"writ/internal/intent"
	"writ/internal/principal"
)

type preflightStatsInput struct {
	route.OrganizationQuery
	PreflightFilterInput
}

// PreflightStatsBody counts preflights.
type PreflightStatsBody struct {
	Total       int64            `json:"total"`
	Accepted    int64            `json:"accepted"`
	Rejected    int64            `json:"rejected"`
	Escalated   int64            `json:"escalated"`
	Erased      int64            `json:"erased"`
	ByAgent     map[string]int64 `json:"byAgent" doc:"How many of each agent; an empty id: not stated."`
	Approximate bool             `json:"approximate" doc:"Always false: all are counted."`
}

func (h *Handlers) preflightStats(
	ctx context.Context, caller principal.Principal, in *preflightStatsInput,
) (PreflightStatsBody, error) {
	f, err := in.filter(h.Now())
	if err != nil {
		return PreflightStatsBody{}, err
	}
	counts, err := h.Plans.CountPreflights(ctx, caller.OrgID, f)
	body := PreflightStatsBody{ByAgent: map[string]int64{}}
	for _, c := range counts {
		body.Total += c.Count
		body.ByAgent[c.Agent] += c.Count
		switch c.Outcome {
		case intent.Accepted:
			body.Accepted += c.Count
		case intent.Rejected:
			body.Rejected += c.Count
		case intent.Escalated:
			body.Escalated += c.Count
		default:
			body.Erased += c.Count
		}
	}
	return body, err
}

type preflightSeriesInput struct {
	route.OrganizationQuery
	PreflightFilterInput
	Bucket string `query:"bucket" enum:"hour,day" default:"day" doc:"How long a bucket is; days are of UTC."`
}

// PreflightSeriesBody is preflights over time.
type PreflightSeriesBody struct {
	Bucket   string                `json:"bucket" enum:"hour,day"`
	Buckets  []PreflightBucketBody `json:"buckets" nullable:"false" doc:"Every bucket of the time asked for, in order."`
	Complete bool                  `json:"complete" doc:"Whether every bucket is over, and wholly in the time asked for."`
}

// PreflightBucketBody is an hour or a day.
type PreflightBucketBody struct {
	At       time.Time        `json:"at" doc:"When it begins."`
	Values   map[string]int64 `json:"values" doc:"accepted, rejected, escalated and erased."`
	Complete bool             `json:"complete" doc:"Whether it is over, and wholly in the time asked for."`
}

// maxPreflightBuckets is how many buckets a series has at most.
const maxPreflightBuckets = 1000

func (h *Handlers) preflightSeries(
	ctx context.Context, caller principal.Principal, in *preflightSeriesInput,
) (PreflightSeriesBody, error) {
	f, err := in.filter(h.Now())
	if err != nil {
		return PreflightSeriesBody{}, err
	}
	width := time.Hour
	if in.Bucket == "day" {
		width *= 24
	}
	if f.Until.Sub(f.From) > maxPreflightBuckets*width {
		return PreflightSeriesBody{}, fault.Field("from", "must be at most %d buckets before until",
			maxPreflightBuckets)
	}
	counts, err := h.Plans.CountPreflights(ctx, caller.OrgID, f)
	if err != nil {
		return PreflightSeriesBody{}, err
	}
	body := PreflightSeriesBody{Bucket: in.Bucket, Buckets: []PreflightBucketBody{}, Complete: true}
	first := f.From.UTC().Truncate(width)
	for at := first; at.Before(f.Until); at = at.Add(width) {
		end := at.Add(width)
		bucket := PreflightBucketBody{
			At: at, Complete: !at.Before(f.From) && !end.After(f.Until),
			Values: map[string]int64{
				intent.Accepted: 0, intent.Rejected: 0, intent.Escalated: 0, intent.PreflightErased: 0,
			},
		}
		body.Complete = body.Complete && bucket.Complete
		body.Buckets = append(body.Buckets, bucket)
	}
	for _, c := range counts {
		body.Buckets[c.Hour.Truncate(width).Sub(first)/width].Values[c.Outcome] += c.Count
	}
	return body, nil
}
