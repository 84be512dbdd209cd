/**
 * Puts the tools of an agent behind a Writ server. A Writ declares a plan; a Plan guards functions: each call is
 * decided by the server before it runs, and reported after it. Whatever goes wrong before the call (no answer, an
 * answer that cannot be read, a timeout) is a deny: the function does not run, and Denied is thrown.
 */
export { Denied, type Verdict } from "./denied.js";
export type { Guarded, GuardOptions } from "./guard.js";
export type { Approval, Call, Decision, PlanText, Report, Step, Token } from "./messages.js";
export { Plan } from "./plan.js";
export { type Entry, type Keys, NotVerified, type Problem, type Receipt, type Verified, verifyReceipt } from "./receipt.js";
export { type DeclareOptions, Writ, type WritOptions } from "./writ.js";
