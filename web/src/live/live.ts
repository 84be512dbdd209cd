// What happens in an organization, as it happens. One tab of a browser holds the
// streams of all and tells the others.
import type { Body } from "../api/client";
import { send } from "../api/client";
import { parseJson } from "../api/exact";
import { lead } from "../auth/lock";
import { getSession, subscribe } from "../auth/session";
import { Leader, type Message, type Source } from "./leader";
import { readStream, type ServerEvent, type StreamState } from "./sse";

export type LiveEvent =
  | { kind: "decision"; id: string; decision: Body<"TailedDecisionBody"> }
  | { kind: "trace"; id: string; trace: Body<"TailedTraceBody"> }
  | { kind: "notification"; id: string; notification: Body<"StreamedEventBody"> };

export type LiveState = StreamState["is"];

const renderEvery = 250; // many events make one render
const held = 500;
const followEvery = 20_000; // the leader forgets tabs that say nothing

// The last event of each source, also of those that another tab read: whoever leads next begins there.
const lastSeen = new Map<string, string>();

/** Live is the live events of one organization in this tab. */
export class Live {
  private state: StreamState = { is: "connecting" };
  private readonly stop = new AbortController();
  private readonly channel?: BroadcastChannel;
  private readonly tab = Math.random().toString(36).slice(2);
  private readonly readers = new Set<(events: LiveEvent[]) => void>();
  private readonly watchers = new Set<() => void>();
  private readonly seen = new Set<string>();
  private waiting: LiveEvent[] = [];
  private timer: ReturnType<typeof setTimeout> | undefined;
  private leader: Leader | undefined;

  constructor(private readonly org: string) {
    if (typeof BroadcastChannel !== "undefined") {
      this.channel = new BroadcastChannel("writ.live");
      this.channel.addEventListener("message", (event: MessageEvent<Message>) => this.hear(event.data));
    }
    const follow = () => this.tell({ kind: "follow", tab: this.tab, org });
    follow();
    const again = setInterval(follow, followEvery);
    const gone = () => this.close();
    addEventListener("pagehide", gone);
    this.stop.signal.addEventListener("abort", () => {
      clearInterval(again);
      removeEventListener("pagehide", gone);
    });
    lead("writ.live", this.stop.signal, () => this.begin());
  }

  close(): void {
    this.tell({ kind: "leave", tab: this.tab });
    this.stop.abort();
    this.channel?.close();
    clearTimeout(this.timer);
  }

  getState = (): StreamState => this.state;

  watch = (watcher: () => void): (() => void) => {
    this.watchers.add(watcher);
    return () => this.watchers.delete(watcher);
  };

  /** read calls back with new events, at most four times a second. */
  read(reader: (events: LiveEvent[]) => void): () => void {
    this.readers.add(reader);
    return () => this.readers.delete(reader);
  }

  private begin(): () => void {
    const leader = new Leader(
      (message) => this.tell(message),
      (org, source, options) => void readStream({ ...options, url: urlOf(org, source), send, signedIn }),
      lastSeen,
    );
    this.leader = leader;
    leader.follow(this.tab, this.org);
    this.tell({ kind: "who" });
    return () => {
      this.leader = undefined;
      leader.end();
    };
  }

  private tell(message: Message) {
    if (!this.stop.signal.aborted) this.channel?.postMessage(message);
    this.hear(message);
  }

  private hear(message: Message) {
    if (message.kind === "follow") this.leader?.follow(message.tab, message.org);
    else if (message.kind === "leave") this.leader?.leave(message.tab);
    else if (message.kind === "who") {
      if (!this.leader) this.tell({ kind: "follow", tab: this.tab, org: this.org });
    } else if (message.kind === "events") {
      for (const event of message.events) this.hearEvent(message.org, message.source, event);
    } else if (message.org === this.org && JSON.stringify(message.state) !== JSON.stringify(this.state)) {
      this.state = message.state;
      for (const watcher of this.watchers) watcher();
    }
  }

  private hearEvent(org: string, source: Source, event: ServerEvent) {
    if (event.id) lastSeen.set(`${org}/${source}`, event.id);
    if (org === this.org) this.take(source, event);
  }

  // A stream that resumes may repeat; a trace that grew comes again with a later receipt.
  private take(source: Source, raw: ServerEvent) {
    const event = read(source, raw);
    if (!event) return;
    const key = `${event.kind}/${event.id}`;
    if (this.seen.has(key)) return;
    this.seen.add(key);
    if (this.seen.size > held * 4) this.seen.delete(this.seen.values().next().value as string);
    this.waiting.push(event);
    if (this.waiting.length > held) this.waiting.shift();
    this.timer ??= setTimeout(() => this.deliver(), renderEvery);
  }

  private deliver() {
    this.timer = undefined;
    const events = this.waiting;
    this.waiting = [];
    for (const reader of this.readers) reader(events);
  }
}

const urlOf = (org: string, source: Source) =>
  source === "work" ? `/organization/${org}/observability/stream` : `/notifications/stream?organizationId=${org}`;

function signedIn(signal: AbortSignal): Promise<void> {
  return new Promise((done) => {
    const look = () => {
      if (getSession().state !== "in" && !signal.aborted) return;
      stop();
      signal.removeEventListener("abort", look);
      done();
    };
    const stop = subscribe(look);
    signal.addEventListener("abort", look);
    look();
  });
}

function read(source: Source, raw: ServerEvent): LiveEvent | undefined {
  const data = parseJson(raw.data);
  if (source === "inbox") return { kind: "notification", id: raw.id, notification: data as Body<"StreamedEventBody"> };
  const { decision, trace } = data as Body<"TailEventBody">;
  if (decision) return { kind: "decision", id: String(decision.index), decision };
  if (trace) return { kind: "trace", id: `${trace.id} ${trace.receivedAt}`, trace };
  return undefined;
}
