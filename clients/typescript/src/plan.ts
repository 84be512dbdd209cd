import { Denied } from "./denied.js";
import { type Guarded, type GuardOptions, guard } from "./guard.js";
import { ask, type Connection, Failed, type JSONObject, wordsOf } from "./http.js";
import type { Approval, Call, CallBody, Decision, Report, ReportBody, Reported, Token } from "./messages.js";

/** How long the server holds a question about an approval open, in seconds. */
const pollSeconds = 25;

/** Plan is a declared plan: it decides about calls, and guards the functions that make them. */
export class Plan {
  readonly #to: Connection;
  readonly #agent: string | undefined;
  readonly token: Token;

  constructor(to: Connection, token: Token, agent?: string) {
    this.#to = to;
    this.#agent = agent;
    this.token = token;
  }

  get id(): string {
    return this.token.plan_id;
  }

  /**
   * guard gives a function that runs only when the server allows the call. The tool is "server.tool", or its name
   * alone; the server that decides knows which part is which. The function gets a copy of its arguments: what was judged, as JSON, and nothing else.
   */
  guard<A extends object, R>(tool: string, run: (args: A) => R, options?: GuardOptions<R>): Guarded<A, R> {
    return guard(this, tool, run, options);
  }

  /** decide asks about a call. It gives an allow; everything else is Denied, also where there is no answer. */
  async decide(call: Call): Promise<Decision> {
    const body: CallBody = {
      tool: call.tool,
      arguments: call.arguments,
      intent_token: this.token,
      ...(call.server === undefined ? {} : { mcp: call.server }),
      ...(this.#agent === undefined ? {} : { agent_id: this.#agent }),
    };
    let answer: JSONObject;
    try {
      answer = await ask(this.#to, "/iap/sdk/enforce", body);
    } catch (error) {
      throw new Denied(`the call was not decided: ${wordsOf(error)}`, { cause: error });
    }
    return allowOf(answer);
  }

  /**
   * wait waits until a person has answered an approval request, at most so many milliseconds. People take long, and a
   * server may be started anew meanwhile: it is asked again until the time is over.
   */
  async wait(approvalId: string, milliseconds: number): Promise<Approval> {
    const end = Date.now() + milliseconds;
    for (;;) {
      const left = Math.max(0, Math.min(pollSeconds, Math.ceil((end - Date.now()) / 1000)));
      const query = new URLSearchParams({ delegationId: approvalId, waitSeconds: String(left) });
      const asked = Date.now();
      const approval = await ask(this.#to, `/delegation/poll?${query}`, undefined, left * 1000).catch((failed) => {
        if (!(failed instanceof Failed && failed.mayPass) || Date.now() >= end) throw failed;
        return { status: "pending" };
      });
      if (!isApproval(approval)) throw new Failed("/delegation/poll: the answer is no approval request", 200);
      if (approval.status !== "pending" || Date.now() >= end) return approval;
      // A server that many wait for answers at once: it is not asked more than once a second.
      await new Promise((done) => setTimeout(done, Math.max(0, Math.min(asked + 1000, end) - Date.now())));
    }
  }

  /** report tells the server what came of a call. It decides nothing; a report that was not taken is an error. */
  async report(report: Report): Promise<void> {
    const body: ReportBody = {
      token: this.token.jwt_token,
      plan_id: this.id,
      tool: report.tool,
      input: report.arguments,
      status: report.status,
      step_index: report.step ?? -1,
      executed_at: new Date().toISOString(),
      ...(report.server === undefined ? {} : { mcp: report.server }),
      ...(this.#agent === undefined ? {} : { agent_id: this.#agent }),
      ...(report.output === undefined ? {} : { output: report.output }),
      ...(report.error === undefined ? {} : { error_message: report.error }),
      ...(report.durationMs === undefined ? {} : { duration_ms: report.durationMs }),
    };
    const reported = (await ask(this.#to, "/iap/audit", body)) as Partial<Reported>;
    if (reported.iap_sync_status !== "synced") {
      throw new Failed(`/iap/audit: the report was not taken: ${reported.error ?? "no reason given"}`);
    }
  }

  /** end ends the plan: none of its calls runs from now on. */
  async end(status: "completed" | "failed" = "completed"): Promise<void> {
    await ask(this.#to, `/iap/plans/${encodeURIComponent(this.id)}/status`, { status });
  }
}

/**
 * allowOf gives an answer that allows: every member that says so must say so, and the decision must be recorded. What
 * this client cannot keep (a confinement, duties with the result) it never asked for, and does not take for an allow.
 */
function allowOf(answer: JSONObject): Decision {
  const decision = answer as unknown as Decision;
  const reason = typeof answer.reason === "string" && answer.reason !== "" ? answer.reason : "no reason was given";
  if (answer.allowed !== true) {
    const verdict = answer.decision === "hold" || answer.decision === "ask" ? answer.decision : "deny";
    throw new Denied(reason, { verdict, decision });
  }
  const agree =
    answer.decision === "allow" &&
    answer.action === "allow" &&
    answer.enforcementAction === "allow" &&
    typeof answer.decisionId === "string" &&
    answer.decisionId !== "";
  if (!agree) throw new Denied("the answer contradicts itself", { decision });
  if (answer.confine !== undefined || answer.oblige !== undefined) {
    throw new Denied("the call is allowed only under conditions that this client cannot keep", { decision });
  }
  return decision;
}

const statuses = ["pending", "approved", "rejected", "cancelled", "expired"];

function isApproval(answer: unknown): answer is Approval {
  const { status } = answer as Partial<Approval>;
  return statuses.includes(status ?? "");
}
