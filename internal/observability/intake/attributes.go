package intake

import (
	"math"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Facts are what queries need of a span's attributes.
type Facts struct {
	Tool, Model string
	Usage       Usage
	PolicyID    string
	PolicyName  string
	Decision    string
	RuleID      string
}

// wireFacts are the members of a span's attributes that matter, unread.
type wireFacts struct {
	Tool       jsontext.Value `json:"toolName"`
	Model      jsontext.Value `json:"model"`
	Input      jsontext.Value `json:"inputTokens"`
	Output     jsontext.Value `json:"outputTokens"`
	CacheRead  jsontext.Value `json:"cacheReadTokens"`
	CacheWrite jsontext.Value `json:"cacheWriteTokens"`
	Cost       jsontext.Value `json:"costUsd"`
	PolicyID   jsontext.Value `json:"policyId"`
	PolicyName jsontext.Value `json:"policyName"`
	Decision   jsontext.Value `json:"decision"`
	RuleID     jsontext.Value `json:"matchedRuleId"`
}

// pickMembers reads the members that a struct names. Those of attributes that were
// checked with their batch: an object, if anything, without a name twice.
func pickMembers(attributes jsontext.Value, into any) {
	if attributes.Kind() == '{' {
		_ = json.Unmarshal(attributes, into, jsontext.AllowDuplicateNames(true))
	}
}

// facts reads a span's attributes. Those of a generation are checked; in other
// kinds attributes are free-form, and one that is not what its name says is none.
func (c *checker) facts(kind string, attributes jsontext.Value, prices *Prices) Facts {
	var w wireFacts
	pickMembers(attributes, &w)
	f := Facts{
		Tool: c.factText("attributes.toolName", w.Tool), Model: c.factText("attributes.model", w.Model),
		PolicyID: c.factText("attributes.policyId", w.PolicyID), PolicyName: c.factText("attributes.policyName", w.PolicyName),
		Decision: c.factText("attributes.decision", w.Decision), RuleID: c.factText("attributes.matchedRuleId", w.RuleID),
	}
	isGeneration := kind == KindGeneration
	in := c
	if !isGeneration {
		in = &checker{} // its complaints are dropped
	}
	f.Usage = Usage{
		Input: in.tokens("attributes.inputTokens", w.Input), Output: in.tokens("attributes.outputTokens", w.Output),
		CacheRead: in.tokens("attributes.cacheReadTokens", w.CacheRead), CacheWrite: in.tokens("attributes.cacheWriteTokens", w.CacheWrite),
	}
	cost, given := in.cost(w.Cost)
	if !given && isGeneration {
		cost = prices.Cost(f.Model, f.Usage)
	}
	f.Usage.CostNanos = cost
	return f
}

// factText is a member's text, empty when it is no string.
func (c *checker) factText(field string, raw jsontext.Value) string {
	return c.text(field, unquoted(raw))
}

func (c *checker) tokens(field string, raw jsontext.Value) int64 {
	n := c.number(field, raw, MaxTokens)
	if n == nil {
		return 0
	}
	return *n
}

// cost reads a cost in dollars as nanos. It is not given where it is null.
func (c *checker) cost(raw jsontext.Value) (nanos int64, given bool) {
	switch raw.Kind() {
	case 'n', 0:
		return 0, false
	case '0':
		if f, err := strconv.ParseFloat(string(raw), 64); err == nil && f >= 0 && f <= MaxCost {
			return int64(math.Round(f * 1e9)), true
		}
	}
	c.fail("attributes.costUsd", "must be a number from 0 to %.0f", MaxCost)
	return 0, true
}

// describeTrace reads where a trace came from and what went in and out.
func describeTrace(attributes jsontext.Value, product string) (source string, input, output *string) {
	var w struct {
		Source jsontext.Value `json:"source"`
		Input  jsontext.Value `json:"input"`
		Output jsontext.Value `json:"output"`
	}
	pickMembers(attributes, &w)
	source = product
	if text := unquoted(w.Source); text != "" && len(text) <= MaxText && strings.IndexByte(text, 0) < 0 {
		source = text
	}
	return source, preview(w.Input), preview(w.Output)
}

// preview is the beginning of a text, or of a value's JSON.
func preview(raw jsontext.Value) *string {
	switch raw.Kind() {
	case 'n', 0:
		return nil
	}
	text := string(raw)
	if raw.Kind() == '"' {
		text = unquoted(raw)
	}
	text = strings.ReplaceAll(cutRunes(text, previewLen), "\x00", "\uFFFD")
	return &text
}
