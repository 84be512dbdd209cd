// What a busy organization has, made through the real API: decisions, traces, a
// finding; every text of an agent is one of the corpus.
import { randomUUID } from "node:crypto";
import { seedTraces } from "./fixtures.traces.mjs";
import { caller } from "./server.mjs";
import { corpus, evil } from "./xss.mjs";

const hour = 3_600_000;

/** hostileSession is the session of some decisions. */
export const hostileSession = `s <img src=x onerror="window.__xss=9">/..?#%2f`;

/** seed fills an organization with the key's work, and gives what screens link to. */
export async function seed(url, key) {
  const agent = caller(url, { "x-api-key": key });
  const decisions = [];
  for (let n = 0; n < 12; n++) decisions.push(await decide(agent, n));
  const traces = [];
  const sessions = [randomUUID(), randomUUID(), randomUUID()];
  for (let n = 0; n < 24; n++) traces.push(await report(agent, n, sessions[n % 3]));
  for (const n of [1, 2, 3]) await executeUnasked(agent, n);
  return { decisions, traces, hostileSession, ...(await seedTraces(agent)) };
}

async function decide(agent, n) {
  return agent("POST", "/iap/enforce", {
    tool_name: n % 3 === 0 ? "bank.send_money" : n % 3 === 1 ? `web.${evil(n).slice(0, 60)}` : "web.search",
    tool_input: { note: evil(n), amount: 900 + n, [corpus[n % 3]]: corpus[n % corpus.length] },
    agent_id: n % 4 === 1 ? evil(n).slice(0, 60) : "billing",
    session_id: n % 4 === 2 ? hostileSession : `s${n % 3}`,
    user_id: evil(n).slice(0, 60),
  });
}

async function report(agent, n, sessionId) {
  const id = randomUUID();
  const at = new Date(Date.now() - n * hour).toISOString();
  const text = evil(n);
  const answer = await agent("POST", "/observability/spans", {
    product: `e2e ${corpus[0]}`,
    batches: [
      {
        trace: {
          id,
          name: text.slice(0, 200),
          startTime: at,
          durationMs: 100 + n * 997,
          status: ["ok", "ok", "error", "denied"][n % 4],
          agentId: n % 4 === 1 ? text.slice(0, 60) : "billing",
          sessionId,
          tags: [text.slice(0, 40), corpus[n % corpus.length].slice(0, 60)],
          attributes: { input: text, output: text },
        },
        spans: [
          {
            id: randomUUID(),
            kind: "generation",
            name: text.slice(0, 200),
            startTime: at,
            durationMs: 80,
            attributes: {
              model: n % 3 === 0 ? text.slice(0, 100) : ["gpt-x", "claude-y"][n % 2],
              inputTokens: 900,
              outputTokens: 120,
              costUsd: 0.01 * n,
              text,
              finishReason: text,
              prompt: text,
              completion: text,
            },
          },
          {
            id: randomUUID(),
            kind: "span",
            name: text.slice(0, 200),
            startTime: at,
            durationMs: 10,
            status: "error",
            attributes: { toolName: text.slice(0, 100), error: text, statusMessage: text, input: { [text]: text } },
          },
        ],
      },
    ],
  });
  if (answer.accepted !== 1) throw new Error(`a trace was refused: ${JSON.stringify(answer)}`);
  return id;
}

// Something ran that nobody allowed: a finding.
async function executeUnasked(agent, n) {
  await agent("POST", "/iap/audit", {
    tool: evil(n).slice(0, 80),
    agent_id: n === 1 ? "billing" : evil(n).slice(0, 60),
    session_id: evil(n).slice(0, 60),
    arguments: { text: evil(n) },
    status: "success",
    executed_at: new Date().toISOString(),
  });
}
