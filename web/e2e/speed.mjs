// Measures the dashboard and prints it: node e2e/speed.mjs [TRACES]. TRACES is how many
// traces stand behind the long list, 1000000 by default.
import { randomBytes, randomUUID } from "node:crypto";
import { launch, openContext, settled, signInContext } from "./browser.mjs";
import { caller, signIn, startServer } from "./server.mjs";

const many = Number(process.argv[2] ?? 1_000_000);
const spanCount = 10_000;
const say = (what, value, aim) => console.log(`${what.padEnd(58)} ${value.padStart(12)}   ${aim}`);
const median = (list) => list.toSorted((a, b) => a - b)[Math.floor(list.length / 2)];

const server = await startServer({ WRIT_LOG_LEVEL: "error" });
const browser = await launch();
try {
  const owner = await signIn(server.url, server.first.email, server.first.password);
  const agent = caller(server.url, { "x-api-key": server.first.apiKey });
  await firstScreen(owner);
  await lists(owner, agent);
  await frames(agent);
} finally {
  await browser.close();
  await server.stop();
}

/** fresh is a page of a browser that has nothing cached. */
async function fresh() {
  const context = await openContext(browser, server.url);
  await signInContext(context, server.url, server.first.email, server.first.password);
  return context.newPage();
}

async function firstScreen(owner) {
  const demo = await owner("POST", "/demo");
  const times = [];
  let bytes = 0;
  const html = await (await fetch(`${server.url}/ui/`)).text();
  const initial = [...html.matchAll(/assets\/[\w.-]+\.js/g)].map(([name]) => name);
  for (let n = 0; n < 5; n++) {
    const page = await fresh();
    const began = performance.now();
    await page.goto(`/ui/?org=${demo.id}`, { waitUntil: "commit" });
    await page.getByRole("heading", { name: "Overview", level: 1 }).waitFor();
    bytes = await page.evaluate(
      (names) =>
        performance
          .getEntriesByType("resource")
          .filter((r) => names.some((name) => r.name.endsWith(name)))
          .reduce((sum, r) => sum + r.encodedBodySize, 0),
      initial,
    );
    await page.waitForFunction(() => !document.querySelector(".tile .skeleton") && document.querySelector(".tile"));
    times.push(performance.now() - began);
    await page.context().close();
  }
  say("first screen with its numbers, cold, median of 5", `${(median(times) / 1000).toFixed(2)} s`, "under 1.5 s");
  say("initial JavaScript, gzipped", `${(bytes / 1000).toFixed(1)} KB`, "under 200 KB");
}

async function lists(owner, agent) {
  const org = server.first.organizationId;
  await store(agent, 1000);
  const [readFew, shownFew] = await list(owner, org);
  const began = performance.now();
  await store(agent, many - 1000);
  console.log(`(stored ${many.toLocaleString("en")} traces in ${Math.round((performance.now() - began) / 1000)} s)`);
  const [readMany, shownMany] = await list(owner, org);
  const behind = `${many.toLocaleString("en")} traces`;
  say("a page of the list behind 1,000 traces, from the server", `${readFew.toFixed(1)} ms`, "");
  say(`a page of the list behind ${behind}, from the server`, `${readMany.toFixed(1)} ms`, "the same");
  say("the list behind 1,000 traces, shown", `${shownFew.toFixed(0)} ms`, "");
  say(`the list behind ${behind}, shown`, `${shownMany.toFixed(0)} ms`, "the same");
}

/** list is how long a page of traces takes to read, and how long the screen takes to show it. */
async function list(owner, org) {
  const reads = [];
  for (let n = 0; n < 21; n++) {
    const began = performance.now();
    await owner("GET", `/organization/${org}/observability/traces?limit=100&days=7`);
    reads.push(performance.now() - began);
  }
  const shows = [];
  const page = await fresh();
  for (let n = 0; n < 5; n++) {
    await page.goto(`/ui/findings?org=${org}`);
    await settled(page);
    const began = performance.now();
    await page.getByRole("link", { name: "Traces", exact: true }).first().click();
    await page
      .getByText(/^trace \d+$/)
      .first()
      .waitFor();
    shows.push(performance.now() - began);
  }
  await page.context().close();
  return [median(reads), median(shows)];
}

