package decode

import (
	"math"
	"slices"
	"strings"
)

// Prices say what tokens cost, for spans without a cost.
type Prices struct {
	Date   string // when the vendors published them; empty if the file does not say
	models []ModelPrice
	cached map[string]bool // by vendor: whether input tokens include cached ones
	routes []string        // prefixes that resellers put in front of a model's name
}

// ModelPrice is what the tokens of a model cost.
type ModelPrice struct {
	Prefix string `json:"prefix"` // of the model's name
	Vendor string `json:"vendor"`
	Rates
	Above *LongPrompt `json:"above,omitempty"`
}

// Rates are prices in US dollars per million tokens.
type Rates struct {
	Input      float64 `json:"input"`
	Output     float64 `json:"output"`
	CacheRead  float64 `json:"cacheRead"`
	CacheWrite float64 `json:"cacheWrite"`
}

// LongPrompt is the price of all tokens of a request whose prompt has more than so many tokens, cached ones included.
type LongPrompt struct {
	Tokens int64 `json:"tokens"`
	Rates
}

// Charge is what the usage of a model costs, and why.
type Charge struct {
	Price ModelPrice // zero for an unknown model
	Rates Rates      // that apply
	Input int64      // tokens charged as input, without cached ones
	Nanos int64      // 10^-9 US dollars
}

// Models are the prices, ordered by vendor and prefix.
func (p *Prices) Models() []ModelPrice {
	models := slices.Clone(p.models)
	slices.SortFunc(models, func(a, b ModelPrice) int {
		return strings.Compare(a.Vendor+" "+a.Prefix, b.Vendor+" "+b.Prefix)
	})
	return models
}

// InputIncludesCache says whether a vendor counts cached tokens as input tokens: those read from a cache, and those
// written to one at a price of their own.
func (p *Prices) InputIncludesCache(vendor string) bool { return p.cached[vendor] }

// Cost is what one request to a model costs, in nanos; 0 for an unknown model.
func (p *Prices) Cost(model string, u Usage) int64 { return p.Charge(model, u).Nanos }

// CostUnlessKnown is the cost that a client stated with the usage, or the price table's if that is 0: many recorders
// send 0 for models whose price they do not know. Attributes keep what the client stated.
func (p *Prices) CostUnlessKnown(model string, u Usage) int64 {
	if u.CostNanos != 0 {
		return u.CostNanos
	}
	return p.Cost(model, u)
}

// CostOfMany is the cost of a total over many requests. The length of each prompt is unknown, so prices for long
// prompts do not apply.
func (p *Prices) CostOfMany(model string, total Usage) int64 {
	price, ok := p.find(model)
	if !ok {
		return 0
	}
	price.Above = nil
	return p.charge(price, total).Nanos
}

// Charge is what one request to a model costs, and why.
func (p *Prices) Charge(model string, u Usage) Charge {
	price, ok := p.find(model)
	if !ok {
		return Charge{}
	}
	return p.charge(price, u)
}

// charge counts cached tokens once: if the vendor's input includes them, they are subtracted from it; written ones
// only if they have a price.
func (p *Prices) charge(price ModelPrice, u Usage) Charge {
	c := Charge{Price: price, Rates: price.Rates, Input: u.Input}
	prompt := u.Input
	if p.cached[price.Vendor] {
		cached := u.CacheRead
		if price.CacheWrite > 0 {
			cached = Saturate(cached, u.CacheWrite)
		}
		c.Input = max(0, u.Input-cached)
	} else {
		prompt = Saturate(u.Input, Saturate(u.CacheRead, u.CacheWrite))
	}
	if price.Above != nil && prompt > price.Above.Tokens {
		c.Rates = price.Above.Rates
	}
	dollars := float64(c.Input)*c.Rates.Input + float64(u.Output)*c.Rates.Output +
		float64(u.CacheRead)*c.Rates.CacheRead + float64(u.CacheWrite)*c.Rates.CacheWrite
	c.Nanos = int64(math.Round(min(dollars*1e3, MaxCost*1e9))) // per million tokens, in nanos
	return c
}

// find returns the price with the longest prefix of the model's name, as it is or without the prefixes of resellers:
// us.anthropic.claude-…, openai/gpt-….
func (p *Prices) find(model string) (best ModelPrice, ok bool) {
	for {
		for _, m := range p.models {
			if strings.HasPrefix(model, m.Prefix) && len(m.Prefix) > len(best.Prefix) {
				best, ok = m, true
			}
		}
		shorter := p.withoutRoute(model)
		if ok || shorter == model {
			return best, ok
		}
		model = shorter
	}
}

func (p *Prices) withoutRoute(model string) string {
	for _, route := range p.routes {
		if rest, cut := strings.CutPrefix(model, route); cut {
			return rest
		}
	}
	return model
}
