// One request to the server. Redirects are not followed, because a key must not go elsewhere; an answer has an end in
// size and time.

/** How much of an answer is read, in characters. */
const maxAnswer = 8 << 20;

/** Failed is a request without a usable answer. */
export class Failed extends Error {
  override name = "Failed";
  constructor(
    message: string,
    readonly status?: number,
    cause?: unknown,
  ) {
    super(message, cause === undefined ? undefined : { cause });
  }

  /** Nobody answered, or a server that starts, stops or has too much to do: asking again may help. */
  get mayPass(): boolean {
    return this.status === undefined || this.status === 408 || this.status === 429 || this.status >= 500;
  }
}

export interface Connection {
  url: string;
  apiKey: string;
  /** How long an answer may take, in milliseconds. */
  timeout: number;
  fetch: typeof fetch;
}

export type JSONObject = Record<string, unknown>;

/** ask sends a request and gives the JSON object that a success has; everything else is Failed. */
export async function ask(to: Connection, path: string, body?: unknown, longer = 0): Promise<JSONObject> {
  const what = path.split("?")[0];
  let answer: Response;
  let text: string;
  try {
    answer = await to.fetch(to.url + path, {
      method: body === undefined ? "GET" : "POST",
      headers: { "x-api-key": to.apiKey, accept: "application/json", "content-type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      redirect: "manual",
      signal: AbortSignal.timeout(to.timeout + longer),
    });
    text = await textOf(answer);
  } catch (error) {
    if (error instanceof Failed) throw error;
    const hint = isNoTLS(error) ? "; does the server speak http?" : "";
    const words = `the server at ${shown(to.url)} did not answer: ${wordsOf(error)}${hint}`;
    throw new Failed(`${what}: ${words}`, undefined, error);
  }
  if (answer.type === "opaqueredirect" || (answer.status >= 300 && answer.status < 400)) {
    const redirect = "the answer is a redirect, which is not followed: give the server's own address";
    throw new Failed(`${what}: ${redirect}`, answer.status);
  }
  const value = objectOf(text);
  if (!answer.ok) {
    const said = saidOf(value) ?? (value ? "no reason given" : "no answer of a Writ server: is url its address?");
    // "no such approval request" is about what was asked for, and not about the address.
    const elsewhere = value && [404, 405].includes(answer.status) && !said.startsWith("no such ");
    const hint = elsewhere ? ": is url the address of the server, without a path?" : "";
    throw new Failed(`${what}: ${said} (${answer.status})${hint}`, answer.status);
  }
  if (!value) throw new Failed(`${what}: the answer is no JSON object: is url the address of a Writ server?`, answer.status);
  return value;
}

/** isNoTLS is whether what came is no TLS at all, as from a server that speaks http; Node has had more names for it. */
function isNoTLS(error: unknown): boolean {
  const { code } = ((error as Error | undefined)?.cause ?? {}) as { code?: unknown };
  return noTLS.includes(code);
}

const noTLS: unknown[] = ["ERR_SSL_WRONG_VERSION_NUMBER", "ERR_SSL_PACKET_LENGTH_TOO_LONG"];

/** shown is an address without what may be secret in it. */
function shown(url: string): string {
  const { protocol, host, pathname } = new URL(url);
  return `${protocol}//${host}${pathname.replace(/\/+$/, "")}`;
}

async function textOf(answer: Response): Promise<string> {
  const reader = answer.body?.getReader();
  if (!reader) return "";
  const decoder = new TextDecoder("utf-8", { fatal: true });
  let text = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return text + decoder.decode();
    text += decoder.decode(value, { stream: true });
    if (text.length > maxAnswer) {
      await reader.cancel();
      throw new Failed("the answer is too long", answer.status);
    }
  }
}

function objectOf(text: string): JSONObject | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as JSONObject) : undefined;
  } catch {
    return undefined;
  }
}

const saidOf = (value?: JSONObject) => (typeof value?.message === "string" ? value.message : undefined);

/** wordsOf is what an error says, with what caused it: fetch itself only says that it failed. */
export function wordsOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error instanceof Failed) return error.message; // which has the words of its cause
  return error.cause instanceof Error ? `${error.message}: ${error.cause.message.trim()}` : error.message;
}
