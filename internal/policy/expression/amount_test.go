package expression_test

import (
	"strings"
	"testing"

	"writ/internal/toolcall"
)

func TestAmounts(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		args map[string]any
		want string // of amount(args) == 1000
	}{
		"amount":                       {map[string]any{"amount": int64(1000)}, holds},
		"value":                        {map[string]any{"value": 1000.0}, holds},
		"total":                        {map[string]any{"total": "1000"}, holds},
		"price":                        {map[string]any{"price": "1000.00"}, holds},
		"cost":                         {map[string]any{"cost": int64(1000)}, holds},
		"the largest of several":       {map[string]any{"amount": int64(1), "value": int64(1000), "cost": "-5"}, holds},
		"a small one does not hide it": {map[string]any{"amount": int64(1000), "total": int64(1)}, holds},
		"another number":               {map[string]any{"amount": int64(999)}, not},
		"negative":                     {map[string]any{"amount": "-1000"}, not},

		"none":                      {map[string]any{"sum": int64(1000)}, "none of"},
		"in capitals":               {map[string]any{"Amount": int64(1000)}, "none of"},
		"nothing at all":            {nil, "none of"},
		"a second one in capitals":  {map[string]any{"amount": int64(1000), "Amount": int64(999_999)}, "two spellings"},
		"a second one with a space": {map[string]any{"amount": int64(1000), "value ": int64(999_999)}, "two spellings"},
		"a second one, long s":      {map[string]any{"amount": int64(1000), "coſt": int64(999_999)}, "two spellings"},
		"null":                      {map[string]any{"amount": nil}, "amount is not a number"},
		"a truth value":             {map[string]any{"amount": true}, "amount is not a number"},
		"a list":                    {map[string]any{"amount": []any{int64(1000)}}, "amount is not a number"},
		"one good and one bad":      {map[string]any{"amount": int64(1000), "value": "much"}, "value is not a number"},
		"empty text":                {map[string]any{"amount": ""}, "amount is not a number"},
		"a sign alone":              {map[string]any{"amount": "-"}, "amount is not a number"},
		"a plus":                    {map[string]any{"amount": "+1000"}, "amount is not a number"},
		"a space":                   {map[string]any{"amount": " 1000"}, "amount is not a number"},
		"thousands":                 {map[string]any{"amount": "1,000"}, "amount is not a number"},
		"an exponent":               {map[string]any{"amount": "1e3"}, "amount is not a number"},
		"hexadecimal":               {map[string]any{"amount": "0x3e8"}, "amount is not a number"},
		"underscores":               {map[string]any{"amount": "1_000"}, "amount is not a number"},
		"infinity":                  {map[string]any{"amount": "Inf"}, "amount is not a number"},
		"not a number, by name":     {map[string]any{"amount": "NaN"}, "amount is not a number"},
		"a currency":                {map[string]any{"amount": "1000 EUR"}, "amount is not a number"},
		"two points":                {map[string]any{"amount": "1.000.00"}, "amount is not a number"},
		"no digits after":           {map[string]any{"amount": "1000."}, "amount is not a number"},
		"no digits before":          {map[string]any{"amount": ".5"}, "amount is not a number"},
		"digits of another script":  {map[string]any{"amount": "１０００"}, "amount is not a number"},
		"endless digits":            {map[string]any{"amount": strings.Repeat("1", 500)}, "amount is not a number"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wantResult(t, `amount(args) == 1000.0`, &toolcall.Call{Args: c.args}, c.want)
		})
	}
}
