// What is shown of an entry comes from the text that is proven, not from what the server says beside it.
import { type Json, parseExact } from "../../api/exact";
import type { Entry } from "./queries";

/** Told is an entry as its record and its sealed payload tell it. */
export interface Told {
  index: number;
  time: string;
  action: string;
  actor: { kind: string; id: string };
  subject: { type: string; id: string };
  agent: string | undefined;
  server: string | undefined;
  tool: string | undefined;
  decision: string | undefined;
  plan: string | undefined;
  session: string | undefined;
  policy: string | undefined;
  rule: string | undefined;
  reason: string | undefined;
  step: string | undefined;
  /** The request for approval that it waited for, or that let it run. */
  approval: string | undefined;
  payload: Json | undefined;
  /** Whether the record commits to a payload. */
  sealed: boolean;
}

/** tell reads an entry out of its record and payload. */
export function tell(entry: Entry): Told {
  const record = parseExact(entry.record) as Record<string, Json>;
  const payload = entry.payloadText === undefined ? undefined : parseExact(entry.payloadText);
  const text = (name: string) => (typeof record[name] === "string" ? (record[name] as string) : undefined);
  const pair = (name: string) => (record[name] ?? {}) as Record<string, string>;
  const { actor, subject } = { actor: pair("actor"), subject: pair("subject") };
  return {
    index: Number(record.index),
    time: new Date(Number(record.time) / 1000).toISOString(),
    action: text("action") ?? "",
    actor: { kind: String(actor.kind ?? ""), id: String(actor.id ?? "") },
    subject: { type: String(subject.type ?? ""), id: String(subject.id ?? "") },
    agent: text("agent"),
    server: text("server"),
    tool: text("tool"),
    decision: text("verdict"),
    plan: text("plan"),
    session: text("session"),
    policy: text("policy"),
    rule: text("rule"),
    step: /^\d{1,4}$/.test(text("step") ?? "") ? text("step") : undefined,
    reason: text("verdict") ? textOf(payload, "reason") : undefined,
    approval: text("verdict") ? textOf(payload, "approval") : undefined,
    payload,
    sealed: record.payload !== undefined,
  };
}

function textOf(payload: Json | undefined, name: "reason" | "approval"): string | undefined {
  const text = (payload as { reason?: Json; approval?: Json } | undefined)?.[name];
  return typeof text === "string" ? text : undefined;
}
