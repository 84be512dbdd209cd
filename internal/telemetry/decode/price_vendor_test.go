package decode_test

import (
	"strings"
	"testing"

	"writ/internal/telemetry/decode"
)

// TestWhatVendorsDocument has, for each vendor, a usage from its own documentation
// or by the rule it states there, and what that costs at its list prices, computed
// by hand.
func TestWhatVendorsDocument(t *testing.T) {
	t.Parallel()
	type usage = decode.Usage
	covered := map[string]bool{}
	for name, c := range map[string]struct {
		vendor, model string
		usage         usage
		fresh         int64 // tokens that cost as input
		nanos         int64 // each token times the price of a million of them, in thousandths of a millionth
	}{
		// "Prompt caching": Pride and Prejudice is written to a cache, and then read
		// from it. input_tokens are those after the last breakpoint only.
		"anthropic: cache_creation_input_tokens 188086, input_tokens 21, output_tokens 393": {
			"anthropic", "claude-opus-4-20250514", usage{Input: 21, Output: 393, CacheWrite: 188_086}, 21,
			21*15_000 + 188_086*18_750 + 393*75_000,
		},
		"anthropic: cache_read_input_tokens 188086, input_tokens 21, output_tokens 393": {
			"anthropic", "claude-opus-4-20250514", usage{Input: 21, Output: 393, CacheRead: 188_086}, 21,
			21*15_000 + 188_086*1500 + 393*75_000,
		},
		// "Prompt caching": prompt_tokens include prompt_tokens_details.cached_tokens.
		"openai: prompt_tokens 2006, completion_tokens 300, cached_tokens 1920": {
			"openai", "gpt-4o-2024-08-06", usage{Input: 2006, Output: 300, CacheRead: 1920}, 86,
			86*2500 + 1920*1250 + 300*10_000,
		},
		// Since GPT-5.6 input_tokens_details.cache_write_tokens have a price of their
		// own, and are among the input tokens too.
		"openai: cache_write_tokens 3207 of 3300": {
			"openai", "gpt-6-sol", usage{Input: 3300, Output: 10, CacheWrite: 3207}, 93,
			93*2000 + 3207*2500 + 10*10_000,
		},
		// "Context caching": prompt_token_count is the whole prompt, the cached part
		// included; this one is long.
		"google: prompt_token_count 696219, cached_content_token_count 696190, candidates_token_count 214": {
			"google", "models/gemini-2.5-pro", usage{Input: 696_219, Output: 214, CacheRead: 696_190}, 29,
			29*2500 + 696_190*250 + 214*15_000,
		},
		// "Prompt caching, usage and pricing".
		"xai: prompt_tokens 125, completion_tokens 48, cached_tokens 98": {
			"xai", "grok-4", usage{Input: 125, Output: 48, CacheRead: 98}, 27,
			27*3000 + 98*750 + 48*15_000,
		},
		// "Context caching": prompt_tokens are prompt_cache_hit_tokens and
		// prompt_cache_miss_tokens together.
		"deepseek: hit 1000, miss 200": {
			"deepseek", "deepseek-v4-pro", usage{Input: 1200, Output: 100, CacheRead: 1000}, 200,
			200*660 + 1000*22 + 100*1980,
		},
		// "Prompt caching for faster model inference": inputTokens are those that were
		// neither read from a cache nor written to one.
		"amazon: inputTokens 50, cacheReadInputTokens 1000, cacheWriteInputTokens 400": {
			"amazon", "us.amazon.nova-pro-v1:0", usage{Input: 50, Output: 10, CacheRead: 1000, CacheWrite: 400}, 50,
			50*800 + 1000*200 + 400*800 + 10*3200,
		},
	} {
		covered[c.vendor] = true
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := decode.BuiltInPrices().Charge(c.model, c.usage)
			if got.Price.Vendor != c.vendor || got.Input != c.fresh || got.Nanos != c.nanos {
				t.Errorf("%s: %d tokens as input and %d nano-dollars; want %s, %d and %d",
					got.Price.Vendor, got.Input, got.Nanos, c.vendor, c.fresh, c.nanos)
			}
		})
	}
	for _, vendor := range decode.BuiltInPrices().Vendors() {
		if !covered[vendor] {
			t.Errorf("nothing shows how %s counts", vendor)
		}
	}
}

