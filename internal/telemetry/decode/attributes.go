package decode

import (
	"math"
	"strconv"
	"strings"
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

// wireFacts are the relevant attributes of a span, not yet parsed.
type wireFacts struct {
	tool, model                                raw
	input, output, cacheRead, cacheWrite, cost raw
	policyID, policyName, decision, ruleID     raw
}

func (w *wireFacts) read(attributes raw) {
	eachMember(attributes, func(name string, value raw) {
		switch name {
		case "toolName":
			w.tool = value
		case "model":
			w.model = value
		case "inputTokens":
			w.input = value
		case "outputTokens":
			w.output = value
		case "cacheReadTokens":
			w.cacheRead = value
		case "cacheWriteTokens":
			w.cacheWrite = value
		case "costUsd":
			w.cost = value
		case "policyId":
			w.policyID = value
		case "policyName":
			w.policyName = value
		case "decision":
			w.decision = value
		case "matchedRuleId":
			w.ruleID = value
		}
	})
}

// ShadowPrefix begins the ids under which Writ counts what shadow policies would have decided. A client's span with
// such an id is stored but counts for no policy: an agent could otherwise make a shadow look harmless.
const ShadowPrefix = "writ:shadow:"

// facts reads a span's attributes. Those of a generation are checked. In other kinds attributes are free-form, and one
// of the wrong type is ignored.
func (c *checker) facts(kind string, attributes raw, prices *Prices) Facts {
	var w wireFacts
	w.read(attributes)
	f := Facts{
		Tool: c.factText("attributes.toolName", w.tool), Model: c.factText("attributes.model", w.model),
		PolicyID:   c.factText("attributes.policyId", w.policyID),
		PolicyName: c.factText("attributes.policyName", w.policyName),
		Decision:   c.factText("attributes.decision", w.decision),
		RuleID:     c.factText("attributes.matchedRuleId", w.ruleID),
	}
	if strings.HasPrefix(f.PolicyID, ShadowPrefix) {
		f.PolicyID = ""
	}
	isGeneration := kind == KindGeneration
	in := c
	if !isGeneration {
		in = &checker{} // its errors are ignored
	}
	f.Usage = Usage{
		Input: in.tokens("attributes.inputTokens", w.input), Output: in.tokens("attributes.outputTokens", w.output),
		CacheRead:  in.tokens("attributes.cacheReadTokens", w.cacheRead),
		CacheWrite: in.tokens("attributes.cacheWriteTokens", w.cacheWrite),
	}
	cost, given := in.cost(w.cost)
	if !given && isGeneration {
		cost = prices.Cost(f.Model, f.Usage)
	}
	f.Usage.CostNanos = cost
	return f
}

// factText is a member's text, or empty if it is not a string.
func (c *checker) factText(field string, value raw) string {
	return c.text(field, unquoted(value))
}

func (c *checker) tokens(field string, value raw) int64 {
	n, _ := c.number(field, value, MaxTokens)
	return n
}

// cost reads a cost in dollars as nanos. Null means not given.
func (c *checker) cost(value raw) (nanos int64, given bool) {
	switch value.kind() {
	case 'n', 0:
		return 0, false
	case '0':
		if f, err := strconv.ParseFloat(string(value), 64); err == nil && f >= 0 && f <= MaxCost {
			return int64(math.Round(f * 1e9)), true
		}
	}
	c.fail("attributes.costUsd", "must be a number from 0 to %.0f", MaxCost)
	return 0, true
}

// describeTrace reads where a trace came from, its input and its output.
func describeTrace(attributes raw, product string) (source string, input, output *string) {
	var from, in, out raw
	eachMember(attributes, func(name string, value raw) {
		switch name {
		case "source":
			from = value
		case "input":
			in = value
		case "output":
			out = value
		}
	})
	source = product
	if text := unquoted(from); text != "" && len(text) <= MaxText && strings.IndexByte(text, 0) < 0 {
		source = text
	}
	return source, preview(in), preview(out)
}

// preview is the beginning of a text, or of a value's JSON.
func preview(value raw) *string {
	switch value.kind() {
	case 'n', 0:
		return nil
	}
	text := string(value)
	if value.kind() == '"' {
		text = unquoted(value)
	}
	text = strings.ReplaceAll(FirstRunes(text, MaxPreview), "\x00", "\uFFFD")
	return &text
}
