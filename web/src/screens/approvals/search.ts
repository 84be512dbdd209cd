import { oneOf, text, uuid } from "../../app/search";

const answered = ["approved", "rejected", "cancelled", "expired"] as const;

/** What stands in the address of the queue and the history; id is what is open beside the queue. */
export const approvalsSearch = {
  id: uuid,
  status: oneOf("all", ...answered),
  tool: text(200),
  agentId: text(200),
  risk: oneOf("low", "medium", "high", "critical"),
  kind: oneOf("hold", "ask"),
};
