import { DiagConsoleLogger, DiagLogLevel, diag, trace } from "@opentelemetry/api";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { resourceFromAttributes } from "@opentelemetry/resources";
import { NodeTracerProvider, SimpleSpanProcessor } from "@opentelemetry/sdk-trace-node";
import { Writ } from "@writ/client";

// Without this the library is silent about spans that are not taken, as with a wrong key.
diag.setLogger(new DiagConsoleLogger(), DiagLogLevel.ERROR);
// Nothing here names Writ: OTEL_EXPORTER_OTLP_ENDPOINT and OTEL_EXPORTER_OTLP_HEADERS do.
const provider = new NodeTracerProvider({
  resource: resourceFromAttributes({ "service.name": "billing" }),
  spanProcessors: [new SimpleSpanProcessor(new OTLPTraceExporter())],
});
provider.register();
const tracer = trace.getTracer("billing");

const sendMoney = async ({ to, amount }: { to: string; amount: number }) => `sent ${amount} to ${to}`;
const writ = new Writ({ url: process.env.WRIT_URL!, apiKey: process.env.WRIT_API_KEY!, agent: "billing" });
const plan = await writ.declare({ goal: "pay the rent", steps: [{ mcp: "bank", action: "send_money" }] });
const pay = plan.guard("bank.send_money", sendMoney);

await tracer.startActiveSpan("pay the rent", async (work) => {
  tracer
    .startSpan("chat gpt-4o-mini", {
      attributes: {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": "gpt-4o-mini",
        "gen_ai.usage.input_tokens": 1000,
        "gen_ai.usage.output_tokens": 200,
      },
    })
    .end();
  const call = { attributes: { "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "send_money" } };
  await tracer.startActiveSpan("execute_tool send_money", call, async (span) => {
    console.log(await pay({ to: "landlord", amount: 900 }));
    span.end();
  });
  work.end();
  console.log(`trace ${work.spanContext().traceId}`);
});
await provider.shutdown();
