package decode

import (
	_ "embed"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/go-json-experiment/json"
)

//go:embed prices.json
var builtInPrices []byte

// MaxPriceFile limits a price file, in bytes.
const MaxPriceFile = 1 << 20

type priceFile struct {
	Date    string `json:"date"`
	Note    string `json:"note"`
	Extends string `json:"extends"` // builtIn, or empty: the file contains all prices
	Vendors map[string]struct {
		InputIncludesCache bool `json:"inputIncludesCache"`
	} `json:"vendors"`
	Routes []string     `json:"routes"`
	Models []ModelPrice `json:"models"`
}

const builtIn = "built-in"

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
	if len(text) > MaxPriceFile {
		return nil, fmt.Errorf("price file: must be at most %d bytes", MaxPriceFile)
	}
	var file priceFile
	if err := json.Unmarshal(text, &file, json.RejectUnknownMembers(true)); err != nil {
		return nil, describeError(text, err)
	}
	if _, err := time.Parse(time.DateOnly, file.Date); err != nil && file.Date != "" {
		return nil, fmt.Errorf("price file: date must be like %s", time.DateOnly)
	}
	p := &Prices{cached: map[string]bool{}}
	switch file.Extends {
	case "":
	case builtIn:
		p = BuiltInPrices()
	default:
		return nil, fmt.Errorf("price file: extends must be %q, or left out", builtIn)
	}
	return p, p.add(&file)
}

// add applies a file on top of the present prices.
func (p *Prices) add(file *priceFile) error {
	p.Date = file.Date
	for vendor, convention := range file.Vendors {
		p.cached[vendor] = convention.InputIncludesCache
	}
	for _, route := range file.Routes {
		if route == "" {
			return fmt.Errorf("price file: routes must not be empty")
		}
		p.routes = append(p.routes, route)
	}
	own := map[string]bool{}
	for _, m := range file.Models {
		if err := p.check(m); err != nil {
			return err
		}
		if own[m.Prefix] {
			return fmt.Errorf("price file: model %q appears twice", m.Prefix)
		}
		own[m.Prefix] = true
	}
	p.models = slices.DeleteFunc(p.models, func(m ModelPrice) bool { return own[m.Prefix] })
	p.models = append(p.models, file.Models...)
	return nil
}

func (p *Prices) check(m ModelPrice) error {
	if m.Vendor == "" || m.Prefix == "" {
		return fmt.Errorf("price file: model %q needs a prefix and a vendor", m.Prefix)
	}
	if _, known := p.cached[m.Vendor]; !known {
		return fmt.Errorf("price file: model %q: vendor %q is not in \"vendors\"", m.Prefix, m.Vendor)
	}
	rates := []Rates{m.Rates}
	if m.Above != nil {
		rates = append(rates, m.Above.Rates)
		if m.Above.Tokens < 1 {
			return fmt.Errorf("price file: model %q needs a number of tokens above which other prices apply", m.Prefix)
		}
	}
	for _, r := range rates {
		for _, price := range []float64{r.Input, r.Output, r.CacheRead, r.CacheWrite} {
			if price < 0 || price > 1e6 || math.IsNaN(price) {
				return fmt.Errorf("price file: model %q has a price outside 0 to 1000000", m.Prefix)
			}
		}
	}
	return nil
}

// Vendors lists the vendors in order.
func (p *Prices) Vendors() []string { return slices.Sorted(maps.Keys(p.cached)) }