// TestModelsAreFoundByWhoPassesThemOn: the same model has many names.
func TestModelsAreFoundByWhoPassesThemOn(t *testing.T) {
	t.Parallel()
	prices := decode.BuiltInPrices()
	for model, want := range map[string]string{
		"claude-opus-4-1-20250805": "claude-opus-4", "claude-opus-4-5-20251101": "claude-opus-4-5",
		"claude-opus-4.5":                        "claude-opus-4.5",
		"us.anthropic.claude-opus-4-6-v1:0":      "claude-opus-4-6",
		"openrouter/anthropic/claude-sonnet-4.5": "claude-sonnet-4",
		"claude-opus-5-20260724":                 "claude-opus-5", "claude-opus-5-5": "claude-opus-5-5",
		"openai/gpt-5.4-mini": "gpt-5.4-mini", "gpt-5.1-codex": "gpt-5", "gpt-5.6-sol": "gpt-5.6",
		"models/gemini-3.1-pro-preview": "gemini-3.1-pro",
		"my-gpt-4o":                     "", "unknown/gpt-4o": "", "us.": "", "openai/": "",
	} {
		if got := prices.Charge(model, decode.Usage{Input: 1}).Price.Prefix; got != want {
			t.Errorf("%s is priced as %q, want %q", model, got, want)
		}
	}
}

// TestTotalsHaveNoLongPrompts: a total of many requests says nothing of how long
// their prompts were.
func TestTotalsHaveNoLongPrompts(t *testing.T) {
	t.Parallel()
	prices := decode.BuiltInPrices()
	long := decode.Usage{Input: 1_000_000}
	if one, many := prices.Cost("gemini-2.5-pro", long), prices.CostOfMany("gemini-2.5-pro", long); one != 2.5e9 ||
		many != 1.25e9 {
		t.Errorf("one request costs %d and many %d", one, many)
	}
	if got := prices.CostOfMany("house-model", long); got != 0 {
		t.Errorf("an unknown model costs %d", got)
	}
}

func TestPriceFileThatExtends(t *testing.T) {
	t.Parallel()
	prices, err := decode.ParsePrices([]byte(`{
		"date": "2030-01-01", "extends": "built-in", "vendors": {"house": {"inputIncludesCache": false}}, "routes": ["lab/"],
		"models": [
			{"prefix": "house-", "vendor": "house", "input": 1, "output": 1, "cacheRead": 0, "cacheWrite": 0},
			{"prefix": "gpt-4o", "vendor": "openai", "input": 7, "output": 7, "cacheRead": 7, "cacheWrite": 7}
		]}`))
	if err != nil {
		t.Fatal(err)
	}
	for model, want := range map[string]int64{
		"house-1": 1000, "lab/house-1": 1000, "gpt-4o": 7000, "gpt-4o-mini": 150, "claude-sonnet-4": 3000,
	} {
		if got := prices.Cost(model, decode.Usage{Input: 1}); got != want {
			t.Errorf("a token of %s costs %d, want %d", model, got, want)
		}
	}
	if prices.Date != "2030-01-01" {
		t.Errorf("the prices are of %s", prices.Date)
	}
	if got, before := len(prices.Models()), len(decode.BuiltInPrices().Models()); got != before+1 {
		t.Errorf("%d prices, want one more than %d", got, before)
	}
	if decode.BuiltInPrices().Cost("gpt-4o", decode.Usage{Input: 1}) != 2500 {
		t.Error("the built-in prices have changed")
	}
}

func TestRefusedPriceFilesOfTheNewForm(t *testing.T) {
	t.Parallel()
	const model = `{"prefix":"m","vendor":"v","input":1,"output":1,"cacheRead":1,"cacheWrite":1`
	for name, c := range map[string]struct{ text, want string }{
		"a date that is none":    {`{"date":"yesterday"}`, "date must be like"},
		"extends something else": {`{"extends":"theirs"}`, "extends must be"},
		"an empty route":         {`{"routes":[""]}`, "routes must not be empty"},
		"a model twice": {
			`{"vendors":{"v":{}},"models":[` + model + `},` + model + `}]}`, `model "m" appears twice`,
		},
		"long prompts without a length": {
			`{"vendors":{"v":{}},"models":[` + model + `,"above":{"input":1,"output":1}}]}`,
			"needs a number of tokens above",
		},
		"a negative price of long prompts": {
			`{"vendors":{"v":{}},"models":[` + model + `,"above":{"tokens":5,"input":-1,"output":1}}]}`,
			`model "m" has a price`,
		},
		"more than a file may have": {
			`{"note":"` + strings.Repeat("x", decode.MaxPriceFile) + `"}`, "must be at most",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := decode.ParsePrices([]byte(c.text)); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want an error with %q", err, c.want)
			}
		})
	}
}
