package otlp

import (
	"strings"

	"writ/internal/telemetry/decode"
)

// Kinds of spans beside those that package decode counts.
const (
	kindSpan  = "span"
	kindTool  = "tool"
	kindAgent = "agent"
)

// Kinds by what each convention says. Embeddings are generations: they have a model, tokens and a price too.
var (
	kindsByOperation = map[string]string{
		"chat": decode.KindGeneration, "text_completion": decode.KindGeneration, "completion": decode.KindGeneration,
		"generate_content": decode.KindGeneration, "embeddings": decode.KindGeneration,
		"embedding":    decode.KindGeneration,
		"execute_tool": kindTool, "invoke_agent": kindAgent, "create_agent": kindAgent, "invoke_workflow": kindSpan,
	}
	kindsByInference = map[string]string{
		"llm": decode.KindGeneration, "embedding": decode.KindGeneration, "tool": kindTool, "agent": kindAgent,
		"chain": kindSpan, "retriever": kindSpan, "reranker": kindSpan, "guardrail": kindSpan, "evaluator": kindSpan,
		"prompt": kindSpan,
	}
	kindsByLoop = map[string]string{"tool": kindTool, "agent": kindAgent, "workflow": kindSpan, "task": kindSpan}
)

// kind is the kind of a span. A span without a stated kind is a generation if it has a model and tokens. An agent's
// span may sum up the tokens of the spans below it: it is never a generation, or they would count twice.
func (s *sense) kind() string {
	for _, says := range []struct {
		meaning meaning
		kinds   map[string]string
	}{{operation, kindsByOperation}, {inferenceKind, kindsByInference}, {loopKind, kindsByLoop}} {
		if kind, known := says.kinds[strings.ToLower(s[says.meaning].string())]; known {
			return kind
		}
	}
	_, hasInput := s[inputTokens].count()
	_, hasOutput := s[outputTokens].count()
	switch {
	case s[model].string() != "" && (hasInput || hasOutput) && s[operation].kind == noValue:
		return decode.KindGeneration
	case s[tool].string() != "":
		return kindTool
	}
	return kindSpan
}

// facts are what queries need of a span.
func (s *sense) facts(kind string, prices *decode.Prices) (f decode.Facts) {
	switch kind {
	case decode.KindGeneration:
		f.Model = s[model].string()
		f.Usage = s.usage(f.Model, prices)
	case kindTool:
		f.Tool = s[tool].string()
		if f.Tool == "" && strings.EqualFold(s[loopKind].string(), kindTool) {
			f.Tool = s[entity].string()
		}
	}
	return f
}

// usage is tokens and cost. By these conventions, the input includes cached tokens; it is stored as the model's vendor
// counts it.
func (s *sense) usage(model string, prices *decode.Prices) (u decode.Usage) {
	u.Input, _ = s[inputTokens].count()
	u.Output, _ = s[outputTokens].count()
	u.CacheRead, _ = s[cacheReadTokens].count()
	u.CacheWrite, _ = s[cacheWriteTokens].count()
	u = prices.AsVendorCounts(model, u)
	u.CostNanos = s[cost].dollars()
	u.CostNanos = prices.CostUnlessKnown(model, u)
	return u
}
