// What stands in the addresses of the log and of decisions.
import { rangeFields, severalOf, text } from "../../app/search";

/** entryFields are the filters of both lists. */
export const entryFields = {
  ...rangeFields,
  action: text(60),
  decision: severalOf("allow", "ask", "hold", "deny"),
  tool: text(),
  server: text(),
  agent: text(),
  policy: text(),
  rule: text(),
  session: text(),
  plan: text(),
  actor: text(),
};
