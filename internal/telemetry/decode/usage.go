package decode

// Usage is tokens and what they cost.
type Usage struct {
	Input      int64
	Output     int64
	CacheRead  int64
	CacheWrite int64
	CostNanos  int64 // 10^-9 US dollars
}

// Add is u and v together. Sums stay in range whatever clients send.
func (u Usage) Add(v Usage) Usage {
	return Usage{
		Input:      Saturate(u.Input, v.Input),
		Output:     Saturate(u.Output, v.Output),
		CacheRead:  Saturate(u.CacheRead, v.CacheRead),
		CacheWrite: Saturate(u.CacheWrite, v.CacheWrite),
		CostNanos:  Saturate(u.CostNanos, v.CostNanos),
	}
}

// Negate is what takes u away when it is added.
func (u Usage) Negate() Usage {
	return Usage{
		Input:      -u.Input,
		Output:     -u.Output,
		CacheRead:  -u.CacheRead,
		CacheWrite: -u.CacheWrite,
		CostNanos:  -u.CostNanos,
	}
}

// Most is the largest sum kept: nine thousand million dollars in nanos. A row
// that reached it stays there, where an overflow would fail the whole commit.
const MaxSum = int64(9e18)

// Saturate is a+b, or the nearest sum that is kept.
func Saturate(a, b int64) int64 {
	switch {
	case b > 0 && a > MaxSum-b:
		return MaxSum
	case b < 0 && a < -MaxSum-b:
		return -MaxSum
	}
	return a + b
}

// Dollars is the cost in US dollars.
func (u Usage) Dollars() float64 { return float64(u.CostNanos) / 1e9 }

// Tokens is all of them together.
func (u Usage) Tokens() int64 {
	return Saturate(Saturate(u.Input, u.Output), Saturate(u.CacheRead, u.CacheWrite))
}
