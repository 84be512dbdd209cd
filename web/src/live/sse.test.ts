import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { EventParser, readStream, type StreamOptions, type StreamState } from "./sse";

let asked: { at: number; resume: string | null }[];
let states: StreamState["is"][];
let events: string[];
const end = { now: new AbortController() };

// Answers, in order; the last one stays.
function begin(answers: (() => Response)[], more: Partial<StreamOptions> = {}) {
  const began = Date.now();
  let n = 0;
  return readStream({
    url: "http://x.example/stream",
    signal: end.now.signal,
    onEvent: (event) => events.push(event.data),
    onState: (state) => states.push(state.is),
    signedIn: () => Promise.resolve(),
    send: async (request) => {
      asked.push({ at: Date.now() - began, resume: request.headers.get("Last-Event-ID") });
      const answer = answers[Math.min(n++, answers.length - 1)];
      if (!answer) throw new Error("no answer");
      return answer();
    },
    ...more,
  });
}

const refuse = (status: number) => () => new Response("", { status });
const say = (text: string) => () => new Response(text);
const silent = () => new Response(new ReadableStream());

beforeEach(() => {
  vi.useFakeTimers();
  end.now = new AbortController();
  asked = [];
  states = [];
  events = [];
});
afterEach(() => {
  end.now.abort();
  vi.useRealTimers();
});

it("parses events in pieces", () => {
  const parser = new EventParser();
  expect(parser.push("id: 1\nevent: a\nda")).toEqual([]);
  expect(parser.push("ta: x\r\ndata: y\n\n: alive\n\n")).toEqual([{ kind: "a", id: "1", data: "x\ny" }]);
});

it("waits for a person to sign in, and goes on", async () => {
  let signIn = () => {};
  const signedIn = vi.fn(
    () =>
      new Promise<void>((done) => {
        signIn = done;
      }),
  );
  void begin([refuse(401), silent], { signedIn });
  await vi.advanceTimersByTimeAsync(600_000);
  expect(asked).toHaveLength(1);
  expect(states.at(-1)).toBe("refused");
  signIn();
  await vi.advanceTimersByTimeAsync(5000);
  expect(asked).toHaveLength(2);
});

it("asks each minute while the role does not allow it", async () => {
  void begin([refuse(403)]);
  await vi.advanceTimersByTimeAsync(185_000);
  expect(asked.map((a) => Math.round(a.at / 1000))).toEqual([0, 60, 120, 180]);
});

it("asks a server that answers and closes less and less often", async () => {
  void begin([say("event: ready\ndata: {}\n\n")]);
  await vi.advanceTimersByTimeAsync(120_000);
  expect(asked.length).toBeLessThan(14);
});

it("goes on behind an event that is not understood", async () => {
  vi.spyOn(console, "warn").mockImplementation(() => {});
  const onEvent = vi.fn(() => {
    throw new Error("bad");
  });
  void begin([say("id: 7\ndata: {\n\n"), silent], { onEvent });
  await vi.advanceTimersByTimeAsync(3000);
  expect(onEvent).toHaveBeenCalledTimes(1);
  expect(asked[1]?.resume).toBe("7");
});

it("says nothing about a break of a moment, and polls where too many are open", async () => {
  void begin([say("data: 1\n\n"), say("data: 2\n\n"), refuse(429), silent]);
  await vi.advanceTimersByTimeAsync(3500);
  expect(events).toEqual(["1", "2"]);
  expect(states).toEqual(["connecting", "live", "polling"]);
});

it("begins where another tab ended, and leaves no listener behind", async () => {
  const added = vi.spyOn(end.now.signal, "addEventListener");
  const removed = vi.spyOn(end.now.signal, "removeEventListener");
  void begin([refuse(500)], { resume: "41" });
  await vi.advanceTimersByTimeAsync(100_000);
  expect(asked[0]?.resume).toBe("41");
  expect(added.mock.calls.length - removed.mock.calls.length).toBeLessThanOrEqual(1);
});
