package otlp

// meaning is what an attribute means, by OpenTelemetry's semantic conventions for generative AI, older names of the
// same conventions, OpenLLMetry (traceloop, llm.*) and OpenInference (llm.*, session.id).
// https://opentelemetry.io/docs/specs/semconv/gen-ai/
type meaning int

const (
	operation meaning = iota
	inferenceKind
	loopKind
	entity
	model
	provider
	inputTokens
	outputTokens
	cacheReadTokens
	cacheWriteTokens
	cost
	tool
	agent
	session
	user
	input
	output
	service
	meanings // how many there are
)

// convention is what a key means, and its rank among the keys with the same meaning: the lowest rank wins.
type convention struct {
	meaning meaning
	rank    int
}

// conventions are the keys that mean something. Keys of one meaning are in the order in which they win: the model that
// answered wins over the one that was requested.
var conventions = func() map[string]convention {
	table := map[string]convention{}
	for m, keys := range map[meaning][]string{
		operation:     {"gen_ai.operation.name", "llm.request.type"},
		inferenceKind: {"openinference.span.kind"},
		loopKind:      {"traceloop.span.kind"},
		entity:        {"traceloop.entity.name"},
		model: {
			"gen_ai.response.model", "llm.response.model", "gen_ai.request.model", "llm.request.model",
			"llm.model_name", "embedding.model_name",
		},
		provider: {"gen_ai.provider.name", "gen_ai.system", "llm.provider", "llm.system", "llm.vendor"},
		inputTokens: {
			"gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens", "llm.usage.prompt_tokens",
			"llm.token_count.prompt",
		},
		outputTokens: {
			"gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens", "llm.usage.completion_tokens",
			"llm.token_count.completion",
		},
		cacheReadTokens: {
			"gen_ai.usage.cache_read.input_tokens", "gen_ai.usage.cache_read_input_tokens",
			"gen_ai.usage.input_tokens.cached", "gen_ai.usage.details.cache_read_tokens",
			"llm.usage.cache_read_input_tokens", "llm.token_count.prompt_details.cache_read",
			"llm.token_count.prompt_details.cache_input",
		},
		cacheWriteTokens: {
			"gen_ai.usage.cache_creation.input_tokens", "gen_ai.usage.cache_creation_input_tokens",
			"gen_ai.usage.input_tokens.cache_write", "gen_ai.usage.details.cache_write_tokens",
			"llm.usage.cache_creation_input_tokens", "llm.token_count.prompt_details.cache_write",
		},
		cost:  {"gen_ai.usage.cost", "llm.cost.total", "operation.cost"},
		tool:  {"gen_ai.tool.name", "mcp.tool.name", "tool.name", "ai.toolCall.name"},
		agent: {"gen_ai.agent.id", "gen_ai.agent.name", "agent.name"},
		session: {
			"session.id", "gen_ai.conversation.id", "traceloop.association.properties.session_id",
			"langfuse.session.id",
		},
		user: {"user.id", "enduser.id", "traceloop.association.properties.user_id", "langfuse.user.id"},
		input: {
			"gen_ai.input.messages", "input.value", "gen_ai.prompt", "traceloop.entity.input",
			"gen_ai.tool.call.arguments", "gen_ai.prompt.0.content",
		},
		output: {
			"gen_ai.output.messages", "output.value", "gen_ai.completion", "traceloop.entity.output",
			"gen_ai.tool.call.result", "gen_ai.completion.0.content",
		},
		service: {"service.name"},
	} {
		for rank, key := range keys {
			table[key] = convention{m, rank}
		}
	}
	return table
}()

// sense holds the values of attributes by their meaning.
type sense [meanings]value

// senseOf reads the meaning of attributes.
func senseOf(attributes []attribute) (s sense) {
	var rank [meanings]int
	for _, a := range attributes {
		c, known := conventions[a.key]
		if !known || a.value.kind == noValue || s[c.meaning].kind != noValue && rank[c.meaning] <= c.rank {
			continue
		}
		s[c.meaning], rank[c.meaning] = a.value, c.rank
	}
	return s
}
