package decode

// AsVendorCounts converts usage whose input includes cached tokens, as OpenTelemetry counts for every vendor, to the
// way in which the model's vendor counts, so that the price table counts each token once. An input that is too small
// to include the cached tokens stays.
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
