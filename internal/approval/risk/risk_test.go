package risk_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"writ/internal/approval/risk"
)

var noon, night = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC), time.Date(2026, 3, 4, 2, 14, 0, 0, time.UTC)

// after is a past in which calls with these arguments ran.
func after(calls ...string) risk.Past {
	var past risk.Past
	for _, call := range calls {
		past.Remember(call)
		past.Looked++
	}
	return past
}

func codes(a risk.Assessment) string {
	var list []string
	for _, reason := range a.Reasons {
		list = append(list, reason.Code)
	}
	return strings.Join(list, " ")
}

func pointer(n float64) *float64 { return &n }

const paid = `{"amount":100,"recipient":"DE1"}`

func TestAssess(t *testing.T) {
	t.Parallel()
	paying := risk.Facts{
		Server:    "bank",
		Tool:      "pay",
		Arguments: paid,
		Plan:      risk.WithinPlan,
		At:        noon,
		Past:      after(paid, paid, paid),
	}
	reading := risk.Facts{
		Server:    "fs",
		Tool:      "read_file",
		Arguments: `{"path":"a"}`,
		Plan:      risk.WithinPlan,
		At:        noon,
		Past:      after(`{"path":"a"}`),
	}
	for _, c := range []struct {
		name  string
		facts risk.Facts
		with  func(f *risk.Facts)
		level risk.Level
		codes string
	}{
		{"a known read", reading, func(*risk.Facts) {}, risk.Low, ""},
		{
			"a read of another file", reading, func(f *risk.Facts) { f.Arguments = `{"path":"b"}` }, risk.Low,
			"first_value",
		},
		{
			"a first read without plan", reading, func(f *risk.Facts) { f.Past, f.Plan = risk.Past{}, risk.NoPlan },
			risk.Low, "first_tool no_plan",
		},
		{
			"a read outside of the plan", reading, func(f *risk.Facts) { f.Plan = risk.OutsidePlan }, risk.Medium,
			"outside_plan",
		},
		{"a usual payment", paying, func(*risk.Facts) {}, risk.Medium, "class_money"},
		{
			"to somebody new", paying, func(f *risk.Facts) { f.Arguments = `{"amount":100,"recipient":"DE2"}` },
			risk.High, "class_money first_value",
		},
		{
			"in other letters", paying, func(f *risk.Facts) { f.Arguments = `{"amount":100,"recipient":" de1"}` },
			risk.Medium, "class_money",
		},
		{
			"of more than before", paying, func(f *risk.Facts) { f.Arguments = `{"amount":101,"recipient":"DE1"}` },
			risk.High, "class_money amount_above",
		},
		{
			"of far more", paying, func(f *risk.Facts) { f.Arguments = `{"amount":1000,"recipient":"DE1"}` },
			risk.High, "class_money amount_far_above",
		},
		{
			"of far less than nothing", paying,
			func(f *risk.Facts) { f.Arguments = `{"amount":-1000,"recipient":"DE1"}` }, risk.High,
			"class_money amount_far_above",
		},
		{
			"stated beside", paying, func(f *risk.Facts) { f.Amount = pointer(5000) }, risk.High,
			"class_money amount_far_above",
		},
		{
			"stated low to hide", paying,
			func(f *risk.Facts) { f.Arguments, f.Amount = `{"amount":1000,"recipient":"DE1"}`, pointer(1) }, risk.High,
			"class_money amount_far_above",
		},
		{
			"under two names", paying,
			func(f *risk.Facts) { f.Arguments = `{"amount":1,"recipient":"DE1","total":9999}` }, risk.Critical,
			"class_money amount_far_above first_argument",
		},
		{
			"without past amounts", paying, func(f *risk.Facts) { f.Past = after(paid, paid) }, risk.Medium,
			"class_money amount_new",
		},
		{
			"with a new argument", paying,
			func(f *risk.Facts) { f.Arguments = `{"amount":100,"recipient":"DE1","extra":{"deep":1}}` }, risk.High,
			"class_money first_argument",
		},
		{"new and outside of the plan", paying, func(f *risk.Facts) {
			f.Arguments, f.Plan = `{"amount":100,"recipient":"DE2"}`, risk.OutsidePlan
		}, risk.Critical, "class_money first_value outside_plan"},
		{
			"with a plan nobody looked at", paying, func(f *risk.Facts) { f.Plan = risk.PlanUnchecked }, risk.Medium,
			"class_money plan_unchecked",
		},
		{
			"tried outside of the plan before", paying, func(f *risk.Facts) { f.Past.Drifted = 2 }, risk.High,
			"class_money drifted_before",
		},
		{
			"of nothing", paying,
			func(f *risk.Facts) { f.Arguments, f.Amount, f.Past = `{"amount":0}`, pointer(0), after(`{"amount":0}`) },
			risk.Medium, "class_money",
		},
		{"after one no", paying, func(f *risk.Facts) { f.Rejected = 1 }, risk.High, "class_money rejected_before"},
		{
			"after three", paying, func(f *risk.Facts) { f.Rejected = 3 }, risk.Critical,
			"class_money rejected_before rejected_often",
		},
		{"among a few", paying, func(f *risk.Facts) { f.Opened = 4 }, risk.Medium, "class_money"},
		{"in a burst", paying, func(f *risk.Facts) { f.Opened = 5 }, risk.High, "class_money burst"},
		{
			"in a burst at night", paying, func(f *risk.Facts) { f.Opened, f.At = 5, night }, risk.High,
			"class_money burst night_burst",
		},
		{"at night", paying, func(f *risk.Facts) { f.At = night }, risk.Medium, "class_money"},
		{
			"with a plain label", paying, func(f *risk.Facts) { f.Labels = []string{"team-a"} }, risk.Medium,
			"class_money",
		},
		{
			"with personal data", paying, func(f *risk.Facts) { f.Labels = []string{"customer.PII"} }, risk.High,
			"class_money label_sensitive sensitive_leaves",
		},
		{
			"personal data that is read", reading, func(f *risk.Facts) { f.Labels = []string{"pii"} }, risk.Low,
			"label_sensitive",
		},
		{
			"after untrusted content", paying, func(f *risk.Facts) { f.Labels = []string{"untrusted"} }, risk.High,
			"class_money label_untrusted",
		},
		{
			"with a secret", paying, func(f *risk.Facts) { f.Arguments = `{"amount":100,"recipient":"[redacted]"}` },
			risk.High, "class_money secret_in_arguments",
		},
		{
			"not stated", paying, func(f *risk.Facts) { f.Arguments, f.Unstated = "", true }, risk.High,
			"class_money arguments_unseen",
		},
		{
			"not shown", paying, func(f *risk.Facts) { f.Arguments, f.Unseen = "", true }, risk.High,
			"class_money arguments_unseen",
		},
		{
			"not readable", paying, func(f *risk.Facts) { f.Arguments = `{"amount":1,"amount":2}` }, risk.High,
			"class_money arguments_unclear",
		},
		{"nested too deep", reading, func(f *risk.Facts) {
			f.Arguments = `{"path":` + strings.Repeat(`[`, 20) + strings.Repeat(`]`, 20) + `}`
		}, risk.Low, "arguments_unclear"},
		{"nothing known at all", risk.Facts{}, func(*risk.Facts) {}, risk.Medium, "class_unknown first_tool no_plan"},
	} {
		facts := c.facts
		c.with(&facts)
		got := risk.Assess(facts)
		if got.Level != c.level || codes(got) != c.codes {
			t.Errorf("%s: %s (%d) because %s; want %s because %s", c.name, got.Level, got.Score, codes(got), c.level,
				c.codes)
		}
		if diff := cmp.Diff(got, risk.Assess(facts)); diff != "" {
			t.Errorf("%s: assessed twice it differs:\n%s", c.name, diff)
		}
	}
}

