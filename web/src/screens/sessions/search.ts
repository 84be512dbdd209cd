// What stands in the address of the list of sessions, and of one.
import { oneOf, rangeFields, text, texts, uuid } from "../../app/search";

export const statuses = ["active", "completed", "expired", "error"] as const;

export const sessionsSearch = {
  ...rangeFields,
  status: oneOf(...statuses),
  agentId: text(500),
  userId: uuid,
  cols: texts(20),
};

export const sessionSearch = { show: oneOf("traces", "decisions") };
