import type { Decision } from "./messages.js";

/** Verdict is what was decided about a call that did not run. */
export type Verdict = "deny" | "hold" | "ask";

/** What a denial carries beside its reason. */
export interface DeniedDetails {
  verdict?: Verdict;
  decision?: Decision;
  editedArguments?: Record<string, unknown>;
  cause?: unknown;
}

/** Denied says that a call did not run, and why, in words that a model can act on. */
export class Denied extends Error {
  override name = "Denied";
  /** hold and ask: a person has not answered yet; the same call may run when they agree. */
  readonly verdict: Verdict;
  /** The server's answer; undefined: there is none that can be trusted. */
  readonly decision: Decision | undefined;
  /** The approval request that the call waits for. */
  readonly approvalId: string | undefined;
  /** A person agreed to other arguments: call again with these. */
  readonly editedArguments: Record<string, unknown> | undefined;

  constructor(reason: string, { verdict = "deny", decision, editedArguments, cause }: DeniedDetails = {}) {
    super(reason, cause === undefined ? undefined : { cause });
    this.verdict = verdict;
    this.decision = decision;
    this.approvalId = decision?.approvalId;
    this.editedArguments = editedArguments;
  }
}