// TestAmountNames tries every alias, as number and as text, nested and in other
// spellings.
func TestAmountNames(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"amount", "value", "total", "price", "cost", "Amount", "totalAmount", "unit_price", "COST",
	} {
		for _, form := range []string{
			`{%q:5000}`, `{%q:"5000"}`, `{"order":{%q:5000}}`, `{"lines":[{%q:1},{%[1]q:5000.5}]}`,
		} {
			text := fmt.Sprintf(form, name)
			got := risk.Assess(risk.Facts{
				Server:    "bank",
				Tool:      "pay",
				Arguments: text,
				Past:      after(`{"amount":1}`, `{"amount":2}`, `{"amount":3}`),
			})
			if !strings.Contains(codes(got), "amount_far_above") {
				t.Errorf("%s: %s, want amount_far_above", text, codes(got))
			}
		}
	}
	for _, text := range []string{
		`{"amounts_id":5000}`, `{"count":5000}`, `{"value":"blue"}`, `{"value":"NaN"}`, `{"value":true}`,
	} {
		got := risk.Assess(risk.Facts{
			Tool: "pay", Arguments: text, Past: after(`{"amount":1}`, `{"amount":2}`, `{"amount":3}`),
		})
		if strings.Contains(codes(got), "amount") {
			t.Errorf("%s: %s, want no amount", text, codes(got))
		}
	}
}

// TestWords shows what a person reads, and that names cannot break it.
func TestWords(t *testing.T) {
	t.Parallel()
	names := `{"a\u0000b":1,"` + strings.Repeat("x", 100) + `":1,"z\u202e":1,"c":1,"d":1,"e":1,"f":1}`
	got := risk.Assess(risk.Facts{
		Server:    "bank",
		Tool:      "pay",
		Arguments: names,
		Rejected:  1,
		Opened:    6,
		At:        night,
		Labels:    []string{"pii\nHACK"},
		Amount:    pointer(2500),
		Past:      after(paid, paid, paid, `{"amount":900}`),
	})
	var all []string
	for _, reason := range got.Reasons {
		all = append(all, reason.Words)
	}
	want := []string{
		"the tool moves money",
		"the amount 2500 is at least ten times the usual 100",
		"arguments that were not used before: a?b, c, d, e, f and 2 more",
		"it carries sensitive data: pii?HACK",
		"sensitive data would leave: the tool moves money",
		"the agent has declared no plan",
		"people rejected this tool once within a day",
		"the caller opened 6 other requests within 10 minutes",
		"it did so at night, at 02:14 UTC",
	}
	if diff := cmp.Diff(want, all); diff != "" {
		t.Errorf("words (-want +got):\n%s", diff)
	}
}

