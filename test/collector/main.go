// Command collector is the OpenTelemetry Collector's own receiver of OTLP over HTTP,
// as far as a test needs it: it prints a line of JSON for every span it takes.
//
//	collector 127.0.0.1:4318
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"sync"

	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/config/configgrpc"
	"go.opentelemetry.io/collector/config/configoptional"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/receiver/otlpreceiver"
	"go.opentelemetry.io/collector/receiver/receivertest"
)

// line is what is printed of a span.
type line struct {
	Service    string         `json:"service"`
	TraceID    string         `json:"traceId"`
	SpanID     string         `json:"spanId"`
	ParentID   string         `json:"parentId"`
	Name       string         `json:"name"`
	Status     string         `json:"status"`
	Attributes map[string]any `json:"attributes"`
}

func main() {
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(address string) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	factory := otlpreceiver.NewFactory()
	config := factory.CreateDefaultConfig().(*otlpreceiver.Config)
	config.Protocols.GRPC = configoptional.None[configgrpc.ServerConfig]()
	http := config.Protocols.HTTP.GetOrInsertDefault()
	http.ServerConfig.NetAddr.Endpoint = address

	var mu sync.Mutex
	printed := json.NewEncoder(os.Stdout)
	sink, err := consumer.NewTraces(func(_ context.Context, traces ptrace.Traces) error {
		mu.Lock()
		defer mu.Unlock()
		return print(printed, traces)
	})
	if err != nil {
		return err
	}
	receiver, err := factory.CreateTraces(ctx, receivertest.NewNopSettings(factory.Type()), config, sink)
	if err != nil {
		return err
	}
	if err := receiver.Start(ctx, componenttest.NewNopHost()); err != nil {
		return err
	}
	fmt.Fprintln(os.Stderr, "ready")
	<-ctx.Done()
	return receiver.Shutdown(context.Background())
}

func print(out *json.Encoder, traces ptrace.Traces) error {
	for _, resource := range traces.ResourceSpans().All() {
		service, _ := resource.Resource().Attributes().Get("service.name")
		for _, scope := range resource.ScopeSpans().All() {
			for _, span := range scope.Spans().All() {
				err := out.Encode(line{
					Service: service.AsString(), TraceID: span.TraceID().String(), SpanID: span.SpanID().String(),
					ParentID: span.ParentSpanID().String(),
					Name:     span.Name(), Status: span.Status().Code().String(), Attributes: span.Attributes().AsRaw(),
				})
				if err != nil {
					return err
				}
			}
		}
	}
	return nil
}
