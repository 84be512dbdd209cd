// What stands in the address of the list of plans.
import { oneOf, rangeFields, text } from "../../app/search";

export const planFields = {
  ...rangeFields,
  status: oneOf("active", "completed", "failed", "expired"),
  agentId: text(),
  user: text(),
};
