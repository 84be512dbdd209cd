// Package usage serves what organizations used, by day and month: to their members, and of the whole installation to
// the people who run it. As a table for spreadsheets too.
package usage

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"writ/internal/api/route"
	"writ/internal/fault"
	"writ/internal/organization"
	"writ/internal/principal"
	"writ/internal/telemetry"
)

// Handlers serve usage.
type Handlers struct {
	Telemetry     *telemetry.Service
	Organizations *organization.Service
	Behind        func() time.Duration // how far telemetry may be behind decisions; nil: not told
	Now           func() time.Time
}

// Mount serves the routes.
func (h *Handlers) Mount(r *route.Router) {
	r = r.Tagged("usage")
	of := route.Get("/dashboard/usage", "What the organization used, by day or month").
		For(route.Person).Needs(principal.ReadTelemetry)
	r.Serve(of, h.ofOrganization)
	about := document(r)
	about.Parameters = append(about.Parameters, textParameter(route.OrganizationParameter,
		"The organization. Absent: the only one of the calling person."))
	r.Document(of, about)
	all := route.Get("/admin/dashboard/usage", "What all organizations used together, by day or month").
		For(route.Person).ForOperators()
	r.Serve(all, h.ofAll)
	r.Document(all, document(r))
	route.Handle(r, route.Get("/admin/dashboard/usage/organizations",
		"What each organization used in a time, those with the most decisions first").
		For(route.Person).ForOperators(), h.byOrganization)
}

// UsageBody is what was used.
type UsageBody struct {
	By      string            `json:"by" enum:"day,month" doc:"How long a period is; UTC." example:"day"`
	Periods []UsagePeriodBody `json:"periods" nullable:"false" doc:"Every period of the time asked for, in order."`
}

// UsagePeriodBody is what was used in a day or month.
type UsagePeriodBody struct {
	Start            string     `json:"start" format:"date" doc:"Its first day." example:"2026-11-01"`
	Decisions        int64      `json:"decisions" doc:"All of them, counted from the log." example:"1204"`
	Allowed          int64      `json:"allowed" example:"1100"`
	Asked            int64      `json:"asked" example:"40"`
	Held             int64      `json:"held" example:"20"`
	Denied           int64      `json:"denied" example:"44"`
	Spans            int64      `json:"spans" doc:"That clients sent, on the day they were received." example:"5210"`
	InputTokens      int64      `json:"inputTokens" example:"820000"`
	OutputTokens     int64      `json:"outputTokens" example:"91000"`
	CacheReadTokens  int64      `json:"cacheReadTokens" example:"0"`
	CacheWriteTokens int64      `json:"cacheWriteTokens" example:"0"`
	CostUSD          NumberBody `json:"costUsd" doc:"Of generations and reported totals; exact." example:"3.25"`
	Seats            int64      `json:"seats" doc:"The most members at once." example:"7"`
	ActiveAgents     int64      `json:"activeAgents" doc:"Agents about which something was decided." example:"3"`
	StoredBytes      int64      `json:"storedBytes" doc:"Texts of traces and spans that were kept at its end, or are now." example:"10485760"`
	Complete         bool       `json:"complete" doc:"Whether it is over and all of it is counted."`
}

// NumberBody is an exact decimal number.
type NumberBody telemetry.Number

// MarshalJSONTo writes the number.
func (v NumberBody) MarshalJSONTo(enc *jsontext.Encoder) error {
	return enc.WriteValue(jsontext.Value(v))
}

// Schema documents what it is: the type alone says text.
func (NumberBody) Schema(huma.Registry) *huma.Schema { return &huma.Schema{Type: huma.TypeNumber} }

func textParameter(name, doc string) *huma.Param {
	return &huma.Param{Name: name, In: "query", Description: doc, Schema: &huma.Schema{Type: huma.TypeString}}
}

func document(r *route.Router) huma.Operation {
	choice := func(name, doc string, values ...any) *huma.Param {
		p := textParameter(name, doc)
		p.Schema.Enum = values
		return p
	}
	content := route.Content[UsageBody](r)
	content[csvType] = &huma.MediaType{Schema: &huma.Schema{Type: huma.TypeString}}
	return huma.Operation{
		Parameters: []*huma.Param{
			textParameter("from", "The first day, such as 2026-11-01; absent: 30 days ago, or 12 months."),
			textParameter("until", "The day after the last one; absent: tomorrow. At most 400 periods after from."),
			choice("by", "How long a period is; absent: day.", "day", "month"),
			choice("format", "json (default), or csv for spreadsheets.", "json", "csv"),
		},
		Responses: map[string]*huma.Response{"200": {Description: "What was used.", Content: content}},
	}
}

