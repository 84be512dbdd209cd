package billing_test

import (
	"strings"
	"testing"

	"writ/internal/billing"
	"writ/internal/billing/payment/paymenttest"
)

func TestPlans(t *testing.T) {
	t.Parallel()
	const only = `[{"id":"only","name":"Only","seats":null}]`
	for _, good := range []string{paymenttest.Plans, paymenttest.Generous, only} {
		if _, err := billing.ParsePlans([]byte(good)); err != nil {
			t.Errorf("%s: %v", good, err)
		}
	}
	const free = `{"id":"free","name":"Free"}`
	for bad, want := range map[string]string{
		``: "JSON", `{}`: "JSON", `[]`: "at least one", `[` + free + `] x`: "more follows",
		`[{"id":"free","name":"Free","sapns":1}]`:                                                "sapns",
		`[{"id":"","name":"Free"}]`:                                                              "id",
		`[{"id":"free","name":"Free","priceId":"p"}]`:                                            "costs nothing",
		`[` + free + `,{"id":"team","name":"Team"}]`:                                             "plan 2: the first",
		`[` + free + `,{"id":"free","name":"Two","priceId":"p"}]`:                                "taken",
		`[` + free + `,{"id":"custom","name":"Two","priceId":"p"}]`:                              "taken",
		`[` + free + `,{"id":"a","name":"A","priceId":"p"},{"id":"b","name":"B","priceId":"p"}]`: "same priceId",
		`[{"id":"free","name":"Free","seats":0}]`:                                                "seats",
		`[{"id":"free","name":"Free","spans":-1}]`:                                               "spans",
	} {
		if _, err := billing.ParsePlans([]byte(bad)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want it to say %q", bad, err, want)
		}
	}
}
