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

// ShadowPrefix begins the ids under which Writ counts what shadow policies would have decided. A client's span with
// such an id is stored but counts for no policy: an agent could otherwise make a shadow look harmless.
const ShadowPrefix = "writ:shadow:"

// facts reads a span's attributes. Those of a generation are checked. In other kinds attributes are free-form, and one
// of the wrong type is ignored.
func (c *checker) facts(kind string, attributes raw, prices *Prices) Facts {
	in := c
	if kind != KindGeneration {
		in = &checker{} // its errors are ignored
	}
	var f Facts
	eachMember(attributes, func(name string, value raw) {
		switch name {
		case "toolName":
			f.Tool = c.factText("attributes.toolName", value)
		case "model":
			f.Model = c.factText("attributes.model", value)
		case "inputTokens":
			f.Usage.Input = in.tokens("attributes.inputTokens", value)
		case "outputTokens":
			f.Usage.Output = in.tokens("attributes.outputTokens", value)
		case "cacheReadTokens":
			f.Usage.CacheRead = in.tokens("attributes.cacheReadTokens", value)
		case "cacheWriteTokens":
			f.Usage.CacheWrite = in.tokens("attributes.cacheWriteTokens", value)
		case "costUsd":
			f.Usage.CostNanos = in.cost(value)
		case "policyId":
			f.PolicyID = c.factText("attributes.policyId", value)
		case "policyName":
			f.PolicyName = c.factText("attributes.policyName", value)
		case "decision":
			f.Decision = c.factText("attributes.decision", value)
		case "matchedRuleId":
			f.RuleID = c.factText("attributes.matchedRuleId", value)
		}
	})
	if strings.HasPrefix(f.PolicyID, ShadowPrefix) {
		f.PolicyID = ""
	}
	if kind == KindGeneration {
		f.Usage.CostNanos = prices.CostUnlessKnown(f.Model, f.Usage)
	}
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

// cost reads a cost in dollars as nanos; 0 if it is null.
func (c *checker) cost(value raw) (nanos int64) {
	switch value.kind() {
	case 'n', 0:
		return 0
	case '0':
		if f, err := strconv.ParseFloat(string(value), 64); err == nil && f >= 0 && f <= MaxCost {
			return int64(math.Round(f * 1e9))
		}
	}
	c.fail("attributes.costUsd", "must be a number from 0 to %.0f", MaxCost)
	return 0
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
