import { Denied } from "./denied.js";
import { wordsOf } from "./http.js";
import type { Approval, Call, Decision } from "./messages.js";
import type { Plan } from "./plan.js";

/** GuardOptions say what is done where a call is not simply allowed. */
export interface GuardOptions<R> {
  /** How long to wait for a person where a call is held, in milliseconds (expiresIn is in seconds); 0 unless set. */
  wait?: number;
  /** Called when a call begins to wait, with the denial that names its approval request. */
  onHeld?: (held: Denied) => unknown;
  /** What to give in place of a result where a call may not run, such as words for a model. Unless set, it throws. */
  onDenied?: (denied: Denied) => Awaited<R> | Promise<Awaited<R>>;
  /** Called when a call ran and could not be reported; unless set, console.warn. */
  onUnreported?: (error: unknown) => unknown;
}

/** Guarded is a function behind the server. */
export type Guarded<A extends object, R> = (args: A) => Promise<Awaited<R>>;

/** guard puts a function behind a plan. What it is called on stays what it is called on. */
export function guard<A extends object, R>(
  plan: Plan,
  name: string,
  run: (args: A) => R,
  options: GuardOptions<R> = {},
): Guarded<A, R> {
  checkGuardable(name, run);
  checkWait(options.wait);
  return async function (this: unknown, args: A): Promise<Awaited<R>> {
    let call: Call;
    let decision: Decision;
    try {
      call = { tool: name, arguments: copyOf(args) }; // the server knows where the name of its server ends
      decision = await allowed(plan, call, options);
    } catch (error) {
      const denied = error instanceof Denied ? error : new Denied(wordsOf(error), { cause: error });
      if (options.onDenied) return await options.onDenied(denied);
      throw denied;
    }
    return await carryOut(plan, call, decision, (given: A) => run.call(this, given), options);
  };
}

/** checkGuardable refuses, before any call, what could run other than it was judged, or after it was reported. */
function checkGuardable(name: unknown, run: unknown): void {
  if (typeof name !== "string" || name === "") throw new TypeError("a guarded tool has a name: guard(name, function)");
  if (typeof run !== "function") throw new TypeError(`what is guarded as ${name} is no function`);
  if (isGenerator(run)) throw new TypeError(`${name}: ${noGenerator}`);
  if (run.length > 1) {
    throw new TypeError(
      `${name}: a guarded function takes one object with all its arguments, because nothing else is judged; ` +
        "what else it needs, it gets from a function around it",
    );
  }
}

const noGenerator = "a guarded function gives its result at once: it cannot be a generator";

/** isGenerator tells a function that makes generators, or one that was made. */
const isGenerator = (value: unknown) => /Generator/.test(Object.prototype.toString.call(value));

/** checkWait refuses a time that is no number: text, as from the environment, would make it last for ever. */
function checkWait(wait: unknown): void {
  if (wait !== undefined && !(typeof wait === "number" && wait >= 0)) {
    throw new TypeError("wait must be a number of milliseconds, 0 or more");
  }
}

/** judgedAs is a call under the server and the tool that it was judged for. */
function judgedAs(call: Call, { server, step }: Decision): Call & { step?: number } {
  const judged = { ...call, ...(step === undefined ? {} : { step }) };
  if (server === undefined) return judged;
  const before = `${server}.`;
  return { ...judged, server, tool: call.tool.startsWith(before) ? call.tool.slice(before.length) : call.tool };
}

/**
 * copyOf is what JSON keeps of arguments. Nobody can change it while it is judged, and it is what runs: so what JSON
 * would make something else of, such as a Date, is refused.
 */
function copyOf(args: unknown): Record<string, unknown> {
  const text = JSON.stringify(args ?? {}, function (this: Record<string, unknown>, name, value) {
    const lost = lostInJSON(this[name]);
    if (lost === undefined) return value;
    const what = name === "" ? "the arguments are" : `the argument ${name} is`;
    throw new Denied(`${what} ${lost}, which JSON does not keep: give text, numbers, lists or plain objects`);
  });
  const copy: unknown = text === undefined ? undefined : JSON.parse(text);
  if (typeof copy === "object" && copy !== null && !Array.isArray(copy)) return copy as Record<string, unknown>;
  throw new Denied("the arguments are no JSON object: call a guarded function with one object, {name: value}");
}

