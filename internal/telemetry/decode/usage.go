package decode

// Usage is tokens and what they cost.
type Usage struct {
	Input      int64
	Output     int64
	CacheRead  int64
	CacheWrite int64
	CostNanos  int64 // 10^-9 US dollars
}

// Add is the sum of u and v. Sums stay in range whatever clients send.
func (u Usage) Add(v Usage) Usage {
	return Usage{
		Input:      Saturate(u.Input, v.Input),
		Output:     Saturate(u.Output, v.Output),
		CacheRead:  Saturate(u.CacheRead, v.CacheRead),
		CacheWrite: Saturate(u.CacheWrite, v.CacheWrite),
		CostNanos:  Saturate(u.CostNanos, v.CostNanos),
	}
}

// Negate is the negative of u.
func (u Usage) Negate() Usage {
	return Usage{
		Input:      -u.Input,
		Output:     -u.Output,
		CacheRead:  -u.CacheRead,
		CacheWrite: -u.CacheWrite,
		CostNanos:  -u.CostNanos,
	}
}

// MaxSum is the largest sum that is stored: nine billion dollars in nanos. A sum stays at this limit, because an
// overflow would fail the whole commit.
const MaxSum = int64(9e18)

// Saturate is a+b, or the nearest sum within the limit.
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

// Tokens is the total number of tokens.
func (u Usage) Tokens() int64 {
	return Saturate(Saturate(u.Input, u.Output), Saturate(u.CacheRead, u.CacheWrite))
}
