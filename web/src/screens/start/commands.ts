// The commands of the first steps. Each asks for one decision, or sends one trace.

export type Language = "curl" | "python" | "typescript" | "otel" | "gemini";

// Server and tool stand apart: "web.fetch" in one would be a tool without a server, as long as nobody knows a server web,
// and no rule about web.fetch would match it.
const call = { server: "web", tool_name: "fetch", tool_input: { url: "https://example.com" }, agent_id: "billing" };

/** sendsTraces are the ways that tell what was done, and ask for no decision. */
export const sendsTraces: ReadonlySet<Language> = new Set<Language>(["otel", "gemini"]);

/** commandOf is what to paste into a terminal. */
export function commandOf(language: Language, url: string, key: string): string {
  const body = JSON.stringify(call);
  switch (language) {
    case "curl":
      return `curl -s ${url}/iap/enforce -H "x-api-key: ${key}" \\\n  -H "Content-Type: application/json" -d '${body}'`;
    case "python":
      return `python3 - <<'END'
import json, urllib.request
call = ${body}
request = urllib.request.Request("${url}/iap/enforce", json.dumps(call).encode(),
    {"x-api-key": "${key}", "Content-Type": "application/json"})
print(urllib.request.urlopen(request).read().decode())
END`;
    case "typescript":
      return `node --input-type=module <<'END'
const answer = await fetch("${url}/iap/enforce", {
  method: "POST",
  headers: { "x-api-key": "${key}", "Content-Type": "application/json" },
  body: JSON.stringify(${body}),
});
console.log(await answer.json());
END`;
    case "otel":
      return `export OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=${url}/v1/traces
export OTEL_EXPORTER_OTLP_TRACES_PROTOCOL=http/protobuf
export OTEL_EXPORTER_OTLP_TRACES_HEADERS=x-api-key=${key}
# Start your agent in this terminal, or send one span by hand:
hex() { head -c "$1" /dev/urandom | od -An -tx1 | tr -d ' \\n'; }
curl -s "$OTEL_EXPORTER_OTLP_TRACES_ENDPOINT" -H "x-api-key: ${key}" -H "Content-Type: application/json" -d @- <<END
{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"$(hex 16)","spanId":"$(hex 8)","name":"first trace",
"startTimeUnixNano":"$(date +%s)000000000","endTimeUnixNano":"$(date +%s)500000000"}]}]}]}
END`;
    case "gemini":
      return `export GEMINI_TELEMETRY_ENABLED=true GEMINI_TELEMETRY_TARGET=local
export GEMINI_TELEMETRY_TRACES_ENABLED=true
export GEMINI_TELEMETRY_OTLP_PROTOCOL=http GEMINI_TELEMETRY_OTLP_ENDPOINT=${url}
export OTEL_EXPORTER_OTLP_HEADERS=x-api-key=${key}
gemini`;
  }
}
