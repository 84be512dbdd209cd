// A session whose trace has everything that a waterfall must draw, and a trace of
// ten thousand spans; names, tools and models are texts of the corpus.
import { randomUUID } from "node:crypto";
import { corpus, evil } from "./xss.mjs";

const iso = (at) => new Date(at).toISOString();

/** seedTraces gives the ids that screens and journeys of traces open. */
export async function seedTraces(agent) {
  const session = randomUUID();
  const now = Date.now();
  const rich = await richTrace(agent, session, now);
  for (let n = 0; n < 3; n++) {
    await agent("POST", "/iap/enforce", {
      tool_name: ["bank.send_money", evil(4).slice(0, 60), "web.fetch"][n],
      tool_input: { note: evil(n), to: "mallory", amount: 50_000 + n },
      agent_id: "billing",
      session_id: session,
    });
  }
  const large = await largeTrace(agent, 10_000);
  const long = await longSession(agent, 1200);
  return { session, rich, large, long };
}

// Three days ago, one trace a second.
async function longSession(agent, traces) {
  const sessionId = randomUUID();
  const start = Date.now() - 3 * 86_400_000;
  for (let from = 0; from < traces; from += 400) {
    const batches = Array.from({ length: Math.min(400, traces - from) }, (_, i) => ({
      trace: {
        id: randomUUID(),
        name: evil(from + i).slice(0, 200),
        sessionId,
        agentId: "long",
        startTime: iso(start + (from + i) * 1000),
        durationMs: 500,
        status: (from + i) % 100 === 7 ? "error" : "ok",
      },
      spans: [],
    }));
    const answer = await agent("POST", "/observability/spans", { product: "e2e", batches });
    if (answer.accepted !== batches.length)
      throw new Error(`traces were refused: ${JSON.stringify(answer.rejections)}`);
  }
  return sessionId;
}

async function richTrace(agent, sessionId, now) {
  const id = randomUUID();
  const start = now - 4000;
  const root = randomUUID();
  const call = randomUUID();
  const circle = [randomUUID(), randomUUID()];
  const span = (name, from, took, more = {}) => ({
    id: randomUUID(),
    parentSpanId: root,
    kind: "span",
    name: name.slice(0, 200),
    startTime: iso(start + from),
    ...(took === undefined ? {} : { endTime: iso(start + from + took), durationMs: took }),
    ...more,
  });
  const spans = [
    span("pay the rent", 0, 60_000, { id: root, parentSpanId: undefined }),
    span(evil(0), 100, 1800, {
      kind: "generation",
      attributes: {
        model: corpus[1],
        inputTokens: 900,
        outputTokens: 120,
        cacheReadTokens: 4000,
        costUsd: 0.0123,
        prompt: `${corpus[0]}\nPay the rent.\n${"lorem ipsum ".repeat(300)}`,
        completion: corpus[7],
        finishReason: corpus[2],
      },
    }),
    span("send money", 2000, 50_000, {
      id: call,
      status: "denied",
      attributes: { toolName: "send_money", input: { to: "mallory", amount: 50_000, [corpus[2]]: corpus[1] } },
    }),
    span(evil(5), 2100, 20, { parentSpanId: call, attributes: { toolName: evil(6).slice(0, 100), output: corpus[6] } }),
    span("never ended", 2500, undefined, { status: "error" }),
    span("before its parent", -300, 100, { parentSpanId: call }),
    span("its parent was lost", 3000, 100, { parentSpanId: randomUUID() }),
    span("a circle", 3000, 100, { id: circle[0], parentSpanId: circle[1] }),
    span("a circle, too", 3000, 100, { id: circle[1], parentSpanId: circle[0] }),
    span("says allow", 2300, 5, {
      kind: "policy_call",
      attributes: { policyId: "p", policyName: corpus[0], decision: "allow", auditIndex: 0 },
    }),
    ...Array.from({ length: 30 }, (_, n) =>
      span(corpus[3], 3000 + n * 10, 8, { attributes: { toolName: "web.fetch", url: corpus[8] } }),
    ),
  ];
  const answer = await agent("POST", "/observability/spans", {
    product: "e2e",
    batches: [
      {
        trace: {
          id,
          name: evil(1).slice(0, 200),
          sessionId,
          agentId: corpus[4],
          startTime: iso(start),
          endTime: iso(start + 60_000),
          durationMs: 60_000,
          status: "denied",
          tags: [corpus[0]],
          attributes: { input: evil(2), output: evil(3) },
        },
        spans,
      },
    ],
  });
  if (answer.accepted !== 1) throw new Error(`the trace was refused: ${JSON.stringify(answer)}`);
  return id;
}

// As an OpenTelemetry exporter sends it, in pieces.
async function largeTrace(agent, spans) {
  const traceId = randomUUID().replaceAll("-", "");
  const start = BigInt(Date.now() - 120_000) * 1_000_000n;
  const idOf = (n) => (n + 1).toString(16).padStart(16, "0");
  const payload = { key: "text", value: { stringValue: `${corpus[0]} ${"x".repeat(400)}` } };
  for (let from = 0; from < spans; from += 2500) {
    const piece = Array.from({ length: Math.min(2500, spans - from) }, (_, i) => {
      const n = from + i;
      return {
        traceId,
        spanId: idOf(n),
        // A hundred below the root, and a hundred below each.
        ...(n === 0 ? {} : { parentSpanId: idOf(n <= 100 ? 0 : ((n - 101) % 100) + 1) }),
        name: n === 0 ? "ten thousand" : `step ${n % 100} ${corpus[n % 3]}`,
        startTimeUnixNano: String(start + BigInt(n) * 1_000_000n),
        endTimeUnixNano: String(start + BigInt(n === 0 ? spans : n <= 100 ? spans - n : n + 5) * 1_000_000n),
        attributes: [payload],
      };
    });
    await agent("POST", "/v1/traces", { resourceSpans: [{ scopeSpans: [{ spans: piece }] }] });
  }
  return traceId.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}