/** store sends small traces of the last days, 500 in a request, four requests at a time. */
async function store(agent, count) {
  const now = Date.now();
  const trace = (n) => ({
    trace: {
      id: randomUUID(),
      name: `trace ${n}`,
      startTime: new Date(now - Math.floor(Math.random() * 6 * 86_400_000)).toISOString(),
      durationMs: 20,
      status: "ok",
      agentId: "load",
    },
    spans: [],
  });
  let next = 0;
  const send = async () => {
    while (next < count) {
      const from = next;
      next += 500;
      const batches = Array.from({ length: Math.min(500, count - from) }, (_, i) => trace(from + i));
      await agent("POST", "/observability/spans", { product: "speed", batches });
    }
  };
  await Promise.all([send(), send(), send(), send()]);
}

/** frames scrolls through a trace of many spans, and counts what the browser draws. */
async function frames(agent) {
  const id = await longTrace(agent);
  const page = await fresh();
  await page.goto(`/ui/traces/${id}?org=${server.first.organizationId}`);
  const tree = page.getByRole("treegrid");
  await tree.waitFor({ timeout: 60_000 });
  await page.getByRole("row").nth(5).waitFor();
  await page.keyboard.press("Escape");
  const drawn = await tree.evaluate(async (element) => {
    let box = element;
    while (box && box.scrollHeight <= box.clientHeight + 10) box = box.parentElement;
    if (!box) return undefined;
    const began = performance.now();
    let count = 0;
    await new Promise((done) => {
      const frame = () => {
        box.scrollTop += 60;
        if (box.scrollTop + box.clientHeight >= box.scrollHeight - 60) box.scrollTop = 0;
        count++;
        if (performance.now() - began < 4000) requestAnimationFrame(frame);
        else done();
      };
      requestAnimationFrame(frame);
    });
    return { rate: (count * 1000) / (performance.now() - began), nodes: document.querySelectorAll("*").length };
  });
  if (!drawn) throw new Error("the trace does not scroll");
  say(
    `frames a second while a trace of ${spanCount.toLocaleString("en")} spans scrolls`,
    drawn.rate.toFixed(0),
    "50 or more",
  );
  say("elements of the page meanwhile", String(drawn.nodes), "");
}

/** longTrace sends one trace in parts, as OpenTelemetry's exporters do. */
async function longTrace(agent) {
  const traceId = randomBytes(16).toString("hex");
  const root = randomBytes(8).toString("hex");
  const start = BigInt(Date.now() - 60_000) * 1_000_000n;
  const span = (spanId, parentSpanId, name, from, length) => ({
    traceId,
    spanId,
    ...(parentSpanId ? { parentSpanId } : {}),
    name,
    startTimeUnixNano: String(start + from),
    endTimeUnixNano: String(start + from + length),
  });
  for (let done = 0; done < spanCount; done += 500) {
    const spans = Array.from({ length: 500 }, (_, i) => {
      const n = done + i;
      if (n === 0) return span(root, undefined, "long", 0n, 60_000_000_000n);
      const spanId = randomBytes(8).toString("hex");
      const at = BigInt(n) * 5_000_000n;
      return span(spanId, root, `step ${n}`, at, 4_000_000n);
    });
    await agent("POST", "/v1/traces", { resourceSpans: [{ scopeSpans: [{ spans }] }] });
  }
  return `${traceId.slice(0, 8)}-${traceId.slice(8, 12)}-${traceId.slice(12, 16)}-${traceId.slice(16, 20)}-${traceId.slice(20)}`;
}
