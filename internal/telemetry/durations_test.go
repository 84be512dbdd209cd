package telemetry

import (
	"math/rand/v2"
	"testing"

	"github.com/DataDog/sketches-go/ddsketch"
)

// stored is a sketch of so many durations as a rollup row holds it.
func stored(t testing.TB, random *rand.Rand, count int) []byte {
	t.Helper()
	sketch := newSketch()
	for range count {
		var ms float64
		switch random.IntN(4) {
		case 0: // a zero
		case 1:
			ms = float64(random.IntN(3_000_000)) / 1000 // a decision, in microseconds
		case 2:
			ms = float64(random.Int64N(1e12 + 1))
		default:
			ms = 100 // many in one bin
		}
		if err := sketch.AddWithCount(ms, float64(1+random.IntN(1000))); err != nil {
			t.Fatal(err)
		}
	}
	var encoded []byte
	sketch.Encode(&encoded, false)
	return encoded
}

// TestDurationSum: stored sketches add up to what the sketch's own way gives, with
// few bins that lie scattered and with many that follow each other.
func TestDurationSum(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(3, 4))
	for _, size := range []int{0, 1, 5, 100, 5000} {
		var sum durationSum
		want := newSketch()
		for range 20 {
			encoded := stored(t, random, size)
			if err := sum.add(encoded); err != nil {
				t.Fatal(err)
			}
			if len(encoded) > 0 {
				if err := want.DecodeAndMergeWith(encoded); err != nil {
					t.Fatal(err)
				}
			}
		}
		wantSum(t, &sum, want)
	}
}

// wantSum compares every bin, and the quantiles.
func wantSum(t *testing.T, sum *durationSum, want *ddsketch.DDSketch) {
	t.Helper()
	got, err := sum.sketch()
	if err != nil {
		t.Fatal(err)
	}
	if a, b := sketchText(got), sketchText(want); a != b {
		t.Errorf("the sum is\n%s, want\n%s", a, b)
	}
	p50, p95, err := sum.quantiles()
	if err != nil {
		t.Fatal(err)
	}
	if want.IsEmpty() {
		if p50 != 0 || p95 != 0 {
			t.Errorf("quantiles of nothing are %v and %v", p50, p95)
		}
		return
	}
	if q, err := want.GetValuesAtQuantiles([]float64{0.5, 0.95}); err != nil || p50 != q[0] || p95 != q[1] {
		t.Errorf("quantiles %v and %v, want %v (%v)", p50, p95, q, err)
	}
}

// TestDurationSumOfExtremes: the shortest and the longest duration have their bins.
func TestDurationSumOfExtremes(t *testing.T) {
	t.Parallel()
	var sum durationSum
	want := newSketch()
	for _, ms := range []float64{0, 0.001, 1e12} {
		sketch := observe(nil, ms)
		var encoded []byte
		sketch.Encode(&encoded, false)
		if err := sum.add(encoded); err != nil {
			t.Fatalf("%v ms: %v", ms, err)
		}
		observe(want, ms)
	}
	wantSum(t, &sum, want)
}

// FuzzDurationSum: whatever a row holds is added as the sketch's own way adds it,
// or refused.
func FuzzDurationSum(f *testing.F) {
	random := rand.New(rand.NewPCG(5, 6))
	for _, size := range []int{0, 1, 5, 500} {
		f.Add(stored(f, random, size))
	}
	f.Add([]byte{0x0d, 0xff, 0xff, 0x03, 0x00, 0x02})
	f.Fuzz(func(t *testing.T, encoded []byte) {
		var sum durationSum
		if sum.add(encoded) != nil {
			return
		}
		want := newSketch()
		if len(encoded) > 0 && want.DecodeAndMergeWith(encoded) != nil {
			t.Fatal("the sketch's own way refuses it")
		}
		got, err := sum.sketch()
		if err != nil {
			return // counts that no row has
		}
		if a, b := sketchText(got), sketchText(want); a != b {
			t.Errorf("the sum is\n%s, want\n%s", a, b)
		}
	})
}
