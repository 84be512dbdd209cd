package traces

import (
	"context"
	"unicode/utf8"

	"writ/internal/api/route"
	"writ/internal/fault"
	"writ/internal/principal"
	"writ/internal/telemetry"
)

type priceInput struct {
	route.OrgInput
	Model            string `query:"model" required:"true" minLength:"1" maxLength:"500" doc:"As generations name it."`
	InputTokens      int64  `query:"inputTokens" minimum:"0" doc:"Of one request, as the vendor counts them."`
	OutputTokens     int64  `query:"outputTokens" minimum:"0" doc:"Of one request."`
	CacheReadTokens  int64  `query:"cacheReadTokens" minimum:"0" doc:"Of one request: read from the cache."`
	CacheWriteTokens int64  `query:"cacheWriteTokens" minimum:"0" doc:"Of one request: written to the cache."`
}

// PriceBody is what a model costs, and why.
type PriceBody struct {
	Model              string     `json:"model" doc:"As asked for."`
	Known              bool       `json:"known" doc:"Whether there is a price; if not, generations without a cost of their own count as free."`
	PricedAs           string     `json:"pricedAs" doc:"The beginning of the model's name that the price table has."`
	Vendor             string     `json:"vendor" doc:"Who sells the model."`
	Date               string     `json:"date" doc:"When the vendors published the prices; empty: the price file does not say."`
	InputIncludesCache bool       `json:"inputIncludesCache" doc:"Whether the vendor counts cached tokens as input tokens; they are then subtracted."`
	Rates              RatesBody  `json:"rates" doc:"For a request of any other length."`
	Above              *AboveBody `json:"above" doc:"For a request with a long prompt. Null: that costs the same."`
	LongPrompt         bool       `json:"longPrompt" doc:"Whether the tokens that were asked about are a long prompt."`
	ChargedInputTokens int64      `json:"chargedInputTokens" doc:"Of the tokens asked about, those that cost as input."`
	CostUSD            float64    `json:"costUsd" doc:"What a request of the tokens asked about costs, in US dollars."`
}

// RatesBody is prices in US dollars per million tokens.
type RatesBody struct {
	Input      float64 `json:"input" doc:"Of input."`
	Output     float64 `json:"output" doc:"Of output."`
	CacheRead  float64 `json:"cacheRead" doc:"Of input that is read from the cache."`
	CacheWrite float64 `json:"cacheWrite" doc:"Of input that is written to the cache."`
}

// AboveBody is the price of requests whose prompt has more than so many tokens.
type AboveBody struct {
	Tokens int64     `json:"tokens" doc:"Of the prompt, cached ones included."`
	Rates  RatesBody `json:"rates" doc:"For such a request."`
}

func (h *Handlers) price(_ context.Context, _ principal.Principal, in *priceInput) (PriceBody, error) {
	if !utf8.ValidString(in.Model) { // the answer repeats it
		return PriceBody{}, fault.Field("model", "must be valid UTF-8")
	}
	prices := h.Telemetry.Prices()
	charge := prices.Charge(in.Model, telemetry.Usage{
		Input: in.InputTokens, Output: in.OutputTokens, CacheRead: in.CacheReadTokens, CacheWrite: in.CacheWriteTokens,
	})
	body := PriceBody{
		Model:              in.Model,
		Known:              charge.Price.Prefix != "",
		PricedAs:           charge.Price.Prefix,
		Vendor:             charge.Price.Vendor,
		Date:               prices.Date,
		InputIncludesCache: prices.InputIncludesCache(charge.Price.Vendor),
		Rates:              RatesBody(charge.Price.Rates),
		LongPrompt:         charge.Rates != charge.Price.Rates,
		ChargedInputTokens: charge.Input,
		CostUSD:            telemetry.Usage{CostNanos: charge.Nanos}.Dollars(),
	}
	if above := charge.Price.Above; above != nil {
		body.Above = &AboveBody{Tokens: above.Tokens, Rates: RatesBody(above.Rates)}
	}
	return body, nil
}
