package decode

// AsVendorCounts is usage whose input includes the tokens read from a cache and
// written to one, as OpenTelemetry has it for every vendor, in the way in which the
// model's own vendor counts: only then does the price table count each once. What
// cannot include them, because it is less, is left alone.
func (p *Prices) AsVendorCounts(model string, u Usage) Usage {
	price, ok := p.find(model)
	if !ok || p.cached[price.Vendor] {
		return u
	}
	if cached := u.CacheRead + u.CacheWrite; cached <= u.Input {
		u.Input -= cached
	}
	return u
}
