package canonical_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"writ/internal/canonical"
)

func TestNumbers(t *testing.T) {
	t.Parallel()
	digits := func(n int) string { return strings.Repeat("9", n) }
	tests := []struct{ name, give, want string }{
		{"integer", `1700000000`, `1700000000`},
		{"negative", `-17`, `-17`},
		{"zero", `0`, `0`},
		{"minus zero", `-0`, `0`},
		{"minus zero with a point", `-0.0`, `0`},
		{"zero with an exponent", `0e5`, `0`},
		{"zero with a huge exponent", `0.00e99999999999999999999`, `0`},
		{"integer with a point", `100.0`, `100`},
		{"integer with an exponent", `1e2`, `100`},
		{"integer with E+", `1.50E+02`, `150`},
		{"integer by a negative exponent", `-1200e-2`, `-12`},
		{"integer from a fraction", `0.0012e4`, `12`},
		{"1e16", `1e16`, `10000000000000000`},
		{"1e21 has no exponent", `1e21`, `1` + strings.Repeat("0", 21)},
		{"1e30 exactly", `1e30`, `1` + strings.Repeat("0", 30)},
		{"beyond 2^53", `9007199254740993`, `9007199254740993`},
		{"beyond 2^53 with a point", `9007199254740993.0`, `9007199254740993`},
		{"beyond 2^64", `-123456789012345678901234567890`, `-123456789012345678901234567890`},
		{"beyond float64", `1e400`, `1` + strings.Repeat("0", 400)},
		{"longest integer", digits(1000), digits(1000)},
		{"longest negative integer", "-" + digits(1000), "-" + digits(1000)},
		{"longest by exponent", `1e999`, `1` + strings.Repeat("0", 999)},
		{"fraction", `1700000000.25`, `1700000000.25`},
		{"trailing zeros", `1.500`, `1.5`},
		{"fraction by exponent", `15e-1`, `1.5`},
		{"negative fraction", `-0.5`, `-0.5`},
		{"smallest without exponent", `0.000001`, `0.000001`},
		{"same, with exponent", `1e-6`, `0.000001`},
		{"just below", `0.00000099`, `9.9e-7`},
		{"one-digit exponent", `0.0000001`, `1e-7`},
		{"negative one-digit exponent", `-1.5E-07`, `-1.5e-7`},
		{"two-digit exponent", `1e-10`, `1e-10`},
		{"three-digit exponent", `1e-100`, `1e-100`},
		{"three-digit exponent with a zero", `1.5e-205`, `1.5e-205`},
		{"smallest float64", `5e-324`, `5e-324`},
		{"nearer to zero", `1e-400`, `0`},
		{"nearer to zero, negative", `-1e-99999999999999999999`, `0`},
		{"shortest that reads back", `0.30000000000000004`, `0.30000000000000004`},
		{"more digits than float64", `0.1000000000000000055511151231257827`, `0.1`},
		{"fraction lost to rounding", `100.00000000000000000001`, `100`},
		{"large fraction", `12345678901234567890.5`, `12345678901234567000`},
		{"large fraction beyond 1e21", `1234567890123456789012.5`, `1234567890123456800000`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := canonical.Transform([]byte(tt.give))
			if err != nil {
				t.Fatalf("Transform: %v", err)
			}
			if diff := cmp.Diff(tt.want, string(got)); diff != "" {
				t.Fatalf("Transform (-want +got):\n%s", diff)
			}
			again, err := canonical.Transform(got)
			if err != nil || string(again) != tt.want {
				t.Errorf("a second time: %q, %v; want it unchanged", again, err)
			}
		})
	}
}

func TestNumbersRefused(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, give, want string }{
		{"integer too long", strings.Repeat("9", 1001), "more than 1000 digits"},
		{"negative integer too long", "-" + strings.Repeat("9", 1001), "more than 1000 digits"},
		{"too long by exponent", `1e1000`, "more than 1000 digits"},
		{"too long by point and exponent", `1.5e1000`, "more than 1000 digits"},
		{"exponent beyond int64", `1e99999999999999999999`, "more than 1000 digits"},
		{"decimal beyond float64", strings.Repeat("9", 400) + ".5", "range of float64"},
		{"leading zero", `01`, "data after the value"},
		{"plus", `+1`, "invalid character"},
		{"no digit after the point", `1.`, "unexpected end"},
		{"no digit before the point", `.5`, "invalid character"},
		{"hexadecimal", `0x10`, "data after the value"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := canonical.Transform([]byte(tt.give))
			if err == nil {
				t.Fatalf("Transform = %q, want an error", got)
			}
			if !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %q does not name %q", err, tt.want)
			}
		})
	}
}
