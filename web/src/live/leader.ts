// The one tab of a browser that holds streams. It follows at most two organizations:
// browsers open six connections to a server, and each organization takes two.
import type { ServerEvent, StreamOptions, StreamState } from "./sse";

export type Source = "work" | "inbox";
export const sources: Source[] = ["work", "inbox"];

/** What tabs say to each other. */
export type Message =
  | { kind: "follow"; tab: string; org: string }
  | { kind: "leave"; tab: string }
  | { kind: "events"; org: string; source: Source; events: ServerEvent[] }
  | { kind: "state"; org: string; state: StreamState }
  | { kind: "who" }; // a new leader asks who follows what

export const mostFollowed = 2;
// Browsers run the timers of hidden tabs once a minute.
const forgotten = 150_000;

interface Followed {
  tabs: Map<string, number>; // and when each was last heard of
  end?: AbortController;
  states: Map<Source, StreamState>;
}

type Open = (
  org: string,
  source: Source,
  options: Pick<StreamOptions, "signal" | "onEvent" | "onState" | "resume">,
) => void;

/** Leader follows what tabs ask for, and says what happens. */
export class Leader {
  private readonly orgs = new Map<string, Followed>(); // in the order in which they were asked for

  constructor(
    private readonly say: (message: Message) => void,
    private readonly open: Open,
    /** The last event of each source that any tab saw, as "organization/source". */
    private readonly seen: ReadonlyMap<string, string>,
  ) {}

  follow(tab: string, org: string, now = Date.now()): void {
    for (const [other, followed] of this.orgs) if (other !== org) followed.tabs.delete(tab);
    const followed = this.orgs.get(org) ?? { tabs: new Map(), states: new Map() };
    followed.tabs.set(tab, now);
    this.orgs.set(org, followed);
    this.arrange(now);
    this.tellState(org);
  }

  leave(tab: string, now = Date.now()): void {
    for (const followed of this.orgs.values()) followed.tabs.delete(tab);
    this.arrange(now);
  }

  end(): void {
    for (const followed of this.orgs.values()) followed.end?.abort();
    this.orgs.clear();
  }

  /** arrange opens and ends streams, so that the first organizations are followed and the others are told to poll. */
  private arrange(now: number) {
    for (const [org, followed] of this.orgs) {
      for (const [tab, heard] of followed.tabs) if (now - heard > forgotten) followed.tabs.delete(tab);
      if (followed.tabs.size > 0) continue;
      followed.end?.abort();
      this.orgs.delete(org);
    }
    let n = 0;
    for (const [org, followed] of this.orgs) {
      if (n++ < mostFollowed) this.begin(org, followed);
      else if (!followed.states.has("work")) this.hear(org, "work", { is: "polling" });
    }
  }

  private begin(org: string, followed: Followed) {
    if (followed.end) return;
    followed.end = new AbortController();
    followed.states.clear();
    for (const source of sources) {
      const resume = this.seen.get(`${org}/${source}`);
      this.open(org, source, {
        signal: followed.end.signal,
        onEvent: (event) => this.say({ kind: "events", org, source, events: [event] }),
        onState: (state) => this.hear(org, source, state),
        ...(resume ? { resume } : {}),
      });
    }
  }

  private hear(org: string, source: Source, state: StreamState) {
    const followed = this.orgs.get(org);
    if (!followed) return;
    followed.states.set(source, state);
    this.tellState(org);
  }

  private tellState(org: string) {
    const states = [...(this.orgs.get(org)?.states.values() ?? [])];
    if (states.length > 0) this.say({ kind: "state", org, state: worst(states) });
  }
}

const order: StreamState["is"][] = ["refused", "away", "polling", "connecting", "live"];

function worst(states: StreamState[]): StreamState {
  return states.sort((a, b) => order.indexOf(a.is) - order.indexOf(b.is))[0] ?? { is: "connecting" };
}