const usualDays, usualMonths = 30, 12

// queryOf reads the query of a request.
func (h *Handlers) queryOf(from, until, by string) (q telemetry.MeteredQuery, err error) {
	now := h.Now().UTC()
	switch by {
	case "", "day":
	case "month":
		q.Monthly = true
	default:
		return q, fault.Field("by", "must be day or month")
	}
	q.Until = time.Date(now.Year(), now.Month(), now.Day()+1, 0, 0, 0, 0, time.UTC)
	if until != "" {
		if q.Until, err = time.Parse(time.DateOnly, until); err != nil {
			return q, fault.Field("until", "must be a day such as 2026-11-30")
		}
	}
	q.From = q.Until.AddDate(0, 0, -usualDays)
	if q.Monthly {
		last := q.Until.AddDate(0, 0, -1)
		q.From = time.Date(last.Year(), last.Month()-usualMonths+1, 1, 0, 0, 0, 0, time.UTC)
	}
	if from != "" {
		if q.From, err = time.Parse(time.DateOnly, from); err != nil {
			return q, fault.Field("from", "must be a day such as 2026-11-01")
		}
	}
	if q.From.Year() < 2000 || q.Until.Year() > 2200 || !q.From.Before(q.Until) {
		return q, fault.Field("from", "must be a day before until, from 2000 on")
	}
	if begins, _ := q.Periods(); len(begins) > telemetry.MaxPeriods {
		return q, fault.Field("from", "must be at most %d periods before until", telemetry.MaxPeriods)
	}
	if h.Behind != nil {
		q.Behind = h.Behind()
	}
	return q, nil
}

func (h *Handlers) ofOrganization(w http.ResponseWriter, r *http.Request, caller principal.Principal) error {
	return h.answer(w, r, func(ctx context.Context, q telemetry.MeteredQuery) ([]telemetry.Metered, []int64, error) {
		used, err := h.Telemetry.MeteredOf(ctx, caller.OrgID, q)
		if err != nil {
			return nil, nil, err
		}
		begins, end := q.Periods()
		seats, err := h.Organizations.SeatsOf(ctx, caller.OrgID, begins, end)
		return used, seats, err
	})
}

func (h *Handlers) ofAll(w http.ResponseWriter, r *http.Request, _ principal.Principal) error {
	return h.answer(w, r, func(ctx context.Context, q telemetry.MeteredQuery) ([]telemetry.Metered, []int64, error) {
		used, err := h.Telemetry.MeteredByAll(ctx, q)
		if err != nil {
			return nil, nil, err
		}
		begins, end := q.Periods()
		seats, err := h.Organizations.AllSeats(ctx, begins, end)
		return used, seats, err
	})
}

type source func(ctx context.Context, q telemetry.MeteredQuery) ([]telemetry.Metered, []int64, error)

func (h *Handlers) answer(w http.ResponseWriter, r *http.Request, read source) error {
	query := r.URL.Query()
	format := query.Get("format")
	if format != "" && format != "json" && format != "csv" {
		return fault.Field("format", "must be json or csv")
	}
	q, err := h.queryOf(query.Get("from"), query.Get("until"), query.Get("by"))
	if err != nil {
		return err
	}
	used, seats, err := read(r.Context(), q)
	if err != nil {
		return err
	}
	body := UsageBody{By: "day", Periods: make([]UsagePeriodBody, len(used))}
	if q.Monthly {
		body.By = "month"
	}
	for i := range used {
		body.Periods[i] = periodBody(&used[i], seats[i])
	}
	if format == "csv" {
		w.Header().Set("Content-Disposition", `attachment; filename="usage.csv"`)
		route.WriteFile(w, csvType, table(body.Periods))
		return nil
	}
	w.Header().Set("Content-Type", route.JSONType)
	return json.MarshalWrite(w, body)
}

func periodBody(m *telemetry.Metered, seats int64) UsagePeriodBody {
	return UsagePeriodBody{
		Start:            m.At.Format(time.DateOnly),
		Decisions:        m.Decisions.Total(),
		Allowed:          m.Decisions.Allowed,
		Asked:            m.Decisions.Asked,
		Held:             m.Decisions.Held,
		Denied:           m.Decisions.Denied,
		Spans:            m.Spans,
		InputTokens:      m.Usage.Input,
		OutputTokens:     m.Usage.Output,
		CacheReadTokens:  m.Usage.CacheRead,
		CacheWriteTokens: m.Usage.CacheWrite,
		CostUSD:          NumberBody(telemetry.Dollars(m.Usage.CostNanos)),
		Seats:            seats,
		ActiveAgents:     m.Agents,
		StoredBytes:      m.StoredBytes,
		Complete:         m.Complete,
	}
}
