import { Denied } from "./denied.js";
import { ask, type Connection, Failed, wordsOf } from "./http.js";
import type { DeclareBody, PlanText, Token } from "./messages.js";
import { Plan } from "./plan.js";

/** WritOptions say which server decides, and who asks. */
export interface WritOptions {
  /** The server's address: http://localhost:8080. */
  url: string;
  /** The agent's key, of the scope enforce. */
  apiKey: string;
  /** How the agent is called. */
  agent?: string;
  /** How long an answer may take, in milliseconds (expiresIn of a plan is in seconds); 10,000 unless set. */
  timeout?: number;
  /** What sends requests; the global fetch unless set. */
  fetch?: typeof fetch;
}

/** DeclareOptions bind a plan to whom it is for, and for how long. */
export interface DeclareOptions {
  user?: string;
  userEmail?: string;
  session?: string;
  context?: string;
  /**
   * How long the plan lives, in seconds (wait and timeout are in milliseconds): five minutes, 300, unless set, and at
   * most what the organization permits.
   */
  expiresIn?: number;
}

/** Writ is a server that decides about calls. */
export class Writ {
  readonly #to: Connection;
  readonly #agent: string | undefined;

  constructor({ url, apiKey, agent, timeout = 10_000, fetch: send = globalThis.fetch }: WritOptions) {
    const address = addressOf(url);
    const key = keyOf(apiKey);
    if (!(timeout > 0)) throw new TypeError("timeout must be above 0 milliseconds");
    // Browsers demand that their fetch is called as a function of the window.
    this.#to = { url: address, apiKey: key, timeout, fetch: (...request) => send(...request) };
    this.#agent = agent;
  }

  /** declare declares what the agent will do. Without a plan nothing runs: every failure is Denied. */
  async declare(plan: PlanText, options: DeclareOptions = {}): Promise<Plan> {
    checkLife(options.expiresIn);
    const body: DeclareBody = {
      plan: plan as DeclareBody["plan"],
      ...(this.#agent === undefined ? {} : { agent_id: this.#agent }),
      ...(options.user === undefined ? {} : { user_id: options.user }),
      ...(options.userEmail === undefined ? {} : { user_email: options.userEmail }),
      ...(options.session === undefined ? {} : { session_id: options.session }),
      ...(options.context === undefined ? {} : { context_id: options.context }),
      ...(options.expiresIn === undefined ? {} : { expires_in: options.expiresIn }),
    };
    try {
      const token = await ask(this.#to, "/iap/sdk/token", body);
      if (!isToken(token)) throw new Failed("/iap/sdk/token: the answer is no token");
      const warnings = [...(token.warnings ?? []), ...shortened(token, options.expiresIn)];
      for (const warning of warnings) console.warn("writ: the plan:", warning);
      return new Plan(this.#to, token, this.#agent);
    } catch (error) {
      throw new Denied(`no plan was declared: ${wordsOf(error)}`, { cause: error });
    }
  }
}

/** checkLife refuses what is no time that a plan could live: the server would take it for a second, or five minutes. */
function checkLife(seconds: unknown): void {
  if (seconds !== undefined && !(typeof seconds === "number" && seconds >= 1 && seconds < Infinity)) {
    throw new TypeError("expiresIn must be a number of seconds, 1 or more");
  }
}

/** shortened says that a plan lives shorter than was asked, as where somebody gives milliseconds. */
function shortened({ token }: Token, seconds?: number): string[] {
  const life = Number(token.expires_at) - Number(token.issued_at);
  if (seconds === undefined || !(life + 1 < seconds)) return [];
  return [`it lives ${life} seconds, not ${seconds}: the organization permits no more`];
}

/** addressOf checks an address. Errors do not repeat what was given: it may be a key, or have a password in it. */
function addressOf(url: unknown): string {
  if (typeof url !== "string" || url === "") throw new TypeError("url is missing, such as http://localhost:8080");
  let address: URL | undefined;
  try {
    address = new URL(url.trim());
  } catch {} // it is none
  if (!address || !/^https?:$/.test(address.protocol)) throw new TypeError("url must begin with http:// or https://");
  if (address.username || address.password) throw new TypeError("url must not have a name and a password in it");
  if (address.search || address.hash) throw new TypeError("url must not have a ? or # in it");
  return address.href.replace(/\/+$/, "");
}

/** keyOf checks a key, as a file has it with a line end. Other errors would repeat it, where a model reads them. */
function keyOf(apiKey: unknown): string {
  const key = typeof apiKey === "string" ? apiKey.trim() : "";
  if (key === "") throw new TypeError("apiKey is missing");
  if (!/^[!-~]+$/.test(key)) throw new TypeError("apiKey has characters that no key has, such as spaces");
  return key;
}

function isToken(answer: unknown): answer is Token {
  const { plan_id: id, token, jwt_token: jwt } = answer as Partial<Token>;
  return typeof id === "string" && id !== "" && typeof jwt === "string" && typeof token === "object" && token !== null;
}
