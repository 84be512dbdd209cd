// What stands in the address of the list of traces, and of one.
import { type Field, oneOf, rangeFields, severalOf, text, texts, uuid, whole } from "../../app/search";

export const statuses = ["ok", "error", "denied"] as const;

const decimal: Field<number> = (value) => (/^\d{1,9}(\.\d{1,9})?$/.test(value) ? Number(value) : undefined);

export const tracesSearch = {
  ...rangeFields,
  status: oneOf(...statuses),
  agentId: text(500),
  userId: uuid,
  sessionId: uuid,
  name: text(200),
  tool: text(500),
  model: text(500),
  minDurationMs: whole,
  minCostUsd: decimal,
  hasError: oneOf("true", "false"),
  cols: texts(20),
};

/** An offset into a trace, in milliseconds. */
const offset: Field<number> = (value) => (/^\d{1,12}(\.\d{1,3})?$/.test(value) ? Number(value) : undefined);

export const traceSearch = {
  span: text(60),
  q: text(200),
  kind: severalOf("generation", "tool", "decision", "other"),
  path: oneOf("critical"),
  from: offset,
  to: offset,
};