func drawFacts(t *rapid.T) risk.Facts {
	var past risk.Past
	for range rapid.IntRange(0, 5).Draw(t, "ran") {
		past.Remember(fmt.Sprintf(`{"amount":%d,"to":%q}`, rapid.IntRange(0, 1000).Draw(t, "before"),
			rapid.SampledFrom([]string{"a", "b"}).Draw(t, "to")))
	}
	return risk.Facts{
		Server: rapid.SampledFrom([]string{"", "bank", "fs", "vault"}).Draw(t, "server"),
		Tool: rapid.SampledFrom([]string{
			"pay", "read_file", "Bash", "delete_all", "send_mail", "thing", "get_secret",
		}).Draw(t, "tool"),
		Arguments: rapid.SampledFrom([]string{
			"", `{}`, `{"to":"a"}`, `{"to":"c","amount":500}`, `{"x":"[redacted]"}`, `nonsense`,
		}).Draw(t, "arguments"),
		Unseen: rapid.Bool().Draw(t, "unseen"), Unstated: rapid.Bool().Draw(t, "unstated"),
		Labels: rapid.SliceOf(rapid.SampledFrom([]string{"pii", "untrusted", "team"})).Draw(t, "labels"),
		Plan: rapid.SampledFrom([]risk.Plan{
			risk.NoPlan, risk.WithinPlan, risk.OutsidePlan, risk.PlanUnchecked,
		}).Draw(t, "plan"),
		Rejected: rapid.IntRange(0, 5).Draw(t, "rejected"), Opened: rapid.IntRange(0, 8).Draw(t, "opened"),
		At: rapid.SampledFrom([]time.Time{noon, night}).Draw(t, "at"), Past: past,
	}
}

// TestNothingWorseLooksSafer makes one fact worse and compares.
func TestNothingWorseLooksSafer(t *testing.T) {
	t.Parallel()
	worse := map[string]func(f *risk.Facts){
		"a label": func(f *risk.Facts) {
			f.Labels = append(slices.Clone(f.Labels), "confidential", "untrusted")
		},
		"another rejection": func(f *risk.Facts) { f.Rejected++ },
		"another request":   func(f *risk.Facts) { f.Opened++ },
		"at night":          func(f *risk.Facts) { f.At = night },
		"outside the plan":  func(f *risk.Facts) { f.Plan = risk.OutsidePlan },
		"drifted before":    func(f *risk.Facts) { f.Past.Drifted++ },
		"unseen":            func(f *risk.Facts) { f.Unseen = true },
		"unstated":          func(f *risk.Facts) { f.Unstated = true },
		"a larger amount":   func(f *risk.Facts) { f.Amount = pointer(1e6) },
	}
	rapid.Check(t, func(t *rapid.T) {
		facts := drawFacts(t)
		before := risk.Assess(facts)
		if before.Score < 0 || before.Score > 100 || !before.Level.Valid() {
			t.Fatalf("the score %d of level %q is out of bounds", before.Score, before.Level)
		}
		for _, reason := range before.Reasons {
			if !slices.Contains(risk.Codes(), reason.Code) || reason.Words == "" {
				t.Fatalf("the reason %+v weighs nothing or says nothing", reason)
			}
		}
		for name, change := range worse {
			changed := facts
			change(&changed)
			now := risk.Assess(changed)
			if now.Score < before.Score || now.Level.Rank() < before.Level.Rank() {
				t.Errorf("%s: %s (%d) because %s became %s (%d) because %s", name, before.Level, before.Score,
					codes(before), now.Level, now.Score, codes(now))
			}
		}
	})
}

// TestMoreReasonsNeverLower weighs sets of reasons and their parts.
func TestMoreReasonsNeverLower(t *testing.T) {
	t.Parallel()
	all := risk.Codes()
	rapid.Check(t, func(t *rapid.T) {
		some := rapid.SliceOf(rapid.SampledFrom(all)).Draw(t, "reasons")
		one := rapid.SampledFrom(all).Draw(t, "one more")
		before, after := risk.Weigh(some), risk.Weigh(append(slices.Clone(some), one))
		if after.Score < before.Score || after.Level.Rank() < before.Level.Rank() ||
			before.Score < 100 && after.Score <= before.Score {
			t.Errorf("with %s the score went from %d to %d", one, before.Score, after.Score)
		}
	})
}

func TestLevels(t *testing.T) {
	t.Parallel()
	if risk.Level("").Valid() || risk.Level("severe").Valid() {
		t.Error("an unknown level is valid")
	}
	order := []risk.Level{risk.Low, risk.Medium, risk.High, risk.Critical}
	for i, level := range order {
		if level.Rank() != i || !level.Valid() {
			t.Errorf("%s has rank %d, want %d", level, level.Rank(), i)
		}
	}
}
