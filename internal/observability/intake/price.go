package intake

import (
	_ "embed"
	"fmt"
	"math"
	"strings"

	"github.com/go-json-experiment/json"
)

//go:embed prices.json
var builtInPrices []byte

// Prices tell what tokens cost, for spans that do not say so themselves.
type Prices struct {
	Date   string
	models []modelPrice
	cached map[string]bool // by vendor: whether input tokens include those read from a cache
}

type modelPrice struct {
	Prefix     string  `json:"prefix"`
	Vendor     string  `json:"vendor"`
	Input      float64 `json:"input"` // dollars per million tokens
	Output     float64 `json:"output"`
	CacheRead  float64 `json:"cacheRead"`
	CacheWrite float64 `json:"cacheWrite"`
}

// BuiltInPrices are the prices this program was built with.
func BuiltInPrices() *Prices {
	prices, err := ParsePrices(builtInPrices)
	if err != nil {
		panic(err) // the embedded file is checked by a test
	}
	return prices
}

// ParsePrices reads a price file.
func ParsePrices(text []byte) (*Prices, error) {
	var file struct {
		Date    string `json:"date"`
		Note    string `json:"note"`
		Vendors map[string]struct {
			InputIncludesCache bool `json:"inputIncludesCache"`
		} `json:"vendors"`
		Models []modelPrice `json:"models"`
	}
	if err := json.Unmarshal(text, &file, json.RejectUnknownMembers(true)); err != nil {
		return nil, fmt.Errorf("read the price file: %w", err)
	}
	p := &Prices{Date: file.Date, models: file.Models, cached: map[string]bool{}}
	for vendor, convention := range file.Vendors {
		p.cached[vendor] = convention.InputIncludesCache
	}
	for _, m := range file.Models {
		if _, known := p.cached[m.Vendor]; !known || m.Prefix == "" {
			return nil, fmt.Errorf("price file: model %q needs a prefix and a vendor of the file", m.Prefix)
		}
		for _, price := range []float64{m.Input, m.Output, m.CacheRead, m.CacheWrite} {
			if price < 0 || price > 1e6 || math.IsNaN(price) {
				return nil, fmt.Errorf("price file: model %q has a price that is not from 0 to 1000000", m.Prefix)
			}
		}
	}
	return p, nil
}

// Cost is what the usage of a model costs, in nanos; 0 for an unknown model.
// Tokens read from a cache count once: vendors whose input includes them have
// them taken out of it.
func (p *Prices) Cost(model string, u Usage) int64 {
	price, ok := p.find(model)
	if !ok {
		return 0
	}
	input := u.Input
	if p.cached[price.Vendor] {
		input = max(0, u.Input-u.CacheRead)
	}
	dollars := float64(input)*price.Input + float64(u.Output)*price.Output +
		float64(u.CacheRead)*price.CacheRead + float64(u.CacheWrite)*price.CacheWrite
	return int64(math.Round(min(dollars*1e3, MaxCost*1e9))) // per million tokens, in nanos
}

func (p *Prices) find(model string) (best modelPrice, ok bool) {
	for _, m := range p.models {
		if strings.HasPrefix(model, m.Prefix) && len(m.Prefix) > len(best.Prefix) {
			best, ok = m, true
		}
	}
	return best, ok
}
