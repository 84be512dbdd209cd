// Server-sent events over fetch: EventSource cannot send the access token.

export interface ServerEvent {
  kind: string;
  id: string;
  data: string;
}

/** EventParser makes events of the pieces of a stream. */
export class EventParser {
  private rest = "";
  private kind = "";
  private data: string[] = [];
  /** The id to resume after. */
  lastId = "";

  push(piece: string): ServerEvent[] {
    const events: ServerEvent[] = [];
    const lines = (this.rest + piece).split("\n");
    this.rest = lines.pop() ?? "";
    for (const raw of lines) {
      const line = raw.endsWith("\r") ? raw.slice(0, -1) : raw;
      if (line !== "") this.field(line);
      else if (this.data.length > 0) {
        events.push({ kind: this.kind || "message", id: this.lastId, data: this.data.join("\n") });
        this.kind = "";
        this.data = [];
      } else this.kind = "";
    }
    return events;
  }

  private field(line: string) {
    const colon = line.indexOf(":");
    if (colon === 0) return; // a comment keeps the connection alive
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (name === "event") this.kind = value;
    else if (name === "data") this.data.push(value);
    else if (name === "id") this.lastId = value;
  }
}

export type StreamState =
  | { is: "connecting" }
  | { is: "live" }
  | { is: "away"; since: number } // lost, and trying again
  | { is: "polling" } // too many streams are open: what is shown is read again from time to time
  | { is: "refused"; status: number };

const firstWait = 500;
const longestWait = 30_000;
const silence = 40_000; // the server speaks every 15 s
const settled = 10_000; // a stream that lived so long begins without a wait when it breaks
const unnoticed = 5_000; // a break that is shorter is not worth a word
const forbiddenWait = 60_000; // a role may come back

/** waitFor is how long to wait before an attempt: doubling, with a fifth of chance. */
export function waitFor(attempt: number, chance = Math.random()): number {
  return Math.min(longestWait, firstWait * 2 ** attempt) * (0.8 + 0.4 * chance);
}

export interface StreamOptions {
  url: string;
  send: (request: Request) => Promise<Response>;
  onEvent: (event: ServerEvent) => void;
  onState: (state: StreamState) => void;
  signal: AbortSignal;
  /** The id to begin after. */
  resume?: string;
  /** Waits until somebody is signed in. */
  signedIn: (signal: AbortSignal) => Promise<void>;
}

/** readStream reads a stream until the signal ends it, and resumes after every break without loss. */
export async function readStream(options: StreamOptions): Promise<void> {
  const say = new Saying(options.onState);
  let attempt = 0;
  let resume = options.resume ?? "";
  say.now({ is: "connecting" });
  while (!options.signal.aborted) {
    let liveSince = 0;
    let status = 0;
    try {
      await readOnce(options, resume, (parser) => {
        resume = parser.lastId || resume;
        liveSince ||= Date.now();
        say.now({ is: "live" });
      });
    } catch (error) {
      status = error instanceof Refused ? error.status : 0;
    }
    if (options.signal.aborted) break;
    if (status === 401) {
      say.now({ is: "refused", status });
      await options.signedIn(options.signal);
      attempt = Math.max(attempt, 1);
    } else if (status === 403) {
      say.now({ is: "refused", status });
      await pause(forbiddenWait, options.signal);
      continue;
    } else if (status === 429) {
      say.now({ is: "polling" });
      attempt = Math.max(attempt, 5);
    } else say.away();
    // A server that answers and closes at once is not asked without a pause.
    if (liveSince > 0 && Date.now() - liveSince >= settled) attempt = 0;
    await pause(waitFor(attempt++), options.signal);
  }
  say.stop();
}

/** Saying tells each state once, and a break only when it lasts. */
class Saying {
  private said = "";
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly onState: (state: StreamState) => void) {}

  now(state: StreamState) {
    this.stop();
    if (state.is === this.said) return;
    this.said = state.is;
    this.onState(state);
  }

  away() {
    if (this.said === "away" || this.timer !== undefined) return;
    const since = Date.now();
    this.timer = setTimeout(() => this.now({ is: "away", since }), unnoticed);
  }

  stop() {
    clearTimeout(this.timer);
    this.timer = undefined;
  }
}

class Refused extends Error {
  constructor(readonly status: number) {
    super(`refused with ${status}`);
  }
}

async function readOnce(options: StreamOptions, resume: string, alive: (parser: EventParser) => void) {
  const end = new AbortController();
  const stop = () => end.abort();
  options.signal.addEventListener("abort", stop, { once: true });
  let dead = setTimeout(stop, silence);
  try {
    const request = new Request(options.url, {
      signal: end.signal,
      headers: resume ? { "Last-Event-ID": resume } : {},
    });
    const response = await options.send(request);
    if (!response.ok || !response.body) throw new Refused(response.status);
    const parser = new EventParser();
    parser.lastId = resume;
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      clearTimeout(dead);
      dead = setTimeout(stop, silence);
      const events = parser.push(value);
      alive(parser); // an event that cannot be read must not come again
      for (const event of events) if (event.kind !== "ready" && event.kind !== "end") deliver(options, event);
    }
  } finally {
    clearTimeout(dead);
    end.abort();
    options.signal.removeEventListener("abort", stop);
  }
}

function deliver(options: StreamOptions, event: ServerEvent) {
  try {
    options.onEvent(event);
  } catch (error) {
    console.warn("an event was not understood", error);
  }
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((done) => {
    const finish = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", finish);
      done();
    };
    const timer = setTimeout(finish, ms);
    signal.addEventListener("abort", finish);
  });
}
