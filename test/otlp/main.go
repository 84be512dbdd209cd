// Command otlp is an agent that is instrumented with OpenTelemetry's SDK for Go and
// sends with its own exporter, nothing of them changed. A test runs it against a
// server, as several processes and more than once.
//
//	otlp -seed 7 -part agent    the root, which ends last, and two calls of models
//	otlp -seed 7 -part tool     another process of the same trace: a tool, and a model within
//
// Where to send and with which key is told as always, by OTEL_EXPORTER_OTLP_ENDPOINT
// and OTEL_EXPORTER_OTLP_HEADERS. Ids and times follow from the seed, so that a
// second run sends the very same spans.
package main

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

func main() {
	seed := flag.Uint64("seed", 1, "what ids follow from")
	part := flag.String("part", "agent", "agent or tool")
	start := flag.Int64("start", time.Now().Add(-time.Minute).Unix(), "when the trace begins, in seconds since 1970")
	flag.Parse()
	ctx, stop := context.WithTimeout(context.Background(), 30*time.Second)
	defer stop()
	if err := run(ctx, *seed, *part, time.Unix(*start, 0)); err != nil {
		fmt.Fprintln(os.Stderr, "otlp:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, seed uint64, part string, start time.Time) (err error) {
	exporter, err := otlptracehttp.New(ctx)
	if err != nil {
		return err
	}
	ids := &ids{seed: seed, part: part}
	provider := sdk.NewTracerProvider(
		sdk.WithBatcher(exporter), sdk.WithIDGenerator(ids),
		sdk.WithResource(resource.NewSchemaless(attribute.String("service.name", "planner"),
			attribute.String("deployment.environment.name", "test"))),
	)
	defer func() { err = errors.Join(err, provider.Shutdown(ctx)) }()
	a := &agent{tracer: provider.Tracer("writ/test/otlp"), provider: provider, start: start}
	if part == "tool" {
		return a.runTool(trace.ContextWithRemoteSpanContext(ctx, trace.NewSpanContext(trace.SpanContextConfig{
			TraceID: ids.trace(), SpanID: spanID(seed, "agent", 1), TraceFlags: trace.FlagsSampled, Remote: true,
		})))
	}
	return a.runAgent(ctx)
}

// agent does the work that is traced.
type agent struct {
	tracer   trace.Tracer
	provider *sdk.TracerProvider
	start    time.Time
}

// at is an instant of the trace.
func (a *agent) at(seconds int) time.Time { return a.start.Add(time.Duration(seconds) * time.Second) }

// do makes a span from one second to another, and sends it.
func (a *agent) do(ctx context.Context, name string, from, to int, attributes ...attribute.KeyValue) error {
	_, span := a.tracer.Start(ctx, name, trace.WithTimestamp(a.at(from)), trace.WithSpanKind(trace.SpanKindClient),
		trace.WithAttributes(attributes...))
	span.End(trace.WithTimestamp(a.at(to)))
	return a.provider.ForceFlush(ctx)
}

func (a *agent) runAgent(ctx context.Context) error {
	ctx, root := a.tracer.Start(ctx, "invoke_agent planner", trace.WithTimestamp(a.at(0)), trace.WithAttributes(
		attribute.String("gen_ai.operation.name", "invoke_agent"), attribute.String("gen_ai.agent.id", "planner-1"),
		attribute.String("gen_ai.conversation.id", "chat-17"), attribute.Int("gen_ai.usage.input_tokens", 2000),
	))
	err := errors.Join(
		a.do(ctx, "chat gpt-4o", 1, 3,
			attribute.String("gen_ai.operation.name", "chat"), attribute.String("gen_ai.provider.name", "openai"),
			attribute.String("gen_ai.request.model", "gpt-4o"),
			attribute.String("gen_ai.response.model", "gpt-4o-2024-08-06"),
			attribute.Int("gen_ai.usage.input_tokens", 1000), attribute.Int("gen_ai.usage.output_tokens", 200),
			attribute.Int("gen_ai.usage.cache_read.input_tokens", 400),
			attribute.StringSlice("gen_ai.response.finish_reasons", []string{"stop"}),
		),
		a.do(ctx, "chat claude-sonnet-4-5", 4, 6,
			attribute.String("gen_ai.operation.name", "chat"), attribute.String("gen_ai.system", "anthropic"),
			attribute.String("gen_ai.request.model", "claude-sonnet-4-5"),
			attribute.Int("gen_ai.usage.input_tokens", 1000), attribute.Int("gen_ai.usage.output_tokens", 100),
			attribute.Int("gen_ai.usage.cache_read.input_tokens", 600),
			attribute.Int("gen_ai.usage.cache_creation.input_tokens", 300),
		),
	)
	root.AddEvent("answered", trace.WithTimestamp(a.at(7)))
	root.End(trace.WithTimestamp(a.at(10)))
	return errors.Join(err, a.provider.ForceFlush(ctx))
}

func (a *agent) runTool(ctx context.Context) error {
	ctx, tool := a.tracer.Start(ctx, "execute_tool search", trace.WithTimestamp(a.at(3)), trace.WithAttributes(
		attribute.String("gen_ai.operation.name", "execute_tool"), attribute.String("gen_ai.tool.name", "search"),
	))
	err := a.do(ctx, "embeddings", 3, 4,
		attribute.String("gen_ai.operation.name", "embeddings"), attribute.String("gen_ai.request.model", "gpt-4o"),
		attribute.Int("gen_ai.usage.input_tokens", 50))
	tool.SetStatus(codes.Error, "nothing found")
	tool.End(trace.WithTimestamp(a.at(4)))
	return errors.Join(err, a.provider.ForceFlush(ctx))
}

// ids are made from the seed, in the order in which spans are begun.
type ids struct {
	seed uint64
	part string
	last atomic.Uint64
}

func (g *ids) trace() (id trace.TraceID) {
	sum := sha256.Sum256(binary.BigEndian.AppendUint64([]byte("trace"), g.seed))
	copy(id[:], sum[:])
	return id
}

func spanID(seed uint64, part string, n uint64) (id trace.SpanID) {
	sum := sha256.Sum256(binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64([]byte(part), seed), n))
	copy(id[:], sum[:])
	return id
}

// NewIDs are those of a trace and its root.
func (g *ids) NewIDs(ctx context.Context) (trace.TraceID, trace.SpanID) {
	return g.trace(), g.NewSpanID(ctx, g.trace())
}

// NewSpanID is that of the next span.
func (g *ids) NewSpanID(context.Context, trace.TraceID) trace.SpanID {
	return spanID(g.seed, g.part, g.last.Add(1))
}