/** lostInJSON says what a value is that JSON has no form for; undefined: it has one. */
function lostInJSON(value: unknown): string | undefined {
  if (typeof value === "number") return Number.isFinite(value) ? undefined : String(value);
  if (["function", "symbol", "bigint"].includes(typeof value)) return `a ${typeof value}`;
  if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined;
  const kind = Object.prototype.toString.call(value).slice("[object ".length, -1);
  if (kind !== "Object") return `a ${kind}`;
  return typeof (value as { toJSON?: unknown }).toJSON === "function" ? "an object with a toJSON" : undefined;
}

/** allowed gives the decision that allows a call; where it is held, after a person agreed. */
async function allowed<R>(plan: Plan, call: Call, { wait = 0, onHeld }: GuardOptions<R>): Promise<Decision> {
  try {
    return await plan.decide(call);
  } catch (error) {
    if (!(error instanceof Denied) || error.verdict === "deny" || !error.approvalId || wait <= 0) throw error;
    await onHeld?.(error); // what it throws is a denial, as everything before the call
    const approval = await plan.wait(error.approvalId, wait).catch((failed: unknown) => {
      throw heldStill(error, `whether a person has agreed is not known: ${wordsOf(failed)}`, failed);
    });
    if (approval.status === "pending") throw heldStill(error, `nobody answered within ${spanOf(wait)}`);
    if (approval.editedArguments) {
      const reason = "a person agreed to other arguments: call again with those";
      const { decision } = error;
      throw new Denied(reason, { ...(decision ? { decision } : {}), editedArguments: approval.editedArguments });
    }
    // The approval allows nothing by itself: this does, once.
    return plan.decide(call).catch((again: unknown) => {
      throw deniedAfter(approval, again);
    });
  }
}

/** heldStill is the denial of a call that nobody has agreed to, with more words; its request stays open. */
function heldStill({ message, verdict, decision }: Denied, more: string, cause?: unknown): Denied {
  return new Denied(`${message}; ${more}`, { verdict, ...(decision ? { decision } : {}), cause });
}

/** deniedAfter is why a call that was decided again may not run; held anew, it says that the first request expired. */
function deniedAfter({ status }: Approval, again: unknown): unknown {
  if (status !== "expired" || !(again instanceof Denied) || again.verdict === "deny") return again;
  return heldStill(again, "nobody answered before the first request expired");
}

/** spanOf is a time as people say it: 600 ms, 1.5 seconds, 10 minutes. */
function spanOf(milliseconds: number): string {
  if (milliseconds < 1000) return `${tenths(milliseconds)} ms`;
  const [name, size] = units.find(([, length]) => milliseconds % length === 0) ?? ["second", 1000];
  const count = tenths(milliseconds / size);
  return count === 1 ? `1 ${name}` : `${count} ${name}s`;
}

const units: [string, number][] = [
  ["hour", 3_600_000],
  ["minute", 60_000],
];

const tenths = (value: number) => Math.round(value * 10) / 10;

async function carryOut<A extends object, R>(
  plan: Plan,
  call: Call,
  decision: Decision,
  run: (args: A) => R,
  { onUnreported = warn }: GuardOptions<R>,
): Promise<Awaited<R>> {
  const judged = judgedAs(call, decision);
  const began = Date.now();
  const report = async (outcome: { status: "success" | "failed"; output?: unknown; error?: string }) => {
    try {
      await plan.report({ ...judged, ...outcome, durationMs: Date.now() - began });
    } catch (error) {
      // The call ran: what fails here must not look as if it had not, because whoever tries again does it twice.
      await Promise.resolve(error).then(onUnreported).catch(warn);
    }
  };
  let result: Awaited<R>;
  try {
    result = await run(structuredClone(call.arguments) as A);
    // What it does, it would do after it was reported.
    if (isGenerator(result)) throw new TypeError(`${call.tool}: ${noGenerator}`);
  } catch (error) {
    await report({ status: "failed", error: wordsOf(error) });
    throw error;
  }
  await report({ status: "success", output: reportable(result) });
  return result;
}

const warn = (error: unknown) => console.warn("writ: a call was not reported:", error);

/** reportable is a result as JSON; what is none is reported as text. */
function reportable(result: unknown): unknown {
  try {
    const text = JSON.stringify(result);
    return text === undefined ? undefined : JSON.parse(text);
  } catch {
    return String(result);
  }
}
