package traces_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"writ/internal/testserver"
)

// TestWhyAPrice is what a person reads beside a model's cost.
func TestWhyAPrice(t *testing.T) {
	t.Parallel()
	rules(t, func(s *testserver.Server, rule func(string, func(*testing.T, *observed))) {
		rule("A request costs what a generation with its tokens counts with", func(t *testing.T, o *observed) {
			const model = "claude-sonnet-4-5"
			o.store(batch(o.trace(nil), o.generation(model, 1000, 500, m{"cacheReadTokens": 2000})))
			counted := o.summary(7).TotalCostUSD
			var price struct {
				Known    bool
				Vendor   string
				PricedAs string
				Date     string
				CostUSD  float64
				Rates    struct{ Input, Output, CacheRead float64 }
			}
			answer := o.get("/prices?model=" + model + "&inputTokens=1000&outputTokens=500&cacheReadTokens=2000")
			if err := json.Unmarshal(answer.Body, &price); err != nil || answer.Status != http.StatusOK {
				t.Fatalf("%d %v: %s", answer.Status, err, answer.Body)
			}
			if !price.Known || price.CostUSD != counted || counted == 0 || price.Rates.Input <= 0 ||
				price.Date == "" || price.Vendor == "" || !strings.HasPrefix(model, price.PricedAs) {
				t.Errorf("%s: the summary counts %v", answer.Body, counted)
			}
		})
		rule("A model without a price is known to have none", func(t *testing.T, o *observed) {
			answer := o.get("/prices?model=house-x&inputTokens=5")
			if answer.Status != http.StatusOK || !strings.Contains(string(answer.Body), `"known":false`) ||
				!strings.Contains(string(answer.Body), `"costUsd":0`) {
				t.Errorf("%d %s", answer.Status, answer.Body)
			}
		})
		rule("The model is required, and tokens are not negative", func(t *testing.T, o *observed) {
			o.refuse("/prices", "model")
			o.refuse("/prices?model=x&inputTokens=-1", "inputTokens")
			o.refuse("/prices?model=x&outputTokens=many", "outputTokens")
		})
	})
}
