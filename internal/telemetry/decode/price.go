package decode

import (
	"math"
	"slices"
	"strings"
)

// Prices tell what tokens cost, for spans that do not say so themselves.
type Prices struct {
	Date   string // by which the vendors published them; empty where the file does not say
	models []ModelPrice
	cached map[string]bool // by vendor: whether input tokens include those of a cache
	routes []string        // what may stand before a model's name
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

// LongPrompt is what all tokens of a request cost whose prompt has more than so
// many, those of a cache included.
type LongPrompt struct {
	Tokens int64 `json:"tokens"`
	Rates
}

// Charge is what the usage of a model costs, and why.
type Charge struct {
	Price ModelPrice // the zero value for a model that is not known
	Rates Rates      // those that count
	Input int64      // tokens that cost as input, without those of a cache
	Nanos int64      // 10^-9 US dollars
}

// Models are the prices there are, by vendor and prefix.
func (p *Prices) Models() []ModelPrice {
	models := slices.Clone(p.models)
	slices.SortFunc(models, func(a, b ModelPrice) int {
		return strings.Compare(a.Vendor+" "+a.Prefix, b.Vendor+" "+b.Prefix)
	})
	return models
}

// InputIncludesCache tells how a vendor counts: whether tokens that were read from
// a cache, or written to one at a price of their own, are among the input tokens.
func (p *Prices) InputIncludesCache(vendor string) bool { return p.cached[vendor] }

// Cost is what one request to a model costs, in nanos; 0 for an unknown model.
func (p *Prices) Cost(model string, u Usage) int64 { return p.Charge(model, u).Nanos }

// CostOfMany is what the requests of a total cost. How long each prompt was is not
// known, so that prices of long ones do not count.
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

// charge counts tokens of a cache once: where the vendor's input includes them they
// are taken out of it, those that were written only where that has a price.
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

// find is the price whose prefix is the longest that the model's name has, as it is
// or without the names of those who pass it on: us.anthropic.claude-…, openai/gpt-….
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
