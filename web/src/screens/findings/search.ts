// What stands in the address of the list of findings.
import { oneOf } from "../../app/search";

const findingKinds = [
  "execution_without_decision",
  "execution_with_other_arguments",
  "execution_not_confined",
  "execution_outside_lease",
  "lease_gap",
  "refused_by_kernel",
  "decision_without_outcome",
  "sequence_gap",
  "result_with_instructions",
  "result_with_secret",
] as const;

export const findingFields = { kind: oneOf(...findingKinds), state: oneOf("open", "all") };
